"""Two minutes of random faults in the running demo: no unsafe command, and it recovers from each."""
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('mujoco')


def test_two_minutes_of_random_faults_lead_to_no_unsafe_command(tmp_path):
    file = tmp_path / 'figures.json'
    # Without a domain given the run takes a free one, so that it meets no other robot of this machine.
    environment = {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'}
    done = subprocess.run(
        [sys.executable, '-m', 'oxygen_ros', 'chaos', '--minutes', '2', '--seed', '4', '--json', str(file),
         '--directory', str(tmp_path / 'run')], env=environment, capture_output=True, text=True, timeout=600)
    assert file.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    figures = json.loads(file.read_text())
    assert figures['unsafe_commands'] == 0, figures['unsafe_examples']
    assert figures['unrecovered'] == 0, done.stdout[-4000:]
    assert figures['faults_injected'] >= 10 and sum(figures['by_kind'].values()) == figures['faults_injected']
    assert figures['commanding_share'] > 0
