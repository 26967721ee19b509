"""What does not count as done, near the edge of what does."""
import pytest

from oxygen_ros.sim.blocks import Blocks
from oxygen_ros.sim.instructions import COLOURS, Goal
from oxygen_ros.sim.joints import GRIPPER_CLOSED_M, GRIPPER_OPEN_M, START
from oxygen_ros.sim.judge import Judge, RIGHT
from oxygen_ros.sim.kinematics import ArmKinematics
from oxygen_ros.sim.scene import mujoco, Scene

FAR = {'red': (0.04, 0.40), 'green': (0.12, 0.50), 'blue': (0.20, 0.60)}


@pytest.fixture(scope='module')
def scene():
    return Scene(Blocks(vary_light=False))


@pytest.fixture
def put(scene):
    """Put a block at x, y, z."""
    def at(colour, x, y, z=0.02):
        address = scene.model.joint(f'{colour}_joint').qposadr[0]
        scene.data.qpos[address:address + 7] = (x, y, z, 1, 0, 0, 0)
        mujoco.mj_forward(scene.model, scene.data)
    scene.place_arms(START)
    for colour, place in FAR.items():
        at(colour, *place)
    return at


@pytest.mark.parametrize('along, across, up, done', [
    (0.06, 0.0, 0.0, True), (0.04, 0.0, 0.0, False),   # far enough
    (-0.06, 0.0, 0.0, False),                          # to the other side
    (0.06, 0.07, 0.0, False), (0.06, -0.07, 0.0, False),  # more to the left or right than there
    (0.06, 0.0, 0.03, False), (0.06, 0.0, -0.3, False)])  # carried, or fallen off the table
@pytest.mark.parametrize('kind, sign', [('push_front', -1), ('push_back', 1)])
def test_a_push_is_to_its_own_side_along_the_table(scene, put, kind, sign, along, across, up, done):
    judge = Judge(scene, Goal(kind, 'green'))
    x, y = FAR['green']
    put('green', x + sign * along, y + across, 0.02 + up)
    assert judge.done() == done
    assert not any(judge.done(Goal(kind, colour)) for colour in ('red', 'blue'))


@pytest.mark.parametrize('up, done', [(0.06, True), (0.04, False)])
def test_a_pick_is_lifted_all_the_way(scene, put, up, done):
    judge = Judge(scene, Goal('pick', 'red'))
    put('red', *FAR['red'], 0.02 + up)
    assert judge.done() == done and not judge.done(Goal('pick', 'blue'))


def at_the_fingers(scene):
    """A place that the right fingers reach into."""
    return ArmKinematics(scene.model).forward(scene.positions()[RIGHT][:6])[0]


@pytest.mark.parametrize('moved, others, done', [
    (0.0, (), True), (0.015, (), True),
    (0.025, (), False),          # disturbed
    (0.0, ('blue',), False)])    # another one too
def test_a_touch_disturbs_nothing_and_touches_nothing_else(scene, put, moved, others, done):
    judge = Judge(scene, Goal('touch', 'red'))
    judge.look()
    assert not judge.touched and not judge.done()
    fingers = at_the_fingers(scene)
    for colour in ('red', *others):
        put(colour, *fingers)
        judge.look()
        put(colour, *FAR[colour])
    put('red', FAR['red'][0] + moved, FAR['red'][1])
    judge.look()
    assert judge.touched == {'red', *others} and judge.done() == done
    assert not any(judge.done(Goal('touch', colour)) for colour in COLOURS if colour != 'red')


@pytest.mark.parametrize('joint', [*range(6), *range(7, 13)])
def test_almost_home_is_not_home(scene, put, joint):
    judge = Judge(scene, Goal('home'))
    assert judge.done()
    for off, done in ((0.04, True), (0.06, False), (-0.06, False)):
        pose = START.copy()
        pose[joint] += off
        scene.data.qpos[scene._position] = pose
        assert judge.done() == done, off


def test_home_does_not_ask_whether_the_gripper_that_works_is_open(scene, put):
    judge = Judge(scene, Goal('home'))
    for width in (GRIPPER_CLOSED_M, GRIPPER_OPEN_M, GRIPPER_OPEN_M + 0.1):
        pose = START.copy()
        pose[13] = width
        scene.data.qpos[scene._position] = pose
        assert judge.done()
