import numpy as np
import pytest

from oxygen_ros.sim.blocks import Blocks
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.instructions import COLOURS, draw_goal, Goal, GOALS, KINDS, understand
from oxygen_ros.sim.judge import Judge, RIGHT, suits
from oxygen_ros.sim.kinematics import ArmKinematics, downward
from oxygen_ros.sim.scene import Scene
from oxygen_ros.sim.start import begin

TIMES_S = np.arange(10) * 0.1


@pytest.fixture(scope='module')
def scene():
    return Scene(Blocks(vary_light=False))


@pytest.fixture(scope='module')
def kinematics(scene):
    return ArmKinematics(scene.model)


def play(scene, kinematics, goal, seed, replan, said=None, wild=0.0, ticks=250):
    """Success, and the largest step of a set-point between two ticks, of the expert asked for `said`."""
    begin(scene, goal, seed, kinematics, wild)
    judge, expert = Judge(scene, goal), Expert(kinematics, TIMES_S)
    last, step = None, 0.0
    for tick in range(ticks):
        if tick % replan == 0:
            plan = expert.plan(scene.positions().copy(), scene.velocities()[RIGHT][6], judge.blocks(), said or goal)
        command = [np.interp(tick % replan * 0.02, TIMES_S, column) for column in plan.rows.T]
        if last is not None:
            step = max(step, np.abs(np.subtract(command, last)[:13]).max())
        last = command
        scene.command(command)
        scene.advance(10)
        judge.look()
        if judge.done():
            return True, step
    return False, step


@pytest.mark.parametrize('kind', KINDS)
def test_the_expert_does_every_kind_at_any_rate_of_new_plans(scene, kinematics, kind):
    for seed, replan in ((11, 45), (12, 10), (13, 5)):
        goal = Goal(kind, '' if kind == 'home' else COLOURS[seed % 3])
        done, step = play(scene, kinematics, goal, seed, replan, wild=0.35)
        assert done, (kind, seed, replan)
        # A jump of a joint, as a wrist that turns over makes, would ruin what is learned from it.
        assert step < 0.11


def test_another_colour_is_not_a_success(scene, kinematics):
    for kind in ('pick', 'touch'):
        assert not play(scene, kinematics, Goal(kind, 'red'), 21, 20, said=Goal(kind, 'blue'), ticks=120)[0]


def test_an_episode_is_a_function_of_its_seed(scene, kinematics):
    starts = []
    for seed in (31, 32, 31):
        begin(scene, Goal('pick', 'red'), seed, kinematics, wild=0.5)
        starts.append(scene.snapshot())
    assert (starts[0] == starts[2]).all() and (starts[0] != starts[1]).any()


def test_a_push_gets_room(scene, kinematics):
    goal = Goal('push_back', 'green')
    for seed in range(40, 60):
        begin(scene, goal, seed, kinematics)
        assert suits({c: block.position[:2] for c, block in Judge(scene, goal).blocks().items()}, goal)


def test_inverse_kinematics_meets_the_point(kinematics):
    point = np.array([0.12, 0.45, 0.05])
    joints, miss = kinematics.solve([0, -0.1, 0.5, 0, 1.1, 0], point, downward(np.pi / 2))
    assert miss < 1e-3 and np.linalg.norm(kinematics.forward(joints)[0] - point) < 1e-3


def test_every_phrase_is_understood_and_means_one_goal():
    phrases = [text for goal in GOALS for text in goal.phrases()]
    assert len(set(phrases)) == len(phrases)
    assert all(understand(text) == goal for goal in GOALS for text in goal.phrases())
    assert understand('Please, pick up the RED block!') == Goal('pick', 'red')
    assert understand('make me a coffee') is None


def test_goals_that_make_no_sense_are_refused():
    for kind, colour in (('fly', 'red'), ('pick', ''), ('pick', 'pink'), ('home', 'red')):
        with pytest.raises(ValueError):
            Goal(kind, colour)


def test_goals_are_drawn_by_weight():
    random = np.random.default_rng(0)
    weights = {kind: float(kind == 'touch') for kind in KINDS}
    assert {draw_goal(random, weights).kind for _ in range(20)} == {'touch'}
