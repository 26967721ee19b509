"""A robot made of topics, and a node in the same process, for tests of the node: real messages, no sleeps."""
import array
import os
import time

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', str(41 + os.getpid() % 50))

from lifecycle_msgs.srv import ChangeState  # noqa: E402
import numpy as np  # noqa: E402
import rclpy  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Image, JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
import yaml  # noqa: E402

from oxygen_ros.engine.chunk import ActionKind  # noqa: E402
from oxygen_ros.executor import callback_executor  # noqa: E402
from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken  # noqa: E402
from oxygen_ros.node import OxygenNode  # noqa: E402
from oxygen_ros.share import config_folder  # noqa: E402
from oxygen_ros.sim.joints import JOINTS, START  # noqa: E402

TIMEOUT_S = 15.0
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def stamp(header, stamp_ns=None):
    header.stamp.sec, header.stamp.nanosec = divmod(time.time_ns() if stamp_ns is None else stamp_ns, 10**9)


def picture(width=32, height=24, encoding='rgb8', stamp_ns=None, size=None):
    message = Image(height=height, width=width, encoding=encoding, step=width * 3)
    message.data = array.array('B', bytes(range(256)) * (height * width * 3 // 256 + 1))[:size or height * width * 3]
    stamp(message.header, stamp_ns)
    return message


def joint_state(positions=START, names=JOINTS, stamp_ns=None):
    message = JointState(name=list(names), position=[float(value) for value in positions])
    stamp(message.header, stamp_ns)
    return message


def aloha_parameters(**changes):
    """Overrides of config/aloha.yaml with the fake engine, as Parameter objects."""
    flat = {}

    def flatten(table, prefix):
        for key, value in table.items():
            flatten(value, f'{prefix}{key}.') if isinstance(value, dict) else flat.__setitem__(prefix + key, value)
    flatten(yaml.safe_load((config_folder() / 'aloha.yaml').read_text())['/**/oxygen']['ros__parameters'], '')
    flat.update({'engine.fake': True, 'realtime_priority': 0})
    flat.update({key.replace('__', '.'): value for key, value in changes.items()})
    return [Parameter(name, value=value) for name, value in flat.items()]


def velocity_profile(folder):
    """Path of aloha_sim's profile with actions that are velocities, written to a folder."""
    text = (config_folder() / 'profiles' / 'aloha_sim.yaml').read_text()
    file = folder / 'velocities.yaml'
    before, _, after = text.partition('action_ranges:')
    file.write_text((before + after[after.index('language_suffix:'):]).replace('joint_position', 'joint_velocity'))
    return str(file)


class Rig:
    """One node under test and the robot around it, in a namespace of their own, spun together."""

    count = 0
    FAST = 0.7  # rad/s

    def __init__(self, **parameters):
        Rig.count += 1
        self.namespace = f'/rig{os.getpid()}_{Rig.count}'
        if not rclpy.ok():
            rclpy.init()
        self.executor = callback_executor()
        self.robot = rclpy.create_node('robot', namespace=self.namespace)
        self.node = OxygenNode(namespace=self.namespace, parameter_overrides=aloha_parameters(**parameters))
        self.executor.add_node(self.robot)
        self.executor.add_node(self.node)
        self.commands, self.statuses, self.chunks, self.tokens, self.texts = [], [], [], [], []
        publish, listen = self.robot.create_publisher, self.robot.create_subscription
        self.camera = publish(Image, 'top/image_raw', BEST_EFFORT)
        self.joints = publish(JointState, 'joint_states', BEST_EFFORT)
        self.instruction = publish(String, 'instruction', 10)
        self.question = publish(String, 'question', 10)
        self.emergency = publish(Bool, 'emergency_stop', 1)
        listen(Float64MultiArray, 'joint_command', lambda m: self.commands.append(np.array(m.data)), 100)
        listen(EngineStatus, 'oxygen/status', self.statuses.append, LATCHED)
        listen(ActionChunk, 'oxygen/action_chunk', self.chunks.append, 10)
        listen(LanguageToken, 'oxygen/language/tokens', self.tokens.append, 100)
        listen(String, 'oxygen/language/text', self.texts.append, 10)
        self.sources = []  # called at each turn of `until`: what the robot keeps publishing
        self.positions = START

    def close(self):
        self.node.end()
        for node in (self.node, self.robot):
            self.executor.remove_node(node)
            node.destroy_node()
        self.executor.shutdown()

    @property
    def status(self):
        return self.statuses[-1] if self.statuses else EngineStatus()

    def until(self, condition, what, timeout_s=TIMEOUT_S):
        """Spin, with the robot publishing its sources at 50 Hz, until `condition()`; fail with `what`."""
        end, due = time.monotonic() + timeout_s, 0.0
        while not condition():
            if time.monotonic() > due:
                due = time.monotonic() + 0.02
                for source in self.sources:
                    source()
            self.executor.spin_once(timeout_sec=0.01)
            if time.monotonic() > end:
                raise AssertionError(f'not within {timeout_s:g} s: {what}; status: {self.status.state}: '
                                     f'{self.status.detail}')

    def turn(self, count=20):
        """Spin `count` more periods of the robot."""
        turns = []
        self.sources.append(lambda: turns.append(1))
        self.until(lambda: len(turns) > count, 'turns')
        self.sources.pop()

    def start(self):
        """Configure, activate, wait until the node is heard; nothing is published yet."""
        assert self.node.start() == ''
        self.until(lambda: all(publisher.get_subscription_count() for publisher in (
            self.camera, self.joints, self.instruction, self.question, self.emergency)), 'the node subscribes')
        self.until(lambda: self.status.state == 'waiting', 'waiting')

    def run(self, text='put the red block on the left', commands=None):
        """Start, give it all it needs, wait until it commands (on `joint_command`, or whatever fills `commands`)."""
        self.start()
        self.sources += [self.send_picture, self.send_joints]
        self.instruction.publish(String(data=text))
        self.until_running(commands)

    def until_running(self, commands=None):
        commands = self.commands if commands is None else commands
        commands.clear()
        self.until(lambda: self.status.state == 'running' and commands, 'running and commanding')

    def until_state(self, state):
        self.until(lambda: self.status.state == state, state)

    def send_picture(self):
        self.camera.publish(picture())

    def send_joints(self):
        self.joints.publish(joint_state(self.positions))

    def run_swinging(self, commands=None):
        """Run until the first joint moves fast; gives the list of (time in s, source, command) of what is said."""
        self.run('fake: swing', commands)
        said, loop = [], self.node.parts.loop
        publish = loop.publish

        def record(tick):
            said.append((time.monotonic(), tick.source, tick.command))
            publish(tick)
        loop.publish = record
        self.until(lambda: self.moving(said), 'moving', 60)
        return said

    def moving(self, said):
        """True where what was said last is motion."""
        if self.node.parts.profile.action_kind is ActionKind.JOINT_VELOCITY:
            return bool(said) and abs(said[-1][2][0]) > self.FAST
        return len(said) > 1 and abs(said[-1][2][0] - said[-2][2][0]) > self.FAST * self.node.parts.loop.period_s

    def stop_by(self, how):
        """Stop the arm by 'emergency stop', 'stop' or 'heartbeat', and wait for it."""
        if how == 'emergency stop':
            self.emergency.publish(Bool(data=True))
        elif how == 'stop':
            self.call('stop')
        else:
            assert self.node.set_parameters([Parameter('heartbeat_timeout_s', value=0.2)])[0].successful
        self.until_state('stopped')

    def call(self, name):
        """Call a Trigger service of the node."""
        return self._call(Trigger, f'oxygen/{name}', Trigger.Request())

    def transition(self, identifier):
        """Ask for a lifecycle transition as a launch file does; return whether it succeeded."""
        request = ChangeState.Request()
        request.transition.id = identifier
        return self._call(ChangeState, 'oxygen/change_state', request).success

    def _call(self, kind, name, request):
        client = self.robot.create_client(kind, name)
        self.until(client.service_is_ready, f'service {name}')
        future = client.call_async(request)
        self.until(future.done, f'answer of {name}')
        self.robot.destroy_client(client)
        return future.result()


class SimulatedRig(Rig):
    """The robot publishes /clock and stamps by it, 20 ms a turn."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.now_ns = 0
        self.clock = self.robot.create_publisher(Clock, '/clock', 10)
        self.sources.append(self.send_clock)
        self.node.set_parameters([Parameter('use_sim_time', value=True)])

    def send_clock(self):
        self.now_ns += 20_000_000
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.now_ns, 10**9)
        self.clock.publish(message)

    def send_picture(self):
        self.camera.publish(picture(stamp_ns=self.now_ns))

    def send_joints(self):
        self.joints.publish(joint_state(self.positions, stamp_ns=self.now_ns))
