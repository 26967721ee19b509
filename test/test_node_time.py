"""The node and the clock: simulated time that has not begun, that begins again, and a system clock that is set."""
import time

from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from oxygen_ros import node as node_module
from oxygen_ros.timeline import Timeline
from rig import joint_state, picture, Rig, START


class SimulatedRig(Rig):
    """The robot publishes /clock and stamps by it, 20 ms a turn."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.now_ns = 0
        self.clock = self.robot.create_publisher(Clock, '/clock', 10)

    def send_clock(self):
        self.now_ns += 20_000_000
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.now_ns, 10**9)
        self.clock.publish(message)

    def send_picture(self):
        self.camera.publish(picture(stamp_ns=self.now_ns))

    def send_joints(self):
        self.joints.publish(joint_state(START, stamp_ns=self.now_ns))


def simulated():
    rig = SimulatedRig()
    rig.node.set_parameters([Parameter('use_sim_time', value=True)])
    rig.start()
    return rig


def test_nothing_is_commanded_before_simulated_time_has_begun():
    rig = simulated()
    try:
        rig.sources += [rig.send_picture, rig.send_joints]
        rig.instruction.publish(String(data='go'))
        rig.turn(30)
        assert not rig.commands and rig.status.ticks == 0 and rig.status.state == 'waiting'
        assert '/clock' in rig.status.detail
        rig.sources.insert(0, rig.send_clock)
        rig.until_running()
    finally:
        rig.close()


def test_simulated_time_that_begins_again_starts_the_node_again_from_fresh_inputs():
    rig = simulated()
    try:
        rig.sources += [rig.send_clock, rig.send_picture, rig.send_joints]
        rig.instruction.publish(String(data='go'))
        rig.until_running()
        rig.until(lambda: rig.now_ns > 3 * 10**9, 'three seconds')
        rig.now_ns = 0
        rig.chunks.clear()
        rig.until_running()
        rig.until(lambda: rig.chunks and rig.chunks[-1].header.stamp.sec < 2, 'chunks of the new time')
        assert rig.status.state == 'running'
    finally:
        rig.close()


def test_simulated_time_that_stands_still_commands_nothing_new_and_goes_on():
    rig = simulated()
    try:
        rig.sources += [rig.send_clock, rig.send_picture, rig.send_joints]
        rig.instruction.publish(String(data='go'))
        rig.until_running()
        rig.sources.remove(rig.send_clock)
        rig.turn(5)
        ticks = rig.status.ticks
        rig.turn(20)
        assert rig.status.ticks <= ticks + 2
        rig.sources.insert(0, rig.send_clock)
        rig.until_running()
    finally:
        rig.close()


def test_a_system_clock_that_is_set_starts_the_node_again_from_fresh_inputs(monkeypatch):
    shift_ns = [0]

    def timeline(ros_ns, steady_ns, simulated=False):
        return Timeline(lambda: ros_ns() + shift_ns[0], steady_ns, simulated)
    monkeypatch.setattr(node_module, 'Timeline', timeline)
    rig = Rig()
    try:
        rig.start()
        rig.sources += [lambda: rig.camera.publish(picture(stamp_ns=time.time_ns() + shift_ns[0])),
                        lambda: rig.joints.publish(joint_state(START, stamp_ns=time.time_ns() + shift_ns[0]))]
        rig.instruction.publish(String(data='go'))
        rig.until_running()
        for shift_ns[0] in (-3600 * 10**9, 7200 * 10**9):
            rig.turn(10)
            rig.chunks.clear()
            rig.until_running()
            rig.until(lambda: rig.chunks, 'chunks')
            stamp_s = rig.chunks[-1].header.stamp.sec
            assert abs(stamp_s - time.time() - shift_ns[0] / 1e9) < 60
    finally:
        rig.close()
