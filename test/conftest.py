"""Makes test/checkpoints.py importable from every test folder; what all tests share of the process."""
import os
import sys

import pytest

os.environ.setdefault('MUJOCO_GL', 'egl')  # MuJoCo draws without a screen, whichever test imports it first


@pytest.fixture(scope='module', autouse=True)
def ros_ends_with_the_module():
    """Every test file begins without a ROS context, whatever the one before left open."""
    yield
    if 'rclpy' in sys.modules:
        sys.modules['rclpy'].try_shutdown()
