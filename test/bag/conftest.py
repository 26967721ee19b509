"""Small bags that the tests write themselves."""
import numpy as np
import pytest
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from oxygen_ros.bag.definitions import define, standard_types

T0_NS = 1_700_000_000 * 10**9
INFINITE = QosTime(9223372036, 854775807)
BEST_EFFORT = Qos(QosHistory.KEEP_LAST, 1, QosReliability.BEST_EFFORT, QosDurability.VOLATILE, INFINITE, INFINITE,
                  QosLiveliness.AUTOMATIC, INFINITE, False)
LATCHED = BEST_EFFORT._replace(reliability=QosReliability.RELIABLE, durability=QosDurability.TRANSIENT_LOCAL)


class BagMaker:
    """Writes a bag of some camera images, joint states, one instruction, tokens and commands."""

    t0_ns = T0_NS
    camera, joints, instruction = '/top/image_raw', '/joint_states', '/instruction'
    tokens, command = '/oxygen/language/tokens', '/joint_command'

    def __init__(self):
        self.store = standard_types()
        define(self.store, 'oxygen_ros/msg/LanguageToken')

    def header(self, time_ns):
        types = self.store.types
        stamp = types['builtin_interfaces/msg/Time'](sec=time_ns // 10**9, nanosec=time_ns % 10**9)
        return types['std_msgs/msg/Header'](stamp=stamp, frame_id='base')

    def events(self, frames):
        """(time, topic, type, message), sorted: images at 10 Hz, joints and commands at 50 Hz, tokens at 5 Hz."""
        types, made = self.store.types, []
        made.append((T0_NS, self.instruction, types['std_msgs/msg/String'](data='pick up the cube')))
        for i in range(frames):
            at = T0_NS + 10 + i * 10**8
            pixels = np.full((12, 16, 3), i % 256, np.uint8)
            made.append((at, self.camera, types['sensor_msgs/msg/Image'](
                header=self.header(at), height=12, width=16, encoding='rgb8', is_bigendian=0, step=48,
                data=pixels.reshape(-1))))
            if i % 2 == 0:
                made.append((at + 1, self.tokens, types['oxygen_ros/msg/LanguageToken'](
                    header=self.header(at), frame_id=i, request_id=1, task='subtask', index=i // 2, token_id=100 + i,
                    text='tök', finished=False, finish_reason='')))
        for i in range(frames * 5):
            at = T0_NS + 20 + i * 2 * 10**7
            position = np.sin(np.arange(3) + i / 50)
            made.append((at, self.joints, types['sensor_msgs/msg/JointState'](
                header=self.header(at), name=['a', 'b', 'c'], position=position, velocity=np.zeros(0),
                effort=np.zeros(0))))
            layout = types['std_msgs/msg/MultiArrayLayout'](dim=[], data_offset=0)
            made.append((at + 1, self.command, types['std_msgs/msg/Float64MultiArray'](layout=layout, data=position)))
        return sorted(made, key=lambda event: event[0])

    def write(self, path, storage='mcap', compression=None, frames=10, topics=None, embed=True):
        writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
        if compression:
            writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
        qos = {self.instruction: [LATCHED], self.camera: [BEST_EFFORT]}
        connections = {}
        with writer:
            for at, topic, message in self.events(frames):
                if topics is not None and topic not in topics:
                    continue
                if topic not in connections:
                    kind = message.__msgtype__
                    known = {'typestore': self.store} if embed else {
                        'msgdef': ' ', 'rihs01': self.store.hash_rihs01(kind)}
                    connections[topic] = writer.add_connection(
                        topic, kind, offered_qos_profiles=qos.get(topic, ()), **known)
                writer.write(connections[topic], at, self.store.serialize_cdr(message, message.__msgtype__))
        return path


@pytest.fixture(scope='session')
def bag_maker():
    return BagMaker()
