"""One episode in closed loop and simulated time: scene, camera and judge around a pilot that commands the arm."""
from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from oxygen_ros.engine.observation import Observation
from oxygen_ros.rollout.scores import Episode
from oxygen_ros.rollout.talk import Talk
from oxygen_ros.sim.blocks import Blocks
from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.instructions import COLOURS, Goal, understand
from oxygen_ros.sim.judge import Judge, RIGHT
from oxygen_ros.sim.kinematics import ArmKinematics
from oxygen_ros.sim.questions import Facts
from oxygen_ros.sim.scene import Scene
from oxygen_ros.sim.start import begin

STEP_S = 0.002
START_NS = 1_000_000_000  # many ROS nodes take a stamp of zero for none
LAST_FRAMES = 64  # in which what is being said at the end of an episode must be said


@dataclass(frozen=True)
class LoopConfig:
    """
    `tick_s` between commands, `frame_s` between pictures, `longest_s` of an episode; `questions` asked in each, at
    random frames. Picture and joints reach the policy `delay_s` late, which is as an inference that takes so long; its
    chunk is in force from the next tick on.
    """

    tick_s: float = 0.02
    frame_s: float = 0.2
    delay_s: float = 0.0
    longest_s: float = 6.0
    questions: int = 2
    wild: float = 0.0

    def __post_init__(self):
        for name in ('tick_s', 'frame_s', 'delay_s'):
            steps = getattr(self, name) / self.tick_s
            if steps < 0 or abs(steps - round(steps)) > 1e-6:
                raise ValueError(f'{name} must be a multiple of tick_s {self.tick_s} s, got {getattr(self, name)} s')


@dataclass(frozen=True)
class Sight:
    """A picture that reaches the policy at tick `due`, and the question that goes with it or None."""

    due: int
    observation: Observation
    question: str | None


class ClosedLoop:
    """Plays episodes with a pilot (`EnginePilot`, `LockstepPilot`), one at a time; close it."""

    def __init__(self, pilot, config=LoopConfig(), watch=None):
        self.pilot, self.config = pilot, config
        self.scene = Scene(Blocks())
        self.kinematics = ArmKinematics(self.scene.model)
        self.expert = Expert(self.kinematics, [0.0])
        self.cameras = SceneCameras(self.scene, {'tight': Blocks.camera_sizes['tight']})
        self.watch = watch  # called with (scene, instruction, talk) at every frame
        self._tick_ns = round(config.tick_s * 1e9)
        self._now_ns = START_NS  # goes on from episode to episode

    def close(self):
        self.pilot.close()
        self.cameras.close()

    def run(self, seed, goal, instruction=None):
        """
        Play one episode that starts from `seed`; returns an Episode judged against `goal`.

        `instruction` replaces the goal's own words, which lets another goal be said than is judged.
        """
        config, scene, pilot = self.config, self.scene, self.pilot
        random = np.random.default_rng([seed, 3])
        begin(scene, goal, seed, self.kinematics, config.wild)
        judge = Judge(scene, goal)
        text = instruction or goal.say(random)
        talk = Talk(random, config.questions, int(config.longest_s / config.frame_s / 3))
        each, delay = round(config.frame_s / config.tick_s), round(config.delay_s / config.tick_s)
        start_ns = self._now_ns + self._tick_ns
        pilot.begin(seed, text, start_ns, start_ns + delay * self._tick_ns, scene.positions().copy())
        sights, felt, commands, first = deque(), deque(), [], 0
        success = wrong = False
        for tick in range(round(config.longest_s / config.tick_s)):
            self._now_ns = stamp_ns = start_ns + tick * self._tick_ns
            felt.append((scene.positions().copy(), stamp_ns))
            if tick % each == 0:
                newest = self._observe(stamp_ns, text)
                question = talk.frame(stamp_ns, self._facts(judge, goal, text))
                sights.append(Sight(tick + delay, newest, question))
                if self.watch is not None:
                    self.watch(scene, text, talk)
            command = None
            if tick >= delay:
                sight = sights.popleft() if sights and sights[0].due == tick else None
                command = self._turn(*felt.popleft(), sight, talk)
            if command is not None:
                first = first if commands else tick
                commands.append(command)
                scene.command(command)
            scene.advance(round(config.tick_s / STEP_S))
            judge.look()
            wrong = wrong or any(judge.done(Goal(goal.kind, c)) for c in COLOURS if goal.colour and c != goal.colour)
            if judge.done():
                success = True
                break
        chunks, frame_ms = pilot.chunks, tuple(pilot.frame_ms)
        self._let_speak(sights, newest, talk)
        pilot.end()
        ticks = tick + 1
        return Episode.of(np.array(commands), 1 / config.tick_s, seed=seed, kind=goal.kind, success=success,
                          sim_s=ticks * config.tick_s, commanded_s=(ticks - first) * config.tick_s,
                          chunks=chunks, wrong_goal=wrong, answers=tuple(talk.answers),
                          place_errors_mm=tuple(talk.place_errors_mm), frame_ms=frame_ms)

    def _observe(self, stamp_ns, text):
        picture = self.cameras.picture('tight', self.scene.snapshot()).copy()
        return Observation(stamp_ns, {'base_0_rgb': picture}, self.scene.positions().copy(), text, 1)

    def _turn(self, positions, stamp_ns, sight, talk):
        """One tick of the pilot, with what reaches it then; returns its command."""
        self.pilot.feel(positions, stamp_ns)
        if sight is not None and sight.question is not None:
            self.pilot.ask(sight.question)
        command = self.pilot.tick(self._now_ns, talk.hear)
        if sight is not None:
            self.pilot.look(sight.observation, talk.hear)
        return command

    def _let_speak(self, sights, last, talk):
        """Let what is being said be said, on frames whose actions nobody takes: first those on their way."""
        for _ in range(LAST_FRAMES):
            if not talk.awaited:
                return
            self._now_ns += round(self.config.frame_s * 1e9)
            sight = sights.popleft() if sights else Sight(0, replace(last, stamp_ns=self._now_ns), None)
            self._turn(sight.observation.state, self._now_ns, sight, talk)
        talk.give_up()

    def _facts(self, judge, goal, text):
        said = understand(text) or goal
        positions, blocks = self.scene.positions().copy(), judge.blocks()
        phase = self.expert.plan(positions, self.scene.velocities()[RIGHT][6], blocks, said).phase
        point = self.kinematics.forward(positions[RIGHT][:6])[0]
        return Facts({colour: blocks[colour].position for colour in COLOURS}, point, said, phase)
