"""A node beside the policy's that makes pictures and shapes for viewers from what it publishes."""
from array import array
from collections import OrderedDict

from geometry_msgs.msg import Point
import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image, JointState
from std_msgs.msg import ColorRGBA, Float64MultiArray, String
from visualization_msgs.msg import Marker, MarkerArray

from oxygen_ros.convert.images import to_rgb
from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken
from oxygen_ros.viz.kinematics import Kinematics
from oxygen_ros.viz.overlay import overlay
from oxygen_ros.viz.shapes import plan_shapes, standing_shapes, text_shape

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MARKER_KINDS = {'line': Marker.LINE_STRIP, 'points': Marker.SPHERE_LIST, 'text': Marker.TEXT_VIEW_FACING}
MAX_TEXTS = 4
NO_STATE = EngineStatus(state='no node', detail='nothing was heard of the node yet')


class VizNode(Node):
    """
    Publishes `NODE/overlay` (Image), `NODE/markers` (MarkerArray) and `NODE/ghost` (JointState, the end of the plan).

    `node` is the policy node's name. Shapes need `robot_description`; until it comes, and without yourdfpy, only the
    text is drawn. Pictures are drawn at most `rate_hz` times a second. Nothing is computed without a subscriber.
    """

    def __init__(self, node='oxygen', image='top/image_raw', rate_hz=10.0, **options):
        super().__init__(f'{node}_viz', **options)
        self._period_ns, self._drawn_ns = round(1e9 / rate_hz), 0
        self._status, self._instruction, self._texts = NO_STATE, '', OrderedDict()
        self._kinematics, self._links, self._joints, self._chunk = None, (), (), None
        self._measured, self._commanded = {}, None
        self._overlay = self.create_publisher(Image, f'{node}/overlay', qos_profile_sensor_data)
        self._markers = self.create_publisher(MarkerArray, f'{node}/markers', 10)
        self._ghost = self.create_publisher(JointState, f'{node}/ghost', 10)
        cls = CompressedImage if image.endswith('/compressed') else Image
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(cls, image, self._on_image, newest)
        self.create_subscription(JointState, 'joint_states', self._on_joints, newest)
        self.create_subscription(Float64MultiArray, 'joint_command', self._on_command, newest)
        self.create_subscription(String, 'instruction', self._on_instruction, 10)
        self.create_subscription(String, 'robot_description', self._on_description, LATCHED)
        self.create_subscription(ActionChunk, f'{node}/action_chunk', self._on_chunk, 5)
        self.create_subscription(LanguageToken, f'{node}/language/tokens', self._on_token, 100)
        self.create_subscription(EngineStatus, f'{node}/status', self._on_status, LATCHED)
        self.create_timer(0.1, self._draw_shapes)

    def _on_status(self, message):
        self._status = message

    def _on_instruction(self, message):
        self._instruction = message.data

    def _on_token(self, message):
        """Keep the current text of each task; a new stream of the task takes its place."""
        request, text = self._texts.pop(message.task, (None, ''))
        self._texts[message.task] = (message.request_id, (text if request == message.request_id else '') + message.text)
        while len(self._texts) > MAX_TEXTS:
            self._texts.popitem(last=False)

    def texts(self):
        return [(task, text) for task, (_, text) in self._texts.items()]

    def _on_joints(self, message):
        self._measured.update(zip(message.name, message.position))

    def _on_command(self, message):
        self._commanded = np.array(message.data)

    def _on_description(self, message):
        try:
            self._kinematics = Kinematics(message.data)
            self._links = ()
        except (ValueError, ImportError) as error:
            self.get_logger().error(f'no paths are drawn: {error}')

    def _on_chunk(self, message):
        self._joints = tuple(message.joint_names)
        if message.kind != 'joint_position' or not self._joints or len(message.data) % len(self._joints):
            self._chunk = None  # velocities and deltas are no place to be
            return
        self._chunk = np.array(message.data).reshape(-1, len(self._joints))
        ghost = JointState(name=list(self._joints), position=array('d', self._chunk[-1]))
        ghost.header.stamp = self.get_clock().now().to_msg()
        self._ghost.publish(ghost)

    def _on_image(self, message):
        now_ns = self.get_clock().now().nanoseconds
        if 0 <= now_ns - self._drawn_ns < self._period_ns or not self._overlay.get_subscription_count():
            return
        self._drawn_ns = now_ns
        try:
            image = to_rgb(message)
        except ValueError as error:
            self.get_logger().warning(f'no overlay: {error}', throttle_duration_sec=5)
            return
        drawn = overlay(image, self._status.state, self._status.detail, self._instruction, self.texts())
        self._overlay.publish(Image(header=message.header, height=drawn.shape[0], width=drawn.shape[1],
                                    encoding='rgb8', step=drawn.shape[1] * 3, data=array('B', drawn.tobytes())))

    def _draw_shapes(self):
        if not self._markers.get_subscription_count():
            return
        shapes = [text_shape(self._status.state, self._instruction, self.texts())]
        if self._kinematics is not None and self._chunk is not None:
            self._links = self._links or self._kinematics.tips(self._joints)
            measured = np.array([self._measured.get(name, np.nan) for name in self._joints])
            commanded = self._commanded
            if commanded is not None and len(commanded) != len(self._joints):
                commanded = None
            shapes += plan_shapes(self._kinematics, self._joints, self._chunk, self._links)
            shapes += standing_shapes(self._kinematics, self._joints, self._links, measured, commanded)
        frame = self._kinematics.root if self._kinematics else 'world'
        stamp = self.get_clock().now().to_msg()
        self._markers.publish(MarkerArray(markers=[marker(shape, frame, stamp) for shape in shapes]))


def marker(shape, frame, stamp):
    """visualization_msgs/Marker of a Shape."""
    red, green, blue = (part / 255 for part in shape.colour)
    made = Marker(ns=shape.namespace, id=shape.number, type=MARKER_KINDS[shape.kind], action=Marker.ADD,
                  color=ColorRGBA(r=red, g=green, b=blue, a=1.0), text=shape.text)
    made.header.frame_id, made.header.stamp = frame, stamp
    made.pose.orientation.w = 1.0
    made.scale.x = made.scale.y = made.scale.z = shape.size_m
    made.lifetime.sec = 2  # a plan of a node that has ended goes away
    points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in shape.places]
    if shape.kind == 'text':
        made.pose.position = points[0]
    else:
        made.points = points
    return made
