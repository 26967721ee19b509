import numpy as np
import pytest

from oxygen_ros.rollout.episode import ClosedLoop, LoopConfig
from oxygen_ros.rollout.pilot import EnginePilot
from oxygen_ros.rollout.policy import driver, nano_engine, WEIGHTS
from oxygen_ros.rollout.scores import summary
from oxygen_ros.sim.instructions import Goal
from oxygen_ros.train.demonstrations import EVALUATION_SEED

pytestmark = pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')
SHORT = LoopConfig(longest_s=1.0, questions=1)
LATE = LoopConfig(longest_s=1.0, questions=1, delay_s=0.1)


@pytest.fixture(scope='module')
def play():
    """Run an episode in a mode; the loops live as long as the module."""
    loops = {}

    def run(mode, seed, goal, config=SHORT, instruction=None, draft_tokens=0):
        key = mode, config, draft_tokens
        if key not in loops:
            engine = nano_engine(mode=mode, slots=16, decode_rounds=4, draft_tokens=draft_tokens)
            loops[key] = ClosedLoop(EnginePilot(engine, config.tick_s), config)
        return loops[key].run(EVALUATION_SEED + seed, goal, instruction)

    yield run
    for loop in loops.values():
        loop.close()


@pytest.mark.parametrize('config', [SHORT, LATE], ids=['no delay', 'delay'])
def test_every_mode_moves_the_arm_alike(play, config):
    goal = Goal('pick', 'green')
    first = play('oxygen', 5, goal, config)
    assert first.chunks == 5 and len(first.commands) == 49 - round(config.delay_s / config.tick_s)
    for mode, draft_tokens in (('shared', 0), ('isolated', 0), ('oxygen', 8), ('isolated', 8)):
        other = play(mode, 5, goal, config, draft_tokens=draft_tokens)
        assert other.digest == first.digest and (other.commands == first.commands).all(), (mode, draft_tokens)
        assert other.answers == first.answers and len(other.answers) == 1, (mode, draft_tokens)


def test_an_episode_depends_on_its_seed_alone(play):
    one = play('oxygen', 6, Goal('touch', 'red'))
    play('oxygen', 7, Goal('push_back', 'blue'))
    again = play('oxygen', 6, Goal('touch', 'red'))
    assert one.digest == again.digest and one.answers == again.answers
    assert one.place_errors_mm == again.place_errors_mm


def test_a_delay_changes_the_motion_and_where_it_begins(play):
    one, late = play('oxygen', 6, Goal('touch', 'red')), play('oxygen', 6, Goal('touch', 'red'), LATE)
    assert one.digest != late.digest and late.command_count == one.command_count - 5
    assert late.commanded_s == pytest.approx(late.command_count * 0.02)


def test_the_instruction_decides_where_the_arm_goes(play):
    ends = [play('oxygen', 8, Goal('pick', 'red'), instruction=f'pick up the {colour} block').commands[-1]
            for colour in ('red', 'green', 'blue')]
    assert min(np.abs(ends[i] - ends[j])[7:13].max() for i, j in ((0, 1), (1, 2), (0, 2))) > 0.03


def test_the_picture_decides_where_the_arm_goes(play):
    ends = [play('oxygen', seed, Goal('pick', 'red')).commands[-1] for seed in (8, 9)]
    assert np.abs(ends[0] - ends[1])[7:13].max() > 0.03


def test_going_home_succeeds_and_the_figures_say_so(play):
    episode = play('oxygen', 10, Goal('home'), LoopConfig(longest_s=6.0, questions=0))
    figures = summary([episode], 0, 'oxygen')
    assert episode.success and figures['by_kind']['home']['success'] == 1.0
    assert 0 < figures['jerk_rms'] < 5000 and figures['command_rate_hz'] == pytest.approx(50)


def test_the_driver_gives_set_points_of_the_whole_chunk():
    drive = driver(nano_engine(slots=1))
    rows = drive(np.zeros((224, 224, 3), np.uint8), np.zeros(14), 'go home')
    assert rows.shape == (10, 14) and np.isfinite(rows).all()


def test_times_that_are_no_ticks_are_refused():
    with pytest.raises(ValueError, match='delay_s must be a multiple'):
        LoopConfig(delay_s=0.033)
