"""Writes the bag of a made-up ALOHA run, for the tests of the evaluation."""
import numpy as np

from oxygen_ros.bag.write import BagWriter
from oxygen_ros.profile.load import load_profile

T0_NS = 1_700_000_000 * 10**9
PROFILE = load_profile('aloha_sim')
JOINTS = PROFILE.joints
HOME = np.array([0.0, -0.96, 1.16, 0.0, -0.3, 0.0, 0.04] * 2)
SPEED = np.array([0.05, 0.02, 0.03, 0.01, 0.02, 0.01, 0.0005] * 2)  # of each joint, per second


def positions(time_s):
    """Where the joints are [14]: a slow straight line from home."""
    return HOME + SPEED * time_s


class RobotBag:
    """
    A bag of `seconds`: pictures at `image_hz`, joints at 50 Hz, commands at 50 Hz, one instruction at the start.

    `commands` False leaves them out. `at(time_s)` is the time in ns. Events are added by tests before `write`.
    """

    def __init__(self, seconds=3.0, image_hz=10, commands=True, instruction_s=0.0, pictures='raw', names=JOINTS):
        self.seconds, self.image_hz, self.commands, self.names = seconds, image_hz, commands, names
        self.instructions = [(instruction_s, 'pick up the red block')]
        self.size = (48, 64)
        self.pictures, self.extra, self.image_stamp_s = pictures, [], lambda time_s: time_s

    @staticmethod
    def at(time_s):
        return T0_NS + round(time_s * 1e9)

    def picture(self, bag, time_s):
        import cv2
        height, width = self.size
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[8:20, int(time_s * 10) % 40:int(time_s * 10) % 40 + 12] = (200, 40, 90)
        header = bag.header(self.at(self.image_stamp_s(time_s)))
        if self.pictures == 'raw':
            return bag.make('sensor_msgs/msg/Image', header=header, height=height, width=width, encoding='bgr8',
                            step=3 * width, data=pixels[..., ::-1].reshape(-1))
        data = cv2.imencode('.png', pixels[..., ::-1])[1].reshape(-1)
        return bag.make('sensor_msgs/msg/CompressedImage', header=header, format='rgb8; png compressed bgr8',
                        data=data)

    def events(self, bag):
        topic = '/top/image_raw' + ('' if self.pictures == 'raw' else '/compressed')
        for i in range(int(self.seconds * self.image_hz)):
            yield i / self.image_hz, topic, self.picture(bag, i / self.image_hz)
        layout = bag.make('std_msgs/msg/MultiArrayLayout')
        order = [JOINTS.index(name) for name in self.names]
        for i in range(int(self.seconds * 50)):
            time_s = i / 50
            yield time_s, '/joint_states', bag.make(
                'sensor_msgs/msg/JointState', header=bag.header(self.at(time_s)), name=list(self.names),
                position=positions(time_s)[order], velocity=np.zeros(0), effort=np.zeros(0))
            if self.commands:
                yield time_s, '/joint_command', bag.make(
                    'std_msgs/msg/Float64MultiArray', layout=layout, data=positions(time_s) + 0.001)
        for time_s, text in self.instructions:
            yield time_s, '/instruction', bag.make('std_msgs/msg/String', data=text)
        for time_s, topic, make in self.extra:
            yield time_s, topic, make(bag)

    def write(self, path, **options):
        with BagWriter(path, **options) as bag:
            for time_s, topic, message in sorted(self.events(bag), key=lambda event: event[:2]):
                bag.put(topic, self.at(time_s), message)
        return path
