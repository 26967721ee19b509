"""Broken messages on every input: no exception gets out, memory does not grow, and the engine lives."""
import os
import subprocess
import sys

import json
import pytest

pytest.importorskip('rclpy')


def test_thousands_of_broken_messages_end_nothing(tmp_path):
    file = tmp_path / 'figures.json'
    environment = dict(os.environ, ROS_DOMAIN_ID=os.environ.get('ROS_DOMAIN_ID', '97'))
    done = subprocess.run(
        [sys.executable, '-m', 'oxygen_ros', 'chaos', '--messages', '3000', '--seed', '3', '--json', str(file)],
        env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    figures = json.loads(file.read_text())
    assert figures['crashes'] == 0 and figures['engine_failure'] == ''
    assert figures['messages'] == 3000 * len(figures['inputs']) >= 18000
    assert figures['images_decoded'] > 100 and figures['images_refused'] > 1000 < figures['messages_refused']
    assert figures['timing']['grown_mb'] < 20  # a leak of 4 kB a message would be 50
