"""Ctrl-C ends a chaos run in a sentence, with the figures so far and without leaving a process behind."""
import json
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('mujoco')


def children_of(pid):
    """Pids of the living children, by /proc."""
    found = []
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rpartition(')')[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def start(tmp_path, *arguments):
    # Without a domain given the run takes a free one, so that it meets no other robot of this machine.
    environment = {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'}
    return subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros', 'chaos', '--json', str(tmp_path / 'figures.json'), *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


@pytest.mark.skipif(not Path('/proc/self/stat').exists(), reason='children are counted by /proc')
def test_ctrl_c_ends_a_run_with_the_figures_so_far_and_no_child(tmp_path):
    chaos = start(tmp_path, '--minutes', '5', '--seed', '2', '--directory', str(tmp_path / 'run'))
    try:
        lines = []
        for line in chaos.stdout:
            lines.append(line)
            if 'running again' in line:
                break
        children = children_of(chaos.pid)
        assert len(children) >= 3, lines
        chaos.send_signal(signal.SIGINT)
        rest, errors = chaos.communicate(timeout=90)
    finally:
        chaos.kill()
    assert 'interrupted after' in rest and 'Traceback' not in rest + errors, rest + errors
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['interrupted'] and figures['faults_injected'] >= 1 and figures['unsafe_commands'] == 0
    assert figures['minutes'] < 5
    assert not [pid for pid in children if Path('/proc', str(pid)).exists()]


def test_ctrl_c_ends_broken_messages_with_the_figures_so_far(tmp_path):
    chaos = start(tmp_path, '--messages', '100000000')
    assert chaos.stdout.readline() == 'chaos: 100000000 messages to each input\n'
    chaos.send_signal(signal.SIGINT)
    _, errors = chaos.communicate(timeout=60)
    assert 'Traceback' not in errors and chaos.returncode == 0, errors
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert figures['interrupted'] and figures['crashes'] == 0
