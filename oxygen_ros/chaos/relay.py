"""Between the robot and the node: passes messages on, unless a fault is to spoil them."""
from collections import deque
import time

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Bool, String

from oxygen_ros.chaos import mutate

RAW = 'raw'  # namespace under which the robot publishes
BEST_EFFORT = QoSProfile(depth=2, reliability=ReliabilityPolicy.BEST_EFFORT)
LATE_S = 0.2


class Relay:
    """
    Republishes the robot's cameras and joint states under the names that the node listens to.

    `cameras` maps the node's image topics to the robot's. `fault` is the kind of the fault at work, or ''. `random` is
    a random.Random. All in the executor's thread.
    """

    def __init__(self, node, cameras, random):
        self._node, self._random = node, random
        self.fault = ''
        self._count = 0
        self._late = deque()  # (due in s, publisher, bytes)
        self._frozen = {}
        self.images = self.joint_states = self.unsendable = 0
        self._cameras = {}
        for topic, source in cameras.items():
            self._cameras[topic] = node.create_publisher(Image, topic, BEST_EFFORT)
            node.create_subscription(Image, f'{RAW}/{source}', lambda data, topic=topic: self._on_image(topic, data),
                                     BEST_EFFORT, raw=True)
        self._joints = node.create_publisher(JointState, 'joint_states', BEST_EFFORT)
        node.create_subscription(JointState, f'{RAW}/joint_states', self._on_joints, BEST_EFFORT, raw=True)
        self._instruction = node.create_publisher(String, 'instruction', 10)
        self._question = node.create_publisher(String, 'question', 10)
        self._emergency = node.create_publisher(Bool, 'emergency_stop', 1)
        self._samples = {}  # topic -> newest good bytes, to mutate

    # --- what a person and the session do

    def instruct(self, text):
        """Publish an instruction: text, or bytes that stand for a text that is no UTF-8."""
        if isinstance(text, bytes):
            length = (len(text) + 1).to_bytes(4, 'little')
            self._instruction.publish(mutate.LITTLE_ENDIAN + length + text + b'\0')
        else:
            self._instruction.publish(String(data=text))

    def ask(self, text):
        self._question.publish(String(data=text))

    def press(self, pressed):
        """The emergency stop."""
        self._emergency.publish(Bool(data=pressed))

    @property
    def connected(self):
        """True where the node listens to everything."""
        publishers = (*self._cameras.values(), self._joints, self._instruction, self._emergency)
        return all(publisher.get_subscription_count() for publisher in publishers)

    def pester(self):
        """One spoilt message on every input."""
        for publisher, samples in (
                (self._instruction, [serialize_message(String(data='put the red block'))]),
                (self._question, [serialize_message(String(data='what is this?'))]),
                (self._emergency, [serialize_message(Bool())]),
                (self._joints, [self._samples.get('joints', mutate.LITTLE_ENDIAN)]),
                *((camera, [self._samples.get(topic, mutate.LITTLE_ENDIAN)[:4000]])
                  for topic, camera in self._cameras.items())):
            # Fast DDS gives a reliable reader no sample without a byte, nor what its writer says after it, until
            # that has left the writer's history: what a person says later from here would not arrive.
            try:
                publisher.publish(mutate.any_of(self._random, samples) or b'\0')
            except RuntimeError:
                self.unsendable += 1  # longer than its type can be: the middleware does not let it out

    def turn(self):
        """Publish what was held back and is due."""
        while self._late and self._late[0][0] <= time.monotonic():
            _, publisher, data = self._late.popleft()
            publisher.publish(data)

    # --- what the robot says

    def _on_image(self, topic, data):
        self.images += 1
        self._samples[topic] = data
        self._count += 1
        publisher, fault = self._cameras[topic], self.fault
        if fault == 'camera_silent' or fault == 'camera_slow' and self._count % 4:
            return
        if fault == 'camera_frozen':
            data = self._frozen.setdefault(topic, data)
        else:
            self._frozen.pop(topic, None)
        if fault == 'camera_broken' or fault == 'camera_half_broken' and self._count % 2:
            data = serialize_message(mutate.break_image(self._random, deserialize_message(data, Image)))
        elif fault in STAMPS:
            data = shift_stamp(data, STAMPS[fault])
        elif fault == 'camera_late':
            self._late.append((time.monotonic() + LATE_S, publisher, data))
            return
        publisher.publish(data)

    def _on_joints(self, data):
        self.joint_states += 1
        self._samples['joints'] = data
        fault = self.fault
        if fault == 'joints_silent':
            return
        if not fault.startswith('joints_'):
            self._joints.publish(data)
            return
        for message in spoil_joints(fault, deserialize_message(data, JointState), self._random):
            self._joints.publish(message)


STAMPS = {'camera_zero_stamp': None, 'camera_future_stamp': 10, 'camera_old_stamp': -2}


def shift_stamp(data, seconds):
    """Serialised message with its header's stamp shifted by whole seconds; None for stamp 0."""
    data = bytearray(data)
    if seconds is None:
        data[4:12] = bytes(8)
    else:
        data[4:8] = (int.from_bytes(data[4:8], 'little', signed=True) + seconds).to_bytes(4, 'little', signed=True)
    return bytes(data)


def spoil_joints(fault, message, random):
    """The JointState messages that a fault makes of one."""
    names, positions = list(message.name), list(message.position)
    message.velocity = message.effort = []
    order = list(range(len(names)))
    if fault == 'joints_nan':
        positions[random.randrange(len(positions))] = float('nan')
    elif fault == 'joints_partial':
        order = [i for i in order if names[i] != names[-1]]
    elif fault == 'joints_broken':
        positions = positions[:-1]
        order = None
    elif fault == 'joints_shuffled':
        random.shuffle(order)
    elif fault == 'joints_jump':
        positions[0] += 0.2
    elif fault == 'joints_foreign':
        other = JointState(header=message.header, name=['wheel', 'lid'], position=[float('nan'), 1.0])
        return [message, other]
    if order is None:
        message.position = positions
        return [message]
    parts = (order[::2], order[1::2]) if fault == 'joints_split' else (order,)
    return [JointState(header=message.header, name=[names[i] for i in part], position=[positions[i] for i in part])
            for part in parts]
