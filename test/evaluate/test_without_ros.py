"""Bags are evaluated and reported on machines without ROS."""
import subprocess
import sys


def test_nothing_of_ros_is_imported_by_the_evaluation_and_the_report():
    code = ('import sys; import oxygen_ros.evaluate.evaluate, oxygen_ros.report.build, oxygen_ros.report.from_bag, '
            'oxygen_ros.bag.write; '
            'print(*[name for name in sys.modules if name.split(".")[0] == "rclpy" or name.endswith("_msgs")])')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.split() == [], done.stderr
