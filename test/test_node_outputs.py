"""Commands in the forms that ros2_control's own controllers take, and what is asked of them and of the robot."""
import threading

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros import ask
from oxygen_ros.sim.joints import JOINTS, START
from rig import Rig

LEFT, RIGHT = JOINTS[:7], JOINTS[7:]


@pytest.fixture
def rig_of():
    rigs = []

    def make(**parameters):
        rigs.append(Rig(**parameters))
        return rigs[-1]
    yield make
    for rig in rigs:
        rig.close()


def heard(rig, kind, topic):
    messages = []
    rig.robot.create_subscription(kind, topic, messages.append, 50)
    return messages


def begin(rig):
    rig.start()
    begin_running(rig)


def begin_running(rig):
    rig.sources += [rig.send_picture, rig.send_joints]
    rig.instruction.publish(String(data='go'))
    rig.until_state('running')


def test_two_arms_and_a_gripper_on_topics_of_their_own(rig_of):
    rig = rig_of(outputs=['left', 'right', 'grip'],
                 output__left__topic='left/commands', output__left__joints=list(LEFT),
                 output__right__topic='right/commands', output__right__joints=list(reversed(RIGHT[:6])),
                 output__grip__topic='grip/commands', output__grip__joints=['right_gripper'],
                 output__grip__type='joint_state')
    left, right = (heard(rig, Float64MultiArray, f'{side}/commands') for side in ('left', 'right'))
    grip = heard(rig, JointState, 'grip/commands')
    begin(rig)
    rig.until(lambda: left and right and grip, 'commands on all three')
    np.testing.assert_allclose(left[0].data, START[:7], atol=1e-9)
    np.testing.assert_allclose(right[0].data, START[7:13][::-1], atol=1e-9)
    assert grip[0].name == ['right_gripper'] and abs(grip[0].position[0] - START[13]) < 1e-9
    assert grip[0].header.stamp.sec > 0


@pytest.mark.parametrize('outputs, words', [
    ({'output__a__joints': list(LEFT)}, 'no command topic for right_waist'),
    ({'output__a__joints': [*JOINTS[:13], 'tail']}, 'no joint tail'),
    ({'outputs': ['a', 'b'], 'output__a__joints': list(LEFT), 'output__b__joints': list(RIGHT)}, 'topic of its own'),
    ({'outputs': ['a', 'b'], 'output__b__topic': 'b', 'output__b__joints': list(RIGHT)}, 'two command topics')])
def test_outputs_that_leave_a_joint_out_or_clash_are_refused(rig_of, outputs, words):
    rig = rig_of(**{'outputs': ['a'], **outputs})
    rig.node.trigger_configure()
    assert words in rig.node.problem


def test_a_short_trajectory_ahead_of_every_tick(rig_of):
    rig = rig_of(output__all__type='joint_trajectory', output__all__topic='trajectory', trajectory_points=4)
    messages = heard(rig, JointTrajectory, 'trajectory')
    begin(rig)
    rig.until(lambda: len(messages) > 10, 'trajectories')
    message = messages[-1]
    assert message.joint_names == list(JOINTS) and len(message.points) == 4
    times = [point.time_from_start.nanosec for point in message.points]
    assert all(np.diff(times) > 0) and abs(times[0] - 1e9 / 60) < 2
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
    assert not np.any(message.points[-1].velocities)
    np.testing.assert_allclose(message.points[0].positions, START, atol=1e-6)


def test_a_whole_chunk_once_and_a_trajectory_to_rest_when_it_is_dropped(rig_of):
    rig = rig_of(output__all__type='joint_trajectory_chunk', output__all__topic='trajectory')
    messages = heard(rig, JointTrajectory, 'trajectory')
    begin(rig)
    rig.until(lambda: messages and rig.status.ticks_fresh > 30, 'chunks')
    assert len(messages[-1].points) > 5
    assert len(messages) < rig.status.ticks
    rig.call('stop')
    rig.until_state('stopped')
    rig.turn()
    np.testing.assert_allclose(messages[-1].points[-1].positions, START, atol=1e-6)


class Controller(threading.Thread):
    """A process elsewhere: a node that spins by itself, here in a thread with a context of its own."""

    def __init__(self, namespace, prepare):
        super().__init__(daemon=True)
        self.ending = threading.Event()
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('arm_controller', namespace=namespace, context=self.context)
        prepare(self.node)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.start()

    def run(self):
        while not self.ending.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self.ending.set()
        self.join(5)
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def test_a_controller_whose_joints_are_others_is_refused(rig_of):
    rig = rig_of(output__all__controller='arm_controller')
    controller = Controller(rig.namespace, lambda node: node.declare_parameter('joints', list(reversed(JOINTS))))
    try:
        rig.node.trigger_configure()
        assert 'arm_controller takes numbers in the order' in rig.node.problem
    finally:
        controller.close()


def test_a_controller_that_commands_something_else_is_refused(rig_of):
    rig = rig_of(output__all__controller='arm_controller')

    def prepare(node):
        node.declare_parameter('joints', list(JOINTS))
        node.declare_parameter('interface_name', 'velocity')
    controller = Controller(rig.namespace, prepare)
    try:
        rig.node.trigger_configure()
        assert 'arm_controller commands velocity; joint_command sends joint_position' in rig.node.problem
        controller.node.set_parameters([rclpy.Parameter('interface_name', value='position')])
        rig.node.trigger_configure()
        assert rig.node.problem == ''
    finally:
        controller.close()


def without_answer(rig):
    """A controller that is loaded but does not get to answering: its executor never turns."""
    node = rclpy.create_node('arm_controller', namespace=rig.namespace)
    node.declare_parameter('joints', list(JOINTS))
    return node.destroy_node


def half_configured(rig):
    """A controller that answers but has not declared its joints yet."""
    return Controller(rig.namespace, lambda node: None).close


@pytest.mark.parametrize('there', [lambda rig: (lambda: None), without_answer, half_configured])
def test_a_controller_that_does_not_tell_its_joints_is_said_and_holds_up_nothing(rig_of, monkeypatch, capfd, there):
    monkeypatch.setattr(ask, 'TIMEOUT_S', 0.5)
    asked, until = [], ask._until
    monkeypatch.setattr(ask, '_until', lambda *arguments: asked.append(until(*arguments)) or asked[-1])
    rig = rig_of(output__all__controller='arm_controller')
    close = there(rig)
    try:
        assert rig.node.start() == ''
    finally:
        close()
    assert 'controller arm_controller did not tell its joints; they are not checked' in capfd.readouterr().err
    assert asked.count(False) <= 1  # one wait without an answer is enough
    begin_running(rig)


def test_limits_come_from_the_robot_description(rig_of):
    rig = rig_of(robot_description='robot_description')
    joints = ''.join(f'<joint name="{name}" type="revolute"><parent link="base"/><child link="{name}_link"/>'
                     f'<limit lower="-0.5" upper="0.5" velocity="0.1" effort="1"/></joint><link name="{name}_link"/>'
                     for name in JOINTS)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

    def publish(node):
        publisher = node.create_publisher(String, 'robot_description', latched)
        publisher.publish(String(data=f'<robot name="r"><link name="base"/>{joints}</robot>'))
    controller = Controller(rig.namespace, publish)
    try:
        assert rig.node.start() == ''
        limits = rig.node._parts.loop.controller.limits
        assert limits.velocity.max() == 0.1 and limits.upper.max() == 0.5
    finally:
        controller.close()


def test_a_robot_description_that_nobody_publishes_is_told(rig_of, monkeypatch):
    monkeypatch.setattr(ask, 'TIMEOUT_S', 0.2)
    rig = rig_of(robot_description='robot_description')
    rig.node.trigger_configure()
    assert 'no URDF on' in rig.node.problem and 'within 0.2 s' in rig.node.problem


@pytest.mark.parametrize('how', ['stop', 'crash'])
def test_a_chunk_that_the_robot_executes_is_replaced_by_braking_to_rest_however_long_that_takes(rig_of, how):
    rig = rig_of(output__all__type='joint_trajectory_chunk', output__all__topic='trajectory',
                 limits__default__acceleration=2.0, limits__default__jump=2.0)
    messages = heard(rig, JointTrajectory, 'trajectory')
    said = rig.run_swinging(commands=messages)
    limits, count = rig.node.parts.loop.controller.limits, len(messages)
    rig.node.parts.loop.controller._stall_ns = 10**12  # a standstill of a busy machine would leave nothing to brake
    rig.until(lambda: rig.moving(said), 'moving', 60)
    rig.call('stop') if how == 'stop' else rig.instruction.publish(String(data='fake: crash'))
    rig.until(lambda: not rig.node.parts.loop.controller.moving, 'rest')
    rig.turn()
    braking = np.array([point.positions for point in messages[-1].points])
    steps = np.diff(braking, axis=0)[:, 0]
    assert len(messages) > count and len(braking) > 20 and steps[-1] == 0
    assert np.abs(np.diff(steps)).max() <= limits.acceleration[0] / 3600 * 1.01 + 1e-9
    np.testing.assert_allclose(braking[-1], said[-1][2], atol=1e-9)  # where the controller itself comes to rest
