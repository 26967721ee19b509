import numpy as np
import pytest

from oxygen_ros.sim.joints import GRIPPER_OPEN_M, JOINTS, LOWER, START, UPPER
from oxygen_ros.sim.scene import make_task, mujoco, Scene, Task


@pytest.fixture(scope='module')
def scene():
    return Scene()


def test_the_table_of_limits_is_that_of_the_model(scene):
    assert scene.joints == JOINTS and len(JOINTS) == 14
    np.testing.assert_array_equal(scene.lower, LOWER)
    np.testing.assert_array_equal(scene.upper, UPPER)


def test_the_arms_hold_their_start_pose(scene):
    scene.reset(0)
    scene.advance(500)
    assert np.abs(scene.positions() - START).max() < 0.02
    assert scene.data.time == pytest.approx(500 * scene.step_s)


def test_each_joint_follows_its_own_command(scene):
    """Moves one joint at a time; a swapped pair of rows would move another one."""
    for index, name in enumerate(JOINTS):
        scene.reset(0)
        before = scene.positions()
        target = START.copy()
        target[index] = GRIPPER_OPEN_M if name.endswith('gripper') else START[index] + 0.2
        scene.command(target)
        scene.advance(600)
        moved = scene.positions() - before
        wanted = target[index] - START[index]
        assert abs(moved[index] - wanted) < 0.15 * wanted, name
        assert np.abs(np.delete(moved, index)).max() < 0.05, name


def test_both_fingers_open_together(scene):
    scene.reset(0)
    target = START.copy()
    target[13] = GRIPPER_OPEN_M
    scene.command(target)
    scene.advance(600)
    right = scene.model.joint('vx300s_right/right_finger').qposadr[0]
    assert scene.data.qpos[right] == pytest.approx(-scene.positions()[13], abs=2e-3)


def test_a_seed_places_the_cube_and_the_run_repeats_bit_for_bit(scene):
    def run(seed):
        scene.reset(seed)
        states = []
        for tick in range(20):
            scene.command(START + 0.1 * np.sin(tick / 3))
            scene.advance(10)
            states.append(scene.snapshot())
        return np.array(states)

    first, other, again = run(1), run(2), run(1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0, -7:], other[0, -7:])


@pytest.mark.parametrize('speed', [1e6, 1e12, float('nan')])
def test_physics_that_diverges_is_an_error_and_a_reset_mends_it(scene, speed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log into the working folder
    scene.reset(0)
    scene.data.qvel[3] = speed
    with pytest.raises(RuntimeError, match='the physics diverged'):
        scene.advance(50)
    scene.reset(0)
    scene.advance(50)
    assert np.abs(scene.positions() - START).max() < 0.02


def test_a_task_may_change_the_scene():
    class TwoBalls(Task):
        def extend(self, spec):
            super().extend(spec)
            for name in ('ball_1', 'ball_2'):
                body = spec.worldbody.add_body(name=name, mass=0.05, inertia=[2e-4] * 3, explicitinertial=True)
                body.add_freejoint(name=name)
                body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0])
            spec.worldbody.add_camera(name='near', pos=[0.12, 0.5, 0.55], fovy=40)

        def place(self, model, data, random):
            for name in ('ball_1', 'ball_2'):
                address = model.joint(name).qposadr[0]
                data.qpos[address:address + 3] = (*random.uniform((0.0, 0.4), (0.2, 0.6)), 0.03)

    scene = Scene(TwoBalls(), seed=3)
    assert scene.model.nq == 16 + 14
    assert scene.positions() == pytest.approx(START, abs=0.01)
    assert scene.data.body('ball_1').xpos[2] > 0


def test_an_unknown_task_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="'folding' is unknown; known are: .*transfer_cube"):
        make_task('folding')
