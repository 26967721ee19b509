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
    assert figures['messages'] == 3000 * len(figures['inputs'])
    # Every kind of message that the node listens to, and each picture both good and bad.
    assert sorted(figures['inputs'].values()) == [
        'Bool', 'CompressedImage', 'Empty', 'Image', 'JointState', 'String', 'String']
    for transport in ('raw', 'compressed'):
        assert figures['images_decoded'][transport] > 100 and figures['images_refused'][transport] > 1000
    assert figures['messages_refused'] > 1000
    timing = figures['timing']
    assert timing['grown_mb'] < 20  # a leak of 4 kB a message would be 50
    assert timing['memory_mb_peak'] < timing['memory_mb'][0] + 300  # the largest picture that is allowed has 100 MB
