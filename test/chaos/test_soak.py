"""A short soak: every part of it runs, and what it counts is what it did."""
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')


def test_frames_streams_and_cycles_leave_no_memory_behind(tmp_path):
    file = tmp_path / 'figures.json'
    environment = dict(os.environ, ROS_DOMAIN_ID=os.environ.get('ROS_DOMAIN_ID', '97'))
    done = subprocess.run(
        [sys.executable, '-m', 'oxygen_ros', 'chaos', '--soak', '4000', '--cycles', '20', '--fake-engine', '--json',
         str(file)], env=environment, capture_output=True, text=True, timeout=300)
    assert file.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    figures = json.loads(file.read_text())
    assert figures['cycles'] == 20 and figures['frames'] >= 4000 and not figures['interrupted']
    assert figures['texts'] > 500 and figures['tokens'] > figures['texts']
    assert len(figures['timing']['memory_mb']) == 20
    assert done.returncode == 0 and figures['timing']['grown_mb'] < 20  # a picture kept of each frame would be 2800
