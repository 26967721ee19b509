"""Record and play over real topics."""
from array import array
import signal
import subprocess
import sys
import threading
import time

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String

from oxygen_ros.bag.play import Player
from oxygen_ros.bag.play_names import PlayOptions
from oxygen_ros.bag.read import Bag
from oxygen_ros.bag.record import Recorder
from oxygen_ros.msg import LanguageToken

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def graph():
    """A node in an executor; `spin(condition)` turns it until the condition holds or 40 s have passed."""
    rclpy.init()
    node, executor = rclpy.create_node('bench'), SingleThreadedExecutor()
    executor.add_node(node)

    def spin(condition):
        end = time.monotonic() + 40
        while not condition() and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.02)
        assert condition()

    yield node, spin
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


def publish_all(node, spin, recorder, count):
    """Publish `count` of each topic once the recorder has subscribed; the instruction was published before."""
    camera = node.create_publisher(Image, '/top/image_raw', qos_profile_sensor_data)
    joints = node.create_publisher(JointState, '/joint_states', qos_profile_sensor_data)
    tokens = node.create_publisher(LanguageToken, '/oxygen/language/tokens', 100)
    publishers = (camera, joints, tokens)
    spin(lambda: all(publisher.get_subscription_count() for publisher in publishers))
    for i in range(count):
        image = Image(height=4, width=4, encoding='rgb8', step=12, data=array('B', [i] * 48))
        image.header.stamp.sec = 100 + i
        camera.publish(image)
        joints.publish(JointState(name=['a'], position=[i / 10]))
        tokens.publish(LanguageToken(index=i, text=f'pièce {i}', task='subtask'))
        spin(lambda: recorder.counts['/top/image_raw'] > i)
    spin(lambda: recorder.counts['/oxygen/language/tokens'] == count and recorder.counts['/joint_states'] == count)


def test_what_is_recorded_plays_again_the_same_with_the_same_quality(graph, tmp_path):
    node, spin = graph
    node.create_publisher(String, '/instruction', LATCHED).publish(String(data='stack the cubes'))
    topics = ['/instruction', 'top/image_raw', 'joint_states', '/oxygen/language/tokens', 'nobody']
    recorder = Recorder(node, tmp_path / 'bag', topics, custom_data={'robot': 'bench'})
    spin(lambda: recorder.counts['/instruction'] == 1)  # latched, published before there was a recorder
    publish_all(node, spin, recorder, 20)
    assert recorder.missing == ['/nobody']
    recorder.close()
    assert not recorder.dropped
    heard = []
    for cls, name, quality in ((Image, '/again/image', qos_profile_sensor_data), (String, '/instruction', LATCHED),
                               (LanguageToken, '/recorded/oxygen/language/tokens', 10)):
        node.create_subscription(cls, name, heard.append, quality)
    with Bag(tmp_path / 'bag') as bag:
        assert {name: topic.count for name, topic in bag.topics.items()} == {
            '/instruction': 1, '/top/image_raw': 20, '/joint_states': 20, '/oxygen/language/tokens': 20}
        assert bag.topics['/top/image_raw'].qos[0].reliability.name == 'BEST_EFFORT'
        assert bag.topics['/instruction'].qos[0].durability.name == 'TRANSIENT_LOCAL'
        player = Player(node, bag, PlayOptions(remap=(('/top/image_raw', '/again/image'),)))
        spin(lambda: player.wait_for_subscribers(0) == ['/joint_states'])
        heard.clear()
        thread = threading.Thread(target=player.play)
        thread.start()
        spin(lambda: all(sum(isinstance(m, cls) for m in heard) >= n
                         for cls, n in ((Image, 20), (LanguageToken, 20), (String, 1))))
        thread.join()
        player.close()
    assert [message.data[0] for message in heard if isinstance(message, Image)] == list(range(20))
    assert [m.text for m in heard if isinstance(m, LanguageToken)] == [f'pièce {i}' for i in range(20)]


def test_messages_that_the_disk_cannot_follow_are_dropped_and_counted(graph, tmp_path):
    node, spin = graph
    recorder = Recorder(node, tmp_path / 'bag', ['/big'], queue_bytes=1000)
    publisher = node.create_publisher(String, '/big', 10)
    spin(publisher.get_subscription_count)
    publisher.publish(String(data='x' * 2000))
    publisher.publish(String(data='y'))
    spin(lambda: recorder.counts['/big'] == 1 and recorder.dropped['/big'] == 1)
    recorder.close()
    recorder.close()
    with Bag(tmp_path / 'bag') as bag:
        assert [bag.decode(*item[::2]).data for item in bag.messages()] == ['y']


def test_an_existing_folder_is_not_written_over(graph, tmp_path):
    with pytest.raises(ValueError, match='exists already'):
        Recorder(graph[0], tmp_path)


def test_a_recording_under_ctrl_c_is_whole(graph, tmp_path):
    node, spin = graph
    publisher = node.create_publisher(String, '/word', 10)
    child = subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros', 'record', str(tmp_path / 'bag'), '/word'], stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        spin(publisher.get_subscription_count)
        for i in range(10):
            publisher.publish(String(data=str(i)))
        publisher.wait_for_all_acked()
        time.sleep(0.3)  # acknowledged by the middleware; its callback may still be due
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=20)
    finally:
        child.kill()
    assert child.returncode == 0 and b'10  /word' in out
    with Bag(tmp_path / 'bag') as bag:
        assert bag.count == 10


def test_play_on_the_command_line_keeps_commands_aside_and_refuses_a_bad_bag(graph, tmp_path, bag_maker):
    node, spin = graph
    path, heard, moved = bag_maker.write(tmp_path / 'bag'), [], []
    node.create_subscription(JointState, '/joint_states', heard.append, 200)
    from std_msgs.msg import Float64MultiArray
    node.create_subscription(Float64MultiArray, '/joint_command', moved.append, 10)
    child = subprocess.Popen([sys.executable, '-m', 'oxygen_ros', 'play', str(path), '--rate', '5'],
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        spin(lambda: len(heard) >= 50)
        out, _ = child.communicate(timeout=20)
    finally:
        child.kill()
    assert child.returncode == 0 and b'116 messages' in out and b'/joint_command -> /recorded/joint_command' in out
    assert len(heard) == 50 and not moved
    done = subprocess.run([sys.executable, '-m', 'oxygen_ros', 'play', str(tmp_path)], capture_output=True, timeout=60)
    assert done.returncode == 1 and b'play: ' in done.stderr and b'Traceback' not in done.stderr
