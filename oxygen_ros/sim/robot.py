"""The simulated ALOHA robot as a ROS 2 node."""
from dataclasses import dataclass, field
import threading
import time
import traceback

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.sim import parameters
from oxygen_ros.sim.command import CommandReader
from oxygen_ros.sim.loop import Loop
from oxygen_ros.sim.schedule import NS, Pace

RELIABLE_1 = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
RELIABLE_10 = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)  # as joint_state_broadcaster
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MESSAGES = {'float64_multi_array': Float64MultiArray, 'joint_trajectory': JointTrajectory, 'joint_state': JointState}


@dataclass
class Counters:
    """What the robot sent, took and refused since it started."""

    images_sent: int = 0     # over all cameras
    images_missed: int = 0   # a picture was due while the one before was still being drawn
    joint_states: int = 0
    commands: int = 0
    commands_refused: int = 0
    commands_clamped: int = 0
    draw_ms: list = field(default_factory=lambda: [0.0, 0.0])  # last and longest time of one round of pictures


def make_body(values):
    """The body that the parameters ask for, what makes its pictures, their frame ids, and its URDF or ''."""
    asked = [camera for camera in values['cameras'] if camera]
    if values['replay']:
        from oxygen_ros.sim.replay import FollowingArms, read_pictures, RecordedCameras
        pictures = read_pictures(values['replay'])
        cameras = RecordedCameras(pictures, asked or sorted(pictures))
        return FollowingArms(), cameras, {camera: f'{camera}_optical_frame' for camera in cameras.sizes}, ''
    from oxygen_ros.sim.cameras import SceneCameras
    from oxygen_ros.sim.scene import make_task, Scene
    from oxygen_ros.sim.urdf import camera_frames, urdf
    task = make_task(values['task'])
    body = Scene(task, shadows=values['shadows'], seed=values['seed'])
    size = values['camera_width'], values['camera_height']
    cameras = SceneCameras(body, {name: task.camera_sizes.get(name, size) for name in asked or task.cameras})
    return body, cameras, camera_frames(body.model), urdf(body.model)


class Robot(Node):
    """
    Publishes cameras, joint states and its description; executes `joint_command`.

    All names are relative, so that each robot can have a namespace. ValueError when a parameter will not do,
    `SimulatorMissing` when something is not installed. `start` begins to simulate in a thread, `close` ends it.
    """

    def __init__(self, **options):
        super().__init__('robot', **options)
        self.failure = None  # the exception that ended the simulation
        self.counters = Counters()
        self._pictures = self._thread = self._drawing = None
        values = self._values = parameters.declare(self)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.simulated_time = (values['publish_clock'] or values['lockstep']
                               or self.get_parameter('use_sim_time').value)
        if values['real_time_factor'] != 1 and not self.simulated_time:
            raise ValueError(f'real_time_factor {values["real_time_factor"]:g} needs simulated time; set publish_clock')
        self._body, self._pictures, frames, description = make_body(values)
        self._reader = CommandReader(self._body.joints, self._body.lower, self._body.upper)
        self._held = self._body.positions()  # what a command that names few joints leaves alone

        self._joint_states = self.create_publisher(JointState, 'joint_states', RELIABLE_10)
        self._joint_state = JointState(name=list(self._body.joints))
        self._images = {}
        # In lock-step nothing may be lost; a robot's camera driver would rather drop a picture than wait.
        image_qos = RELIABLE_10 if values['lockstep'] else qos_profile_sensor_data
        for camera, (width, height) in self._pictures.sizes.items():
            message = Image(width=width, height=height, encoding='rgb8', step=3 * width)
            message.header.frame_id = frames[camera]
            publisher = self.create_publisher(Image, f'{camera}/image_raw', image_qos)
            self._images[camera] = message, publisher
        if description:
            self._description = self.create_publisher(String, 'robot_description', LATCHED)
            self._description.publish(String(data=description))
        outputs = {'joint_states': self._publish_joints, 'pictures': self._publish_pictures}
        rates = {'joint_states': values['joint_state_rate_hz'], 'pictures': values['camera_rate_hz']}
        if self.simulated_time:
            self._clock_out = self.create_publisher(ClockMessage, '/clock', 1)
            outputs['clock'], rates['clock'] = self._publish_clock, values['clock_rate_hz']
        self._loop = Loop(
            self._body, rates, outputs, Pace(values['real_time_factor']),
            values['control_rate_hz'] if values['lockstep'] else 0.0, values['lockstep_timeout_s'])
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.create_subscription(MESSAGES[values['command_type']], 'joint_command', self._on_command,
                                 QoSProfile(depth=100) if values['lockstep'] else RELIABLE_1)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self._seen = time.monotonic(), 0
        self.create_timer(1.0, self._publish_diagnostics, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def start(self):
        """Begin to simulate, in a thread of its own."""
        self._thread = threading.Thread(target=self._simulate, name='physics')
        self._thread.start()

    def close(self):
        """Stop simulating, free OpenGL, destroy the node."""
        if self._thread is not None:
            self._loop.stop()
            self._thread.join()
        if self._pictures is not None:
            self._pictures.close()
        self.destroy_node()

    def describe(self):
        """One line on what runs."""
        cameras = ', '.join(f'{camera} {width}x{height}' for camera, (width, height) in self._pictures.sizes.items())
        return (f'{self._body.describe()}; {cameras} at {self._values["camera_rate_hz"]:g} Hz, joint_states at '
                f'{self._values["joint_state_rate_hz"]:g} Hz' + (', simulated time' if self.simulated_time else ''))

    def summary(self):
        """Counters of the run, for JSON."""
        counted = vars(self.counters) | vars(self._loop.counters)
        last_ms, longest_ms = counted.pop('draw_ms')
        pace = self._loop.pace
        return counted | {'timing': {'draw_last_ms': last_ms, 'draw_max_ms': longest_ms, 'slips': pace.slips,
                                     'slipped_s': pace.slipped_ns / NS}}

    def _simulate(self):
        try:
            self._loop.run()
        except Exception as error:
            if not isinstance(error, (RuntimeError, ValueError)):  # those are sentences for the user
                self.get_logger().error(traceback.format_exc())
            self.failure = error

    def _now_ns(self):
        return self._loop.now_ns if self.simulated_time else self.get_clock().now().nanoseconds

    def _stamp(self, header, moment_ns):
        """Simulated time, or what the system's clock says now."""
        stamp_ns = moment_ns if self.simulated_time else self._now_ns()
        header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, NS)

    def _publish_joints(self, moment_ns):
        message = self._joint_state
        self._stamp(message.header, moment_ns)
        message.position = self._body.positions().tolist()
        message.velocity = self._body.velocities().tolist()
        message.effort = self._body.efforts().tolist()
        self._joint_states.publish(message)
        self.counters.joint_states += 1

    def _publish_clock(self, moment_ns):
        message = ClockMessage()
        message.clock.sec, message.clock.nanosec = divmod(moment_ns, NS)
        self._clock_out.publish(message)

    def _publish_pictures(self, moment_ns):
        """In real time the physics goes on while the picture is drawn; simulated time waits for it."""
        if self._drawing is not None and not self._drawing.done():
            self.counters.images_missed += len(self._images)
            return
        if self._drawing is not None:
            self._drawing.result()  # an exception of the last picture ends the simulation
        for message, _ in self._images.values():
            self._stamp(message.header, moment_ns)
        self._drawing = self._pictures.submit(self._draw_and_publish, self._body.snapshot())
        if self.simulated_time:
            self._drawing.result()

    def _draw_and_publish(self, snapshot):
        began = time.perf_counter()
        for camera, (message, publisher) in self._images.items():
            self._pictures.picture(camera, snapshot)
            message.data = self._pictures.memory[camera]  # an array.array takes 0.02 ms, bytes 0.2, an ndarray 40
            publisher.publish(message)
            self.counters.images_sent += 1
        took_ms = 1e3 * (time.perf_counter() - began)
        self.counters.draw_ms = [took_ms, max(took_ms, self.counters.draw_ms[1])]

    def _on_command(self, message):
        try:
            motion = self._read(message)
        except ValueError as error:
            self.counters.commands_refused += 1
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)
            return
        within, sentence = self._reader.clamped(motion.positions)
        if sentence:
            self.counters.commands_clamped += 1
            self.get_logger().warning(sentence, throttle_duration_sec=1.0)
        self.counters.commands += 1
        self._held = within[-1]
        self._loop.command(type(motion)(motion.times_s, within))

    def _read(self, message):
        if isinstance(message, Float64MultiArray):
            return self._reader.array(message.data)
        if isinstance(message, JointState):
            return self._reader.joint_state(message.name, message.position, self._held)
        points = [(point.positions, point.time_from_start.sec + point.time_from_start.nanosec / NS)
                  for point in message.points]
        stamp_ns = message.header.stamp.sec * NS + message.header.stamp.nanosec
        start_s = (stamp_ns - self._now_ns()) / NS if stamp_ns else 0.0  # 0: at once
        return self._reader.trajectory(message.joint_names, points, self._held, start_s)

    def _on_parameters(self, changes):
        reason = parameters.check_changes(changes)
        return SetParametersResult(successful=not reason, reason=reason)

    def _on_reset(self, request, response):
        seed = self.get_parameter('seed').value
        response.success = self._loop.reset(seed)
        if response.success:
            self._held = self._reader.clamped(self._body.positions())[0]
        response.message = f'started again from seed {seed}' if response.success else 'the simulation does not answer'
        return response

    def _publish_diagnostics(self):
        now, (then, sent) = time.monotonic(), self._seen
        rate_hz = (self.counters.images_sent - sent) / (now - then) / len(self._images)
        self._seen = now, self.counters.images_sent
        numbers = self.summary() | {'image_rate_hz': f'{rate_hz:.2f}'}
        timing = numbers.pop('timing')
        asked_hz = self._values['camera_rate_hz']
        # Simulated time has no rate that it must reach.
        slow = rate_hz < 0.9 * asked_hz and not self.simulated_time
        sentence = f'{rate_hz:.1f} pictures a second of each camera'
        if slow:
            sentence += f', not {asked_hz:g}: this machine is too busy; lower camera_rate_hz or publish fewer cameras'
        message = DiagnosticArray(status=[DiagnosticStatus(
            level=DiagnosticStatus.WARN if slow else DiagnosticStatus.OK, name='sim: cameras',
            hardware_id=self.get_fully_qualified_name(), message=sentence,
            values=[KeyValue(key=key, value=str(value)) for key, value in (numbers | timing).items()])])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)
