"""After a fault the arm rests within the promised time, by the times at which its commands were published."""
from dataclasses import replace
import threading
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.messages import nanoseconds_of
from oxygen_ros.sim.joints import JOINTS, START
from rig import joint_state, picture, Rig

SLACK_S = 1.0  # for braking and a busy machine
AGE_S = 0.5  # image_max_age_s and joint_max_age_s


def swing(engine):
    """Make an engine move the left arm for as long as a chunk lasts, at up to 1 rad/s; gives the length of a chunk."""
    run_frame = engine.run_frame

    def moving(observation, requests, on_chunk, on_token):
        def moved(chunk):
            times_s = chunk.stamp_ns % 10**12 / 1e9 + np.arange(chunk.horizon) * chunk.dt_s
            data = chunk.data.copy()
            data[:, :6] += 0.2 * np.sin(5 * times_s)[:, None]
            on_chunk(replace(chunk, data=data))
        return run_frame(observation, requests, moved, on_token)
    engine.run_frame = moving
    return engine.horizon * engine.dt_s


class TimedRig(Rig):
    """Commands are JointStates, whose stamps say when each was published."""

    def __init__(self):
        super().__init__(output__all__type='joint_state', output__all__topic='timed_command')
        self.moved_ns = 0  # stamp of the newest command that differs from the one before
        self.robot.create_subscription(JointState, 'timed_command', self._on_command, 100)

    def _on_command(self, message):
        command = np.array(message.position)
        if self.commands and np.abs(command - self.commands[-1]).max() > 1e-6:
            self.moved_ns = nanoseconds_of(message.header.stamp)
        self.commands.append(command)


def replaced(rig, source, other=None):
    rig.sources.remove(source)
    rig.sources.extend([other] if other else [])


def frozen_picture(rig):
    message = picture()
    replaced(rig, rig.send_picture, lambda: rig.camera.publish(message))


def old_pictures(rig):
    replaced(rig, rig.send_picture, lambda: rig.camera.publish(picture(stamp_ns=time.time_ns() - 2 * 10**9)))


def frozen_joints(rig):
    message = joint_state()
    replaced(rig, rig.send_joints, lambda: rig.joints.publish(message))


def no_gripper(rig):
    replaced(rig, rig.send_joints, lambda: rig.joints.publish(joint_state(START[:13], JOINTS[:13])))


def joints_not_finite(rig):
    replaced(rig, rig.send_joints, lambda: rig.joints.publish(joint_state(START * np.nan)))


def instruct(text):
    return lambda rig: rig.instruction.publish(String(data=text))


# fault: (what begins it, what may still begin a frame after it [s], whether the chunk then runs out, state in the end)
FAULTS = {
    'camera silent': (lambda rig: replaced(rig, rig.send_picture), 0.0, True, 'waiting'),
    'camera frozen': (frozen_picture, 0.0, True, 'waiting'),
    'camera late': (old_pictures, 0.0, True, 'waiting'),
    'joints silent': (lambda rig: replaced(rig, rig.send_joints), AGE_S, True, 'waiting'),
    'joints frozen': (frozen_joints, AGE_S, True, 'waiting'),
    'joints not finite': (joints_not_finite, AGE_S, True, 'waiting'),
    'gripper silent': (no_gripper, AGE_S, True, 'waiting'),
    'engine crashes': (instruct('fake: crash'), 0.0, False, 'error'),
    'engine hangs': (instruct('fake: hang 20'), 0.0, True, 'waiting'),
    'chunk not finite': (instruct('fake: nan'), 0.0, True, 'waiting'),
    'chunk far away': (instruct('fake: jump'), 0.0, True, 'waiting'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_brings_a_moving_arm_to_rest_within_its_time(fault):
    begin, begins_frames_s, runs_out, state = FAULTS[fault]
    rig, release = TimedRig(), threading.Event()
    try:
        rig.start()
        chunk_s = swing(rig.node.parts.engine)
        rig.node.parts.engine._sleep = release.wait
        rig.sources += [rig.send_picture, rig.send_joints]
        rig.instruction.publish(String(data='go'))
        rig.until_running()
        rig.turn(30)
        begun_ns = time.time_ns()
        assert begun_ns - rig.moved_ns < 1e9, 'it does not move, so that rest says nothing'
        begin(rig)
        rig.until_state(state)
        rig.turn(10)
        rested_s = (rig.moved_ns - begun_ns) / 1e9
        assert rested_s <= begins_frames_s + runs_out * chunk_s + SLACK_S
    finally:
        release.set()
        rig.close()
