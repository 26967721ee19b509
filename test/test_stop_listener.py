"""The emergency stop is heard from whoever publishes it, in every state of the node, and before it was there."""
from lifecycle_msgs.msg import Transition
import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool, Empty, Int8, String

from oxygen_ros.node import OxygenNode
from rig import aloha_parameters, BEST_EFFORT, LATCHED, Rig

CONFIGURE, ACTIVATE = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE
DEACTIVATE, CLEANUP = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP
PUBLISHERS = {
    'reliable': QoSProfile(depth=1), 'best effort': BEST_EFFORT, 'latched': LATCHED,
    'best effort, latched': QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT,
                                       durability=DurabilityPolicy.TRANSIENT_LOCAL)}


@pytest.fixture
def rig():
    rig = Rig()
    yield rig
    rig.close()


def button(rig, profile, node=None):
    """A publisher of the emergency stop that the node hears in place of the rig's own."""
    rig.robot.destroy_publisher(rig.emergency)
    rig.emergency = (node or rig.robot).create_publisher(Bool, f'{rig.namespace}/emergency_stop', profile)
    return rig.emergency


def restart(rig):
    """The node as a process that starts while the rest of the robot is up already."""
    rig.executor.remove_node(rig.node)
    rig.node.end()
    rig.node.destroy_node()
    rig.node = OxygenNode(namespace=rig.namespace, parameter_overrides=aloha_parameters())
    rig.executor.add_node(rig.node)


@pytest.mark.parametrize('profile', PUBLISHERS.values(), ids=PUBLISHERS)
def test_every_publisher_is_heard(rig, profile):
    publisher = button(rig, profile)
    rig.run()
    publisher.publish(Bool(data=True))
    rig.until_state('stopped')
    assert 'incompatible' not in rig.status.detail and not rig.call('resume').success
    publisher.publish(Bool(data=False))
    rig.until(lambda: rig.call('resume').success, 'released')
    rig.until_running()


@pytest.mark.parametrize('before, after', [
    ((), (CONFIGURE, ACTIVATE)), ((CONFIGURE,), (ACTIVATE,)), ((CONFIGURE, ACTIVATE, DEACTIVATE), (ACTIVATE,)),
    ((CONFIGURE, CLEANUP), (CONFIGURE, ACTIVATE))],
    ids=['new', 'configured', 'deactivated', 'cleaned up'])
def test_a_press_is_heard_in_every_state_and_outlives_its_release(rig, before, after):
    for transition in before:
        assert rig.transition(transition)
    rig.until(rig.emergency.get_subscription_count, 'the node hears it')
    for pressed in (True, False):
        rig.emergency.publish(Bool(data=pressed))
    rig.until(lambda: 'emergency stop' in rig.status.detail, 'the status says so')
    for transition in after:
        assert rig.transition(transition)
    rig.sources += [rig.send_picture, rig.send_joints]
    rig.until(rig.instruction.get_subscription_count, 'the node listens')
    rig.instruction.publish(String(data='go'))
    rig.until(lambda: rig.status.state == 'stopped' and rig.status.frames > 3, 'stopped')
    assert not rig.commands
    assert rig.call('resume').success
    rig.until_running()


def test_a_press_while_the_model_loads_is_not_pushed_out_by_what_follows(rig, monkeypatch):
    from oxygen_ros import build
    rig.until(rig.emergency.get_subscription_count, 'the node hears it')
    build_engine = build.build_engine

    def pressed_meanwhile(*arguments):
        rig.emergency.publish(Bool(data=True))
        for _ in range(50):
            rig.emergency.publish(Bool(data=False))
        return build_engine(*arguments)
    monkeypatch.setattr(build, 'build_engine', pressed_meanwhile)
    assert rig.node.start() == ''
    rig.until_state('stopped')


def test_a_latched_press_from_before_the_start_is_heard(rig):
    node = rclpy.create_node('button', namespace=rig.namespace)
    try:
        button(rig, LATCHED, node).publish(Bool(data=True))
        restart(rig)
        assert rig.node.start() == ''
        rig.until_state('stopped')
        assert not rig.call('resume').success
        rig.emergency.publish(Bool(data=False))
        rig.until(lambda: rig.call('resume').success, 'released')
    finally:
        node.destroy_node()


def test_a_button_of_another_type_stops_with_a_sentence_until_it_is_gone(rig):
    rig.run()
    context = rclpy.Context()
    rclpy.init(context=context)
    other = rclpy.create_node('odd_button', namespace=rig.namespace, context=context)
    try:
        other.create_publisher(Int8, 'emergency_stop', 1)
        rig.until_state('stopped')
        for words in (f'{rig.namespace}/emergency_stop', 'std_msgs/msg/Int8', 'must be std_msgs/msg/Bool'):
            assert words in rig.status.detail
        assert 'cannot be heard' in rig.call('resume').message
    finally:
        other.destroy_node()
        context.shutdown()
    rig.until(lambda: rig.call('resume').success, 'resumed')
    rig.until_running()


@pytest.mark.parametrize('profile', [QoSProfile(depth=1), BEST_EFFORT], ids=['reliable', 'best effort'])
def test_every_heartbeat_is_heard(profile):
    rig = Rig(heartbeat_timeout_s=1.0)
    heart = rig.robot.create_publisher(Empty, 'heartbeat', profile)
    rig.sources.append(lambda: heart.publish(Empty()))
    try:
        rig.run()
        rig.turn(75)
        assert rig.status.state == 'running'
    finally:
        rig.close()


def test_a_message_that_is_none_is_refused_and_stops_nothing(rig):
    rig.run()
    refused = rig.status.inputs_refused
    rig.emergency.publish(b'\x00\x01')
    rig.until(lambda: rig.status.inputs_refused > refused, 'refused')
    assert rig.status.state == 'running'
