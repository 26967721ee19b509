from dataclasses import replace

from hypothesis import given, strategies as st
import numpy as np
import pytest

from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.profile.profile import Profile, Statistics
from oxygen_ros.profile.robot import RobotTransform

JOINTS = tuple(f'j{i}' for i in range(14))
WIDE = Statistics(q01=[-1] * 14, q99=[1] * 14)
PLAIN = Profile(name='p', views=('base_0_rgb',), joints=JOINTS, action_kind=ActionKind.JOINT_POSITION, chunk_horizon=2,
                dt_s=0.02, state_statistics=WIDE, action_statistics=WIDE)
ALOHA = replace(PLAIN, robot='aloha', delta=(True,) * 6 + (False,) + (True,) * 6 + (False,))


def test_aloha_state_follows_the_formulas():
    state = np.linspace(-1, 1, 14)
    state[6], state[13] = 0.25, 1.0
    got = RobotTransform(ALOHA).state(state)
    expected = state * [1, -1, -1, 1, 1, 1, 1, 1, -1, -1, 1, 1, 1, 1]
    for at in (6, 13):
        linear = state[at] * (0.05800 - 0.01844) + 0.01844
        angle = np.arcsin(np.clip((0.022 ** 2 + linear ** 2 - 0.036 ** 2) / (2 * 0.022 * linear), -1, 1))
        expected[at] = (angle - 0.5476) / (1.6296 - 0.5476)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_aloha_actions_add_the_state_then_flip_then_open_the_gripper():
    transform = RobotTransform(ALOHA)
    model_state = transform.state(np.full(14, 0.3))
    model = np.full((2, 14), 0.1)
    got = transform.actions(model, model_state)
    assert got[0, 0] == pytest.approx(0.1 + 0.3) and got[1, 1] == pytest.approx(-(0.1 - 0.3))
    assert got[0, 6] == pytest.approx((0.1 + 0.5476 + 0.6213) / (1.4910 + 0.6213))


@given(st.lists(st.floats(-1, 1), min_size=14, max_size=14))
def test_training_actions_are_the_inverse(values):
    for profile in (PLAIN, ALOHA, replace(PLAIN, action_maps=(('j3', 57.3, 2.0),))):
        transform = RobotTransform(profile)
        robot = np.stack([values, values[::-1]])
        state = transform.state(np.abs(values))
        np.testing.assert_allclose(transform.actions(transform.training_actions(robot, state), state), robot,
                                   atol=1e-9)


def test_unit_maps_apply_to_state_and_actions():
    profile = replace(PLAIN, state_maps=(('j0', 180 / np.pi, 10.0),), action_maps=(('j0', 180 / np.pi, 10.0),))
    transform = RobotTransform(profile)
    state = np.zeros(14)
    state[0] = np.pi / 2
    assert transform.state(state)[0] == pytest.approx(100.0)
    assert transform.actions(np.full((1, 14), 100.0), state)[0, 0] == pytest.approx(np.pi / 2)


def test_binary_gripper_and_ranges():
    profile = replace(PLAIN, action_ranges=(('j0', -1.0, 1.0), ('j1', 0.0, 1.0)), binary=('j1',))
    actions = RobotTransform(profile).actions(np.array([[3.0, 0.6] + [0] * 12, [-3.0, 0.5] + [0] * 12]), np.zeros(14))
    assert actions[:, :2].tolist() == [[1.0, 1.0], [-1.0, 0.0]]


def test_the_delta_base_is_the_same_for_every_row():
    transform = RobotTransform(replace(PLAIN, delta=(True,) * 14))
    got = transform.actions(np.full((5, 14), 0.1), np.full(14, 2.0))
    np.testing.assert_allclose(got, 2.1)


def test_aloha_needs_its_fourteen_columns():
    short = Statistics(q01=[-1] * 7, q99=[1] * 7)
    profile = replace(PLAIN, joints=JOINTS[:7], actions=(), state_statistics=short, action_statistics=short,
                      robot='aloha')
    with pytest.raises(ValueError, match='has 14 columns, the profile has 7 joints'):
        RobotTransform(profile)
