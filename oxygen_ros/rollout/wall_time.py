"""Episodes over ROS 2 topics in wall time: the simulated robot here, the node as a process of its own."""
from collections import deque
import os
import threading
import time

import numpy as np

from oxygen_ros import transport
from oxygen_ros.rollout.node_process import Lifecycle, NodeProcess
from oxygen_ros.rollout.scores import Episode
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.instructions import COLOURS, Goal
from oxygen_ros.sim.judge import Judge, RIGHT, suits
from oxygen_ros.sim.kinematics import ArmKinematics
from oxygen_ros.sim.questions import appears_at, ask, Facts, kind_of, place_of, right
from oxygen_ros.sim.start import draw_start

READY_S = 120.0
AGAIN_S = 0.5   # the instruction is said again until there is a chunk
HISTORY = 600  # moments of the scene kept to hold texts against what their picture showed


class Watcher:
    """Judges an episode in the physics thread and remembers what was true when."""

    def __init__(self, scene, kinematics, goal):
        self.judge, self.goal = Judge(scene, goal), goal
        self._scene, self._kinematics, self._expert = scene, kinematics, Expert(kinematics, [0.0])
        self._moments = deque(maxlen=HISTORY)  # (time_ns, positions, finger speed, blocks)
        self.success_at, self.wrong = None, False

    def look(self):
        self.judge.look()
        scene = self._scene
        self._moments.append((time.time_ns(), scene.positions().copy(), float(scene.velocities()[RIGHT][6]),
                              self.judge.blocks()))
        if self.success_at is None and self.judge.done():
            self.success_at = time.monotonic()
        if self.goal.colour:
            self.wrong = self.wrong or any(self.judge.done(Goal(self.goal.kind, colour)) for colour in COLOURS
                                           if colour != self.goal.colour)

    def facts(self, stamp_ns, goal):
        """Facts at the kept moment nearest to `stamp_ns`."""
        _, positions, speed, blocks = min(self._moments, key=lambda moment: abs(moment[0] - stamp_ns))
        phase = self._expert.plan(positions, speed, blocks, goal).phase
        point = self._kinematics.forward(positions[RIGHT][:6])[0]
        return Facts({colour: blocks[colour].position for colour in COLOURS}, point, goal, phase)


class WallTimeLoop:
    """Robot and node, started once; `run` plays an episode between them, from the first chunk on. Close it."""

    def __init__(self, mode, checkpoint, longest_s=8.0, questions=2, draft_tokens=0):
        transport.configure(os.environ)
        import rclpy
        from rclpy.parameter import Parameter
        from rclpy.signals import SignalHandlerOptions
        from std_msgs.msg import Float64MultiArray, String
        from oxygen_ros.msg import ActionChunk, LanguageToken
        from oxygen_ros.executor import callback_executor
        from oxygen_ros.sim.robot import Robot
        self._string = String
        self.longest_s, self.questions = longest_s, questions
        self.watch = None
        self._context = context = rclpy.Context()
        rclpy.init(args=['--ros-args'], context=context, signal_handler_options=SignalHandlerOptions.NO)
        self._robot = Robot(context=context, parameter_overrides=[
            Parameter('task', value='blocks'), Parameter('cameras', value=['tight'])])
        self.scene = self._robot._body
        self._kinematics = ArmKinematics(self.scene.model)
        self._executor = callback_executor(context)
        self._executor.add_node(self._robot)
        self._node = rclpy.create_node('rollout', context=context)
        self._executor.add_node(self._node)
        self._instruction = self._node.create_publisher(String, 'instruction', 10)
        self._question = self._node.create_publisher(String, 'question', 10)
        self._node.create_subscription(Float64MultiArray, 'joint_command', self._on_command, 100)
        self._node.create_subscription(ActionChunk, 'oxygen/action_chunk', self._on_chunk, 10)
        self._node.create_subscription(LanguageToken, 'oxygen/language/tokens', self._on_token, 100)
        self._lifecycle = Lifecycle(self._node, self._wait)
        self._commands, self._chunks, self._texts, self._finished = [], 0, {}, []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._spin, name='ros')
        self._robot.start()
        self._thread.start()
        self._process = NodeProcess({
            'autostart': False, 'checkpoint': checkpoint, 'engine.mode': mode, 'engine.draft_tokens': draft_tokens,
            'image.base_0_rgb.topic': 'tight/image_raw'})

    def close(self):
        """Stop node and robot."""
        self._process.close()
        self._ended.set()
        self._thread.join()
        self._robot.close()
        self._node.destroy_node()
        self._context.try_shutdown()

    def run(self, seed, goal, instruction=None):
        """Play one episode in real time; returns an Episode."""
        random = np.random.default_rng([seed, 3])
        text = instruction or goal.say(random)
        scene = self.scene
        scene.observers = []
        scene.task.suits = lambda places: suits(places, goal)
        if not self._robot._loop.reset(seed % (2 ** 31)):
            raise RuntimeError('the simulated robot does not answer')
        self._place_arms(draw_start(np.random.default_rng([seed, 1]), self._kinematics, float(goal.kind == 'home')))
        watcher = Watcher(scene, self._kinematics, goal)
        self._commands, self._chunks, self._texts, self._finished = [], 0, {}, []
        self._lifecycle.begin(seed)
        scene.observers = [watcher.look]
        self._wait(lambda: self._chunks, 'give a chunk', lambda: self._instruct(text))
        began = time.monotonic()
        ask_at = sorted(random.uniform(0.2, 1.2, self.questions))
        asked = deque()
        while time.monotonic() - began < self.longest_s and watcher.success_at is None:
            if ask_at and time.monotonic() - began > ask_at[0]:
                ask_at.pop(0)
                question, _ = ask(random, watcher.facts(time.time_ns(), goal))
                asked.append(question)
                self._question.publish(self._string(data=question))
            self._process.check()
            time.sleep(0.02)
        lasted = time.monotonic() - began
        times_s, commands, made = [at for at, _ in self._commands], [c for _, c in self._commands], self._chunks
        deadline = time.monotonic() + 2.0
        while sum(task != 'subtask' for task, *_ in self._finished) < len(asked) and time.monotonic() < deadline:
            time.sleep(0.02)
        scene.observers = []
        self._lifecycle.end()
        answers, places = [], []
        for task, stamp_ns, said in sorted(self._finished, key=lambda text: text[1]):  # in the order of asking
            facts = watcher.facts(stamp_ns, goal)
            if task == 'subtask':
                if goal.colour:
                    place, true = place_of(said), appears_at(facts.blocks[goal.colour])
                    places.append(250.0 if place is None else 1e3 * float(np.linalg.norm(place - true)))
            elif asked:
                question = asked.popleft()
                answers.append((kind_of(question)[0], right(question, said, facts)))
        # A question that was never answered is not a right answer.
        answers += [(kind_of(question)[0], False) for question in asked]
        period_s = (times_s[-1] - times_s[0]) / (len(times_s) - 1) if len(times_s) > 1 else lasted
        return Episode.of(np.array(commands), 1 / period_s, seed=seed, kind=goal.kind,
                          success=watcher.success_at is not None, sim_s=lasted, commanded_s=len(commands) * period_s,
                          chunks=made, wrong_goal=watcher.wrong, answers=tuple(answers), place_errors_mm=tuple(places))

    @property
    def returncode(self):
        """Exit status of the node's process, None while it runs."""
        return self._process.returncode

    def _place_arms(self, positions):
        """In the physics thread."""
        placed = threading.Event()

        def place():
            self.scene.observers = []
            self.scene.place_arms(positions)
            placed.set()

        self.scene.observers = [place]
        if not placed.wait(10.0):
            raise RuntimeError('the simulated robot stands still')

    def _spin(self):
        while not self._ended.is_set() and self._robot.failure is None:
            self._executor.spin_once(timeout_sec=0.1)

    def _instruct(self, text):
        self._instruction.publish(self._string(data=text))

    def _wait(self, condition, what, publish=lambda: None):
        """Until `condition()`; publish meanwhile. RuntimeError says what the node did not do."""
        end, again = time.monotonic() + READY_S, 0.0
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f'the node did not {what} within {READY_S:g} s')
            self._process.check()
            if time.monotonic() > again:
                publish()
                again = time.monotonic() + AGAIN_S
            time.sleep(0.02)

    def _on_command(self, message):
        self._commands.append((time.monotonic(), np.array(message.data)))

    def _on_chunk(self, _):
        self._chunks += 1

    def _on_token(self, message):
        text = self._texts.get(message.request_id, '') + message.text
        self._texts[message.request_id] = text
        if message.finished:
            self._texts.pop(message.request_id)
            if message.finish_reason in ('eos', 'length'):
                stamp = message.header.stamp
                self._finished.append((message.task, stamp.sec * 10**9 + stamp.nanosec, text))
