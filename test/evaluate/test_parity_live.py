"""The same messages, heard live by the node and read from the bag that recorded them, give the same tensors."""
from array import array
from concurrent.futures import Future
import time

import cv2
import numpy as np
import pytest
import rclpy
from rclpy.qos import qos_profile_sensor_data
from robot_bag import HOME, JOINTS, PROFILE
from sensor_msgs.msg import CompressedImage, Image, JointState
from std_msgs.msg import String

from oxygen_ros import share
from oxygen_ros.bag.read import Bag
from oxygen_ros.bag.record import Recorder
from oxygen_ros.configure import configure
from oxygen_ros.evaluate.intake import Intake
from oxygen_ros.evaluate.parameters import FileParameters
from oxygen_ros.evaluate.skips import Skips
from oxygen_ros.evaluate.unit import BagTime
from oxygen_ros.executor import callback_executor
from oxygen_ros.listener import decode, Listener
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import find_tokenizer
from oxygen_ros.timeline import Timeline

INSTRUCTION = '  pick up\tthe red\nblock '


class Worker:
    """The engine's thread, never run: the test steps by hand."""

    alive, failure = True, None

    def call(self, job):
        future = Future()
        future.set_result(job())
        return future

    def wake(self):
        pass


class Watching:
    """Engine that keeps the observations it is given."""

    def __init__(self, engine):
        self.counters, self.seen, self._engine = engine.counters, [], engine

    def run_frame(self, observation, *rest):
        self.seen.append(observation)
        return self._engine.run_frame(observation, *rest)

    def cancel_all(self, reason):
        self._engine.cancel_all(reason)


class Sinks:
    def chunk(self, chunk):
        pass

    token = chunk

    def text(self, task, text):
        pass


@pytest.fixture
def ros():
    rclpy.init()
    node = rclpy.create_node('oxygen')
    executor = callback_executor()
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


def pixels():
    return np.random.default_rng(3).integers(0, 255, (37, 53, 3), np.uint8)


def padded_bgr(header):
    """A picture with 7 bytes of padding a row, as some drivers send."""
    rows = np.zeros((37, 53 * 3 + 7), np.uint8)
    rows[:, :159] = pixels()[..., ::-1].reshape(37, 159)
    return Image(header=header, height=37, width=53, encoding='bgr8', step=166, data=array('B', rows.tobytes()))


def sixteen_bit(header):
    big = (pixels().astype('>u2') * 257 + 3).astype('>u2')
    return Image(header=header, height=37, width=53, encoding='rgb16', is_bigendian=1, step=318,
                 data=array('B', big.tobytes()))


def jpeg(header):
    data = cv2.imencode('.jpg', cv2.resize(pixels(), (320, 240)))[1].tobytes()
    return CompressedImage(header=header, format='rgb8; jpeg compressed bgr8', data=array('B', data))


@pytest.mark.parametrize('make, transport', [(padded_bgr, 'raw'), (sixteen_bit, 'raw'), (jpeg, 'compressed')])
def test_live_and_recorded_messages_give_the_same_observation_and_the_same_tensors(ros, tmp_path, make, transport):
    node, executor = ros
    params = FileParameters(share.config_file('aloha.yaml'), {'engine.fake': True, 'image.base_0_rgb.transport':
                                                              transport})
    timeline = Timeline(lambda: node.get_clock().now().nanoseconds, time.monotonic_ns)
    live = configure(params, timeline, Worker(), Future.result, node,
                     lambda view, data: decode({'base_0_rgb': transport}, view, data))
    live.runner.engine, live.runner.sinks = Watching(live.engine), Sinks()
    listener = Listener(node, params, live)
    camera = node.create_publisher(CompressedImage if transport == 'compressed' else Image, 'top/image_raw',
                                   qos_profile_sensor_data)
    joints = node.create_publisher(JointState, 'joint_states', 10)
    words = node.create_publisher(String, 'instruction', 10)
    recorder = Recorder(node, tmp_path / 'bag', ['top/image_raw', 'joint_states', 'instruction'])

    def spin(condition):
        end = time.monotonic() + 40
        while not condition() and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.02)
        assert condition()

    spin(lambda: all(p.get_subscription_count() == 2 for p in (camera, joints, words)))
    words.publish(String(data=INSTRUCTION))
    spin(lambda: live.inputs.instruction.instruction_id and recorder.counts['/instruction'])
    # The two arms come in messages of their own, in an order of their own.
    for names in (JOINTS[7:][::-1], JOINTS[:7]):
        state = JointState(name=list(names), position=[HOME[JOINTS.index(name)] + 0.01 for name in names])
        state.header.stamp = node.get_clock().now().to_msg()
        joints.publish(state)
    picture = Image()
    picture.header.stamp = node.get_clock().now().to_msg()
    spin(lambda: live.inputs.joints.newest and recorder.counts['/joint_states'] == 2)
    camera.publish(make(picture.header))
    spin(lambda: live.inputs.views['base_0_rgb'].received and recorder.counts['/top/image_raw'])
    assert live.runner.step(), live.runner.delayed
    listener.close()
    recorder.close()

    with Bag(tmp_path / 'bag') as bag:
        clock = BagTime()
        parts = configure(params, clock, Worker(), Future.result, node,
                          lambda view, payload: intake.decode(view, payload))
        parts.runner.engine, parts.runner.sinks = Watching(parts.engine), Sinks()
        intake = Intake(bag, parts, clock, Skips())
        for topic, time_ns, data in bag.messages():
            clock.time_ns = time_ns
            if topic == '/instruction':
                intake.instruction(bag.decode(topic, data).data)
            else:
                intake.put(topic, data)
        assert parts.runner.step(), parts.runner.delayed

    (heard,), (read,) = live.runner.engine.seen, parts.runner.engine.seen
    assert heard.stamp_ns == read.stamp_ns and heard.instruction == read.instruction == 'pick up the red block'
    assert (heard.images['base_0_rgb'] == read.images['base_0_rgb']).all() and (heard.state == read.state).all()
    processor = Processor(PROFILE, find_tokenizer(PROFILE.model))
    mine, its = processor.inputs(heard), processor.inputs(read)
    assert mine.images.tobytes() == its.images.tobytes() and mine.slots == its.slots
    assert mine.prompt_tokens.tolist() == its.prompt_tokens.tolist()
    if make is padded_bgr:
        assert (read.images['base_0_rgb'] == pixels()).all()
