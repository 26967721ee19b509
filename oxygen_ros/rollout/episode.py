"""One episode in closed loop, in one process and in simulated time: the node's engine and controller without ROS."""
from dataclasses import dataclass

import numpy as np
import yaml

from oxygen_ros.control.config import ControlConfig
from oxygen_ros.control.controller import Controller
from oxygen_ros.control.limits import JointLimits
from oxygen_ros.engine.observation import Observation
from oxygen_ros.engine.request import LanguageRequest
from oxygen_ros.profile.prompt import suffix_text
from oxygen_ros.rollout.scores import Episode
from oxygen_ros.share import config_file
from oxygen_ros.sim.blocks import Blocks
from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.instructions import COLOURS, Goal, understand
from oxygen_ros.sim.joints import JOINTS
from oxygen_ros.sim.judge import Judge, RIGHT
from oxygen_ros.sim.kinematics import ArmKinematics
from oxygen_ros.sim.questions import appears_at, ask, Facts, kind_of, place_of, right
from oxygen_ros.sim.scene import Scene
from oxygen_ros.sim.start import begin

STEP_S = 0.002


@dataclass(frozen=True)
class LoopConfig:
    """
    `tick_s` between commands, `frame_s` between observations that are looked at, `delay_s` from an observation until
    its chunk is there, `longest_s` of an episode; `questions` asked in each, at random frames.
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


class ClosedLoop:
    """Scene, camera, engine and controller of one process; `run` an episode at a time."""

    def __init__(self, engine, config=LoopConfig(), control=None, watch=None):
        self.engine, self.config = engine, config
        self.control = control or ControlConfig(rate_hz=1 / config.tick_s, blend_s=0.1, ramp_s=0.1,
                                                max_chunk_age_s=2.0, max_measured_age_s=1.0)
        self.scene = Scene(Blocks())
        self.kinematics = ArmKinematics(self.scene.model)
        self.expert = Expert(self.kinematics, [0.0])
        self.limits = robot_limits()
        self.cameras = SceneCameras(self.scene, {'tight': Blocks.camera_sizes['tight']})
        self.suffixes = dict(engine.processor.profile.language_suffix)
        self.watch = watch  # called with (scene, instruction, texts) at every frame

    def close(self):
        self.cameras.close()

    def run(self, seed, goal, instruction=None):
        """
        Play one episode that starts from `seed`; returns an Episode judged against `goal`.

        `instruction` replaces the goal's own words, which lets another goal be said than is judged.
        """
        config, scene = self.config, self.scene
        random = np.random.default_rng([seed, 3])
        begin(scene, goal, seed, self.kinematics, config.wild)
        judge = Judge(scene, goal)
        text = instruction or goal.say(random)
        # Noise is keyed by the frame id: the same in every mode and order of episodes.
        self.engine.reset(frame_id=(seed % 1_000_000) * 1000)
        controller = Controller(self.control, JOINTS, self.limits, self.engine.processor.profile.action_kind)
        controller.activate(0)
        controller.instruction(1, text, 0)
        talk = Talk(self.engine.processor, random, config.questions,
                    int(config.longest_s / config.frame_s / 3), self.suffixes)
        tick_ns = round(config.tick_s * 1e9)
        each, delay = round(config.frame_s / config.tick_s), round(config.delay_s / config.tick_s)
        arrivals, commands, frame_ms, chunks, command = [], [], [], 0, None
        success = wrong = False
        for tick in range(round(config.longest_s / config.tick_s)):
            now_ns = tick * tick_ns
            controller.measured(scene.positions().copy(), now_ns)
            if tick % each == 0:
                picture = self.cameras.picture('tight', scene.snapshot()).copy()
                observation = Observation(now_ns, {'base_0_rgb': picture}, scene.positions().copy(), text, 1)
                made = []
                requests = talk.requests(self._facts(judge, goal, text))
                report = self.engine.run_frame(observation, requests, made.append, talk.hear)
                talk.expect(report.request_ids)
                frame_ms.append(report.frame_ms)
                arrivals.append((tick + delay, made[0]))
                if self.watch is not None:
                    self.watch(scene, text, talk)
            while arrivals and arrivals[0][0] <= tick:
                chunks += not controller.offer(arrivals.pop(0)[1], now_ns)
            command = controller.tick(now_ns).command
            if command is not None:
                scene.command(command)
                commands.append(command)
            scene.advance(round(config.tick_s / STEP_S))
            judge.look()
            wrong = wrong or any(judge.done(Goal(goal.kind, c)) for c in COLOURS if goal.colour and c != goal.colour)
            if judge.done():
                success = True
                break
        self._finish_texts(observation, talk)
        return Episode(seed, goal.kind, success, tick + 1, (tick + 1) * config.tick_s, chunks, np.array(commands),
                       1 / config.tick_s, wrong, tuple(talk.answers), tuple(talk.place_errors_mm), tuple(frame_ms))

    def _finish_texts(self, observation, talk):
        """Let what is being said be said, on frames whose actions nobody takes."""
        for _ in range(64):
            if not self.engine.counters.live_streams:
                return
            self.engine.run_frame(observation, [], lambda chunk: None, talk.hear)

    def _facts(self, judge, goal, text):
        said = understand(text) or goal
        positions, blocks = self.scene.positions().copy(), judge.blocks()
        phase = self.expert.plan(positions, self.scene.velocities()[RIGHT][6], blocks, said).phase
        point = self.kinematics.forward(positions[RIGHT][:6])[0]
        return Facts({colour: blocks[colour].position for colour in COLOURS}, point, said, phase)


class Talk:
    """Asks for subtasks and answers, gathers what comes and holds it against the facts of its frame."""

    def __init__(self, processor, random, questions, within_frames, suffixes):
        self._suffixes, self._random = suffixes, random
        self._when = set(random.choice(max(within_frames, questions), questions, replace=False).tolist())
        self._frame, self._pending, self._asked = 0, [], {}
        self._text = {}
        self.answers, self.place_errors_mm = [], []
        self.newest = {}  # task -> newest finished text

    def requests(self, facts):
        """The frame's language requests."""
        self._pending = [(LanguageRequest('subtask', self._suffixes['subtask'], 16), None, facts)]
        if self._frame in self._when:
            question, _ = ask(self._random, facts)
            self._pending.append((LanguageRequest('answer', suffix_text(self._suffixes['answer'], question), 16),
                                  question, facts))
        self._frame += 1
        self._asked_now = []
        return [request for request, *_ in self._pending]

    def expect(self, request_ids):
        for request_id, entry in zip(request_ids, self._pending):
            self._asked[request_id] = entry
        for request_id in [i for i in self._text if i in self._asked and self._text[i][1]]:
            self._finish(request_id)

    def hear(self, event):
        text, _ = self._text.get(event.request_id, ('', None))
        reason = event.finish_reason.value
        self._text[event.request_id] = (text + event.text, reason)
        if reason and event.request_id in self._asked:
            self._finish(event.request_id)

    def _finish(self, request_id):
        (text, reason), (request, question, facts) = self._text.pop(request_id), self._asked.pop(request_id)
        if reason not in ('eos', 'length'):
            return
        self.newest[request.task] = text if question is None else f'{question} {text}'
        if question is not None:
            self.answers.append((kind_of(question)[0], right(question, text, facts)))
        elif facts.goal.colour:
            place = place_of(text)
            true = appears_at(facts.blocks[facts.goal.colour])
            self.place_errors_mm.append(250.0 if place is None else 1e3 * float(np.linalg.norm(place - true)))


def robot_limits():
    """The limits that the node uses for this robot, from config/aloha.yaml."""
    table = yaml.safe_load(config_file('aloha.yaml').read_text())
    return JointLimits.from_table(JOINTS, table['/**/oxygen']['ros__parameters']['limits'])
