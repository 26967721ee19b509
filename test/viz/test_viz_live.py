"""The viz node over real topics: what a viewer receives for what the policy's node published."""
from array import array
import time

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray, String
from test_kinematics import ARM, hand, JOINTS
from visualization_msgs.msg import MarkerArray

from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken
from oxygen_ros.viz.node import VizNode
from oxygen_ros.viz.palette import state_colour

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def graph():
    """(bench node, viz node, spin until a condition holds)."""
    rclpy.init()
    bench, viz, executor = rclpy.create_node('bench'), VizNode(rate_hz=50.0), SingleThreadedExecutor()
    executor.add_node(bench)
    executor.add_node(viz)

    def spin(condition, each=lambda: None):
        end = time.monotonic() + 40
        while not condition() and time.monotonic() < end:
            each()
            executor.spin_once(timeout_sec=0.02)
        assert condition()

    yield bench, viz, spin
    executor.shutdown()
    bench.destroy_node()
    viz.destroy_node()
    rclpy.shutdown()


def test_overlay_markers_and_ghost_show_what_the_node_says(graph):
    bench, viz, spin = graph
    seen = {}
    bench.create_subscription(Image, 'oxygen/overlay', lambda m: seen.update(overlay=m), qos_profile_sensor_data)
    bench.create_subscription(MarkerArray, 'oxygen/markers', lambda m: seen.update(markers=m), 10)
    bench.create_subscription(JointState, 'oxygen/ghost', lambda m: seen.update(ghost=m), 10)
    camera = bench.create_publisher(Image, 'top/image_raw', qos_profile_sensor_data)
    publishers = {
        bench.create_publisher(String, 'robot_description', LATCHED): String(data=ARM),
        bench.create_publisher(EngineStatus, 'oxygen/status', LATCHED): EngineStatus(state='stopped', detail='pressed'),
        bench.create_publisher(JointState, 'joint_states', 10): JointState(name=JOINTS, position=[0.1, 0.2, 0.0]),
        bench.create_publisher(Float64MultiArray, 'joint_command', 10): Float64MultiArray(data=[0.0, 0.5, 0.0]),
        bench.create_publisher(ActionChunk, 'oxygen/action_chunk', 5): ActionChunk(
            kind='joint_position', joint_names=JOINTS, horizon=2, dt=0.1, data=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0])}
    tokens = bench.create_publisher(LanguageToken, 'oxygen/language/tokens', 100)
    spin(lambda: all(p.get_subscription_count() for p in (*publishers, camera, tokens)))
    for publisher, message in publishers.items():
        publisher.publish(message)
    for request, text in ((1, 'old'), (2, 'reach '), (2, 'left')):
        tokens.publish(LanguageToken(request_id=request, task='subtask', text=text))
    picture = Image(height=96, width=128, step=384, encoding='bgr8', data=array('B', bytes(96 * 384)))
    spin(lambda: {'overlay', 'markers', 'ghost'} <= set(seen) and viz.texts() == [('subtask', 'reach left')]
         and len(seen['markers'].markers) == 5, each=lambda: camera.publish(picture))
    pixels = np.frombuffer(seen['overlay'].data, np.uint8).reshape(96, 128, 3)
    assert tuple(pixels[1, 1]) == state_colour('stopped')
    shown = {(marker.ns, marker.id): marker for marker in seen['markers'].markers}
    assert set(shown) == {('text', 0), ('plan', 0), ('plan', 1), ('measured', 0), ('commanded', 0)}
    path = [(p.x, p.y, p.z) for p in shown['plan', 0].points]
    assert path == [pytest.approx(hand(0, 0)), pytest.approx(hand(1, 0))]
    spot = shown['commanded', 0].points[0]
    assert (spot.x, spot.y, spot.z) == pytest.approx(hand(0, 0.5), abs=1e-6)
    assert 'reach left' in shown['text', 0].text and shown['plan', 0].header.frame_id == 'base'
    assert list(seen['ghost'].position) == [1.0, 0.0, 0.0] and list(seen['ghost'].name) == list(JOINTS)
