import pytest

from oxygen_ros.rollout.policy import WEIGHTS
from oxygen_ros.sim.instructions import Goal
from oxygen_ros.train.demonstrations import EVALUATION_SEED

pytest.importorskip('rclpy')
pytestmark = pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')


def test_the_arm_goes_home_over_ros_topics():
    from oxygen_ros.rollout.wall_time import WallTimeLoop
    loop = WallTimeLoop('oxygen', str(WEIGHTS), questions=1, longest_s=10.0)
    try:
        episode = loop.run(EVALUATION_SEED, Goal('home'))
    finally:
        loop.close()
    assert episode.success and episode.chunks > 0 and episode.commands.shape[1] == 14
    assert loop.returncode == 0  # a clean end after Ctrl-C
