"""The node and the clock: simulated time that has not begun, that begins again, and a system clock that is set."""
import time

import numpy as np
import pytest
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from std_msgs.msg import Bool, Empty, String

from oxygen_ros import node as node_module
from oxygen_ros.timeline import Timeline
from rig import joint_state, picture, Rig, SimulatedRig, START


class SetRig(Rig):
    """A system clock that can be set by `shift_ns`; the robot stamps by it."""

    def __init__(self, monkeypatch, **parameters):
        self.shift_ns = 0

        def timeline(ros_ns, steady_ns, simulated=False):
            return Timeline(lambda: ros_ns() + self.shift_ns, steady_ns, simulated)
        monkeypatch.setattr(node_module, 'Timeline', timeline)
        super().__init__(**parameters)

    def send_picture(self):
        self.camera.publish(picture(stamp_ns=time.time_ns() + self.shift_ns))

    def send_joints(self):
        self.joints.publish(joint_state(START, stamp_ns=time.time_ns() + self.shift_ns))

    def step(self, seconds):
        self.shift_ns += round(seconds * 1e9)


class SimulatedSetRig(SimulatedRig):
    def step(self, seconds):
        self.now_ns += round(seconds * 1e9)


@pytest.fixture(params=['wall', 'simulated'])
def set_rig(request, monkeypatch):
    """A rig whose clock can be set, and is at an hour."""
    rigs = []

    def make(**parameters):
        rigs.append(SetRig(monkeypatch, **parameters) if request.param == 'wall' else SimulatedSetRig(**parameters))
        if request.param == 'simulated':
            rigs[0].now_ns = 3600 * 10**9
        return rigs[0]
    yield make
    for rig in rigs:
        rig.close()


def test_nothing_is_commanded_before_simulated_time_has_begun():
    rig = SimulatedRig()
    rig.sources.clear()
    try:
        rig.start()
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
    rig = SimulatedRig()
    try:
        rig.run()
        rig.until(lambda: rig.now_ns > 3 * 10**9, 'three seconds')
        rig.now_ns = 0
        rig.chunks.clear()
        rig.until_running()
        rig.until(lambda: rig.chunks and rig.chunks[-1].header.stamp.sec < 2 and rig.status.state == 'running',
                  'running on chunks of the new time')
    finally:
        rig.close()


def test_simulated_time_that_stands_still_commands_nothing_new_and_goes_on():
    rig = SimulatedRig()
    try:
        rig.run()
        rig.sources.remove(rig.send_clock)
        rig.turn(5)
        loop = rig.node.parts.loop  # the status is older than this by up to a second
        ticks = loop.ticks
        rig.turn(20)
        assert loop.ticks <= ticks + 2
        rig.sources.insert(0, rig.send_clock)
        rig.until_running()
    finally:
        rig.close()


def test_a_clock_that_steps_all_the_time_is_counted_and_logged_once(monkeypatch):
    rig = Rig()
    try:
        log = []
        rig.robot.create_subscription(Log, '/rosout', log.append, 1000)
        rig.start()
        rig.until(lambda: [m for m in log if rig.namespace[1:] in m.name and m.msg.startswith('waiting')], 'a log')
        monkeypatch.setattr(rig.node.parts.timeline, 'stepped', lambda: -3.2)  # two publishers of /clock
        rig.until(lambda: rig.node.parts.clock_steps >= 5, 'steps')
        monkeypatch.undo()
        rig.turn()
        told = [m.msg for m in log if rig.namespace[1:] in m.name and 'the clock stepped by -3.200 s' in m.msg]
        assert len(told) == 1
        rig.sources += [rig.send_picture, rig.send_joints]
        rig.instruction.publish(String(data='go'))
        rig.until_running()
    finally:
        rig.close()


def test_a_system_clock_that_is_set_starts_the_node_again_from_fresh_inputs(monkeypatch):
    rig = SetRig(monkeypatch)
    try:
        rig.run()
        for seconds in (-3600, 7200):
            rig.step(seconds)
            rig.turn(10)
            rig.chunks.clear()
            rig.until_running()
            rig.until(lambda: rig.chunks, 'chunks')
            stamp_s = rig.chunks[-1].header.stamp.sec
            assert abs(stamp_s - time.time() - rig.shift_ns / 1e9) < 60
    finally:
        rig.close()


@pytest.mark.parametrize('how', ['emergency stop', 'stop', 'heartbeat'])
def test_a_clock_that_is_set_does_not_end_a_stop(set_rig, how):
    rig = set_rig()
    said = rig.run_swinging()
    rig.stop_by(how)
    rig.until(lambda: not rig.node.parts.loop.controller.moving, 'rest')
    said.clear()
    rig.chunks.clear()
    for seconds in (-1000, 60, -0.3, 2000):
        rig.step(seconds)
        rig.turn(40)
        assert rig.status.state == 'stopped' and rig.node.parts.loop.controller.state == 'stopped'
    assert not [source for _, source, _ in said if source == 'fresh']
    assert not np.any(np.diff([command for _, _, command in said], axis=0)) and not rig.chunks
    assert not rig.call('reset').success
    rig.emergency.publish(Bool(data=True))  # a second stop is never swallowed
    rig.until(lambda: 'emergency stop' in rig.status.detail, 'the second reason')
    assert not rig.call('resume').success
    rig.emergency.publish(Bool(data=False))
    rig.node.set_parameters([Parameter('heartbeat_timeout_s', value=0.0)])
    rig.until(lambda: rig.call('resume').success, 'resumed')
    rig.until(lambda: rig.moving(said), 'moving again')
    rig.emergency.publish(Bool(data=True))
    rig.until_state('stopped')


def test_a_clock_that_is_set_neither_ends_a_heartbeat_nor_hides_that_it_has_ended(set_rig):
    rig = set_rig(heartbeat_timeout_s=2.0)
    heart = rig.robot.create_publisher(Empty, 'heartbeat', 1)
    rig.sources.append(lambda: heart.publish(Empty()))
    beat = rig.sources[-1]
    rig.run()
    for seconds in (-1000, 2000):
        rig.step(seconds)
        rig.turn(20)
        rig.until_running()
    rig.sources.remove(beat)
    rig.step(-1000)
    rig.until_state('stopped')
    assert 'no heartbeat for 2 s' in rig.status.detail


def test_an_instruction_that_is_no_longer_repeated_times_out_whatever_the_clock_does(set_rig):
    rig = set_rig(instruction_timeout_s=1.0)
    rig.start()
    rig.sources += [rig.send_picture, rig.send_joints]
    rig.instruction.publish(String(data='go'))
    rig.until_running()
    rig.step(-1000)
    rig.until(lambda: 'not repeated for 1 s' in rig.status.detail, 'the instruction timed out')
    rig.until_state('waiting')
