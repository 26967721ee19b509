"""The node over real topics in simulated time, beside the same engine and controller in one process."""
import pytest

from oxygen_ros.rollout.episode import ClosedLoop, LoopConfig
from oxygen_ros.rollout.pilot import EnginePilot
from oxygen_ros.rollout.policy import nano_engine, WEIGHTS
from oxygen_ros.sim.instructions import Goal
from oxygen_ros.train.demonstrations import EVALUATION_SEED

pytest.importorskip('rclpy')
pytestmark = pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')
CONFIG = LoopConfig(longest_s=1.2, questions=2, delay_s=0.06)
SCENES = [(EVALUATION_SEED + 3, Goal('pick', 'green')), (EVALUATION_SEED + 4, Goal('touch', 'blue'))]


def over_topics(config, mode='oxygen', **parameters):
    from oxygen_ros.rollout.lockstep import LockstepPilot
    return ClosedLoop(LockstepPilot(mode, str(WEIGHTS), config.tick_s, **parameters), config)


def test_over_topics_an_episode_is_that_of_one_process():
    engine = nano_engine(slots=16, decode_rounds=4)
    loop = ClosedLoop(EnginePilot(engine, CONFIG.tick_s), CONFIG)
    expected = [loop.run(*scene) for scene in SCENES]
    loop.close()
    loop = over_topics(CONFIG)
    try:
        # The other order, and one again: nothing of an episode is left in the next.
        second, first, again = (loop.run(*SCENES[i]) for i in (1, 0, 1))
    finally:
        loop.close()
    assert loop.pilot.returncode == 0  # a clean end after Ctrl-C
    for episode, alone in ((first, expected[0]), (second, expected[1]), (again, expected[1])):
        assert episode.command_count > 40 and (episode.commands == alone.commands).all()
        assert len(episode.answers) == 2 and episode.answers == alone.answers
        assert episode.place_errors_mm == alone.place_errors_mm and episode.chunks == alone.chunks >= 5


def test_a_node_that_refuses_every_chunk_commands_nothing_and_time_goes_on():
    config = LoopConfig(longest_s=0.06, questions=0)
    loop = over_topics(config, **{'limits.default.jump': 0.0001})
    try:
        episode = loop.run(*SCENES[0])
    finally:
        loop.close()
    assert not episode.success and episode.command_count == 0 and episode.chunks == 1


def test_a_node_that_cannot_be_configured_is_said():
    loop = over_topics(CONFIG, **{'engine.denoise_steps': 0})
    try:
        with pytest.raises(RuntimeError, match='did not want to be configured'):
            loop.run(*SCENES[0])
    finally:
        loop.close()


def test_a_node_that_ends_is_said():
    loop = over_topics(CONFIG)
    try:
        loop.pilot._process._process.kill()
        with pytest.raises(RuntimeError, match='the node ended with -9'):
            loop.run(*SCENES[0])
    finally:
        loop.close()
