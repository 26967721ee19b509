"""Two robots, two namespaces, two processes: what happens to one does not reach the other."""
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger

from oxygen_ros.share import config_folder
from oxygen_ros.sim.joints import START
from rig import Rig

ALOHA = str(config_folder() / 'aloha.yaml')
TIMEOUT_S = 60.0  # processes that import everything, on a busy machine
SWING = 0.1  # rad


class Robot(Rig):
    """
    The robot of a Rig whose node is a process of its own.

    It swings one joint, and the fake engine commands the joints to be where they are, so commands swing too.
    """

    def __init__(self, positions, swinging):
        super().__init__()
        self.executor.remove_node(self.node)
        self.node.destroy_node()
        self.stands, self.swinging = positions, swinging
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', 'node', '--params-file', ALOHA, '--namespace', self.namespace,
             '--ros-args', '-p', 'engine.fake:=true', '-p', 'realtime_priority:=0'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.executor.shutdown()
        self.robot.destroy_node()

    def send_joints(self):
        self.positions = self.stands.copy()
        self.positions[self.swinging] += SWING * np.sin(3 * time.monotonic())
        super().send_joints()

    def check_commands(self, since=0):
        """Every command is for this robot: the one joint swings as far as it does, the others are where they are."""
        away = np.abs(np.array(self.commands[since:]) - self.stands)
        assert away[:, self.swinging].max() < 2 * SWING  # a limited motion swings a little farther
        assert np.delete(away, self.swinging, axis=1).max() < 1e-6


@pytest.fixture
def robots():
    elsewhere = START.copy()
    elsewhere[8] += 0.2
    robots = []
    try:
        for positions, swinging in ((START, 0), (elsewhere, 7)):
            robots.append(Robot(positions, swinging))
        first, second = robots
        second.executor.remove_node(second.robot)
        first.executor.add_node(second.robot)  # turned together
        yield robots
    finally:
        for robot in robots:
            robot.close()


def test_one_robot_is_stopped_and_the_other_goes_on(robots):
    first, second = robots

    def until(condition, what):
        first.until(condition, what, TIMEOUT_S)
    until(lambda: first.status.state == second.status.state == 'waiting', 'both nodes are up')
    until(lambda: all(publisher.get_subscription_count() for robot in robots for publisher in (
        robot.camera, robot.joints, robot.instruction)), 'both nodes listen')
    first.sources += [first.send_picture, first.send_joints, second.send_picture, second.send_joints]
    first.instruction.publish(String(data='put the red block on the left'))
    second.instruction.publish(String(data='open the drawer'))
    second.instruction.publish(String(data='close the drawer'))
    until(lambda: min(len(robot.commands) for robot in robots) > 120, 'two seconds of commands for both')
    assert [robot.status.instruction_id for robot in robots] == [1, 2]
    for robot in robots:
        robot.check_commands()
        assert np.ptp(np.array(robot.commands)[:, robot.swinging]) > SWING

    client, answers = first.robot.create_client(Trigger, 'oxygen/stop'), []
    until(client.service_is_ready, 'the service')
    client.call_async(Trigger.Request()).add_done_callback(lambda future: answers.append(future.result().success))
    until(lambda: answers == [True] and first.status.state == 'stopped', 'the first is stopped')
    silent = first.status.ticks_silent
    until(lambda: first.status.ticks_silent > silent + 30, 'the first has held and fallen silent')
    assert not np.any(np.diff(first.commands[-5:], axis=0))  # it came to rest, though its joint is said to swing
    first.check_commands()

    stopped, going, told = len(first.commands), len(second.commands), len(second.statuses)
    frames = second.status.frames
    until(lambda: len(second.commands) > going + 120 and second.status.frames > frames + 10, 'the second goes on')
    second.check_commands()
    assert np.ptp(np.array(second.commands[going:])[:, 7]) > SWING
    for status in second.statuses[told:]:  # it may say that this machine lets it not tick, but not that it was stopped
        assert status.state != 'stopped' and (status.state != 'error' or 'has not ticked' in status.detail)
    assert len(first.commands) == stopped and first.status.state == 'stopped'
