"""The node as a process of its own: exit status, signals, command line."""
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from std_msgs.msg import String

from oxygen_ros.share import config_folder
from rig import Rig, velocity_profile

ALOHA = str(config_folder() / 'aloha.yaml')


def run(*arguments, timeout=60):
    return subprocess.run([sys.executable, '-m', 'oxygen_ros', 'node', *arguments], capture_output=True, text=True,
                          timeout=timeout)


def test_a_node_that_cannot_start_says_why_in_one_line():
    done = run('--params-file', ALOHA, '--ros-args', '-p', 'profile:=no_such_robot')
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith('oxygen_ros node: ') and 'no_such_robot' in last and 'Traceback' not in done.stderr


def test_a_parameter_file_that_is_no_yaml_is_one_sentence(tmp_path):
    file = tmp_path / 'bad.yaml'
    file.write_text('a: [b\n c: }')
    done = run('--params-file', str(file))
    assert done.returncode == 2 and 'bad.yaml' in done.stderr and 'Traceback' not in done.stderr


@pytest.mark.parametrize('arguments, words', [
    (('--params-file', '/nowhere.yaml'), 'nowhere.yaml'), (('--log-level', 'loudly'), 'loudly')])
def test_a_wrong_command_line_is_told_and_status_2(arguments, words):
    done = run(*arguments)
    assert done.returncode == 2 and words in done.stderr and 'Traceback' not in done.stderr


def positions_at_rest(commands, period_s=1 / 60):
    """The end of a motion: braked and not cut off."""
    steps = np.diff(np.array(commands), axis=0)[:, 0]
    assert np.abs(steps[-30:]).max() > 0.3 * period_s  # it was moving
    tail = steps[np.flatnonzero(steps)[-1] - 2:]  # the last three steps that moved, and the rest
    assert np.abs(np.diff(tail)).max() <= 20 * period_s**2 * 1.01 + 1e-9 and tail[-1] == 0


def velocities_at_rest(commands):
    assert np.abs(np.array(commands)[-30:]).max() > 0.3 and not commands[-1].any()


@pytest.mark.parametrize('number, velocities', [
    (signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, False),
    (signal.SIGHUP, True)])
def test_a_signal_brakes_holds_and_ends_with_status_0_and_no_traceback(number, velocities, tmp_path):
    rig = Rig()
    child = None
    profile = ['-p', f'profile:={velocity_profile(tmp_path)}'] if velocities else []
    try:
        rig.executor.remove_node(rig.node)
        rig.node.destroy_node()  # the node under test is the child instead
        child = subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', 'node', '--params-file', ALOHA, '--namespace', rig.namespace,
             '--ros-args', '-p', 'engine.fake:=true', *profile], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # tests may run under nohup
        rig.until(lambda: rig.status.state == 'waiting', 'the node is up', 30)
        rig.sources += [rig.send_picture, rig.send_joints]
        rig.until(lambda: rig.instruction.get_subscription_count(), 'the node listens')
        rig.instruction.publish(String(data='fake: swing'))
        rig.until_running()
        rig.until(lambda: len(rig.commands) > 60 and abs(
            rig.commands[-1][0] if velocities else (rig.commands[-1][0] - rig.commands[-2][0]) * 60) > rig.FAST,
            'moving')
        child.send_signal(number)
        rig.until(lambda: child.poll() is not None, 'the end')
        rig.turn()
        assert child.returncode == 0
        output = child.stdout.read()
        assert 'Traceback' not in output and 'running' in output
        velocities_at_rest(rig.commands) if velocities else positions_at_rest(rig.commands)
        assert rig.statuses[-1].state == 'unconfigured'
    finally:
        if child is not None and child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        rig.executor.remove_node(rig.robot)
        rig.robot.destroy_node()
        rig.executor.shutdown()
