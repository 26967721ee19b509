"""The memory of an evaluation does not grow with the bag."""
from pathlib import Path
import subprocess
import sys

import pytest
from robot_bag import RobotBag

# Not getrusage: what it calls a process's peak includes that of the process it was forked from.
CODE = ('import sys; from oxygen_ros.__main__ import main; '
        'status = main(["evaluate", sys.argv[1], "--set", "engine.fake:=true", "--report", sys.argv[2]]); '
        'peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")); '
        'print("peak", status, int(peak.split()[1]) / 1024)')

pytestmark = pytest.mark.skipif(not Path('/proc/self/status').exists(), reason='memory is read from /proc')


def peak_mib(path, out):
    done = subprocess.run([sys.executable, '-c', CODE, str(path), str(out)], capture_output=True, text=True,
                          timeout=300)
    _, status, peak = done.stdout.splitlines()[-1].split()
    assert status == '0', done.stderr
    return float(peak)


def test_a_bag_of_a_hundred_megabytes_takes_no_more_memory_than_one_of_ten(tmp_path):
    peaks = []
    for seconds in (3, 36):
        robot = RobotBag(seconds=seconds)
        robot.size = (320, 320)
        path = robot.write(tmp_path / f'{seconds}')
        size_mib = sum(file.stat().st_size for file in path.iterdir()) / 2**20
        peaks.append(peak_mib(path, tmp_path / 'report'))
    assert size_mib > 100 and peaks[1] - peaks[0] < 25, peaks
