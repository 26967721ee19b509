import math

from hypothesis import given, strategies as st
import numpy as np
import pytest

from oxygen_ros.sim.command import CommandReader, MAX_POINTS
from oxygen_ros.sim.joints import JOINTS, LOWER, START, UPPER

finite = st.floats(-10, 10)


@pytest.fixture(scope='module')
def reader():
    return CommandReader(JOINTS, LOWER, UPPER)


def test_an_array_is_taken_in_the_order_of_the_joints(reader):
    values = np.linspace(-1, 1, 14)
    np.testing.assert_array_equal(reader.array(values.tolist()).at(5.0), values)


@pytest.mark.parametrize('count', [0, 1, 13, 15, 28])
def test_an_array_of_another_length_is_refused_with_both_numbers(reader, count):
    with pytest.raises(ValueError, match=f'has {count} values; this robot takes 14'):
        reader.array([0.0] * count)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('row', [0, 6, 13])
def test_a_value_that_is_no_number_names_its_joint_in_every_command(reader, bad, row):
    values = START.copy()
    values[row] = bad
    sentence = f'asks {JOINTS[row]} to go to {bad}; the last command is kept'
    with pytest.raises(ValueError, match=sentence):
        reader.array(values)
    with pytest.raises(ValueError, match=sentence):
        reader.joint_state(JOINTS, values, START)
    with pytest.raises(ValueError, match=sentence):
        reader.trajectory(JOINTS, [(START, 0.0), (values, 1.0)], START)


@given(st.permutations(range(14)), st.lists(finite, min_size=14, max_size=14), st.integers(1, 14))
def test_names_decide_whatever_their_order_and_the_rest_is_held(order, values, count):
    reader = CommandReader(JOINTS, LOWER, UPPER)
    rows = order[:count]
    expected = START.copy()
    expected[rows] = np.array(values)[rows]
    names, positions = [JOINTS[row] for row in rows], [values[row] for row in rows]
    np.testing.assert_array_equal(reader.joint_state(names, positions, START).at(0.0), expected)
    np.testing.assert_array_equal(reader.trajectory(names, [(positions, 0.0)], START).at(0.0), expected)


def test_wrong_names_are_refused(reader):
    with pytest.raises(ValueError, match="names joint 'left_knee', which this robot lacks; it has: left_waist"):
        reader.joint_state(['left_waist', 'left_knee'], [0.0, 0.0], START)
    with pytest.raises(ValueError, match='each joint it moves once; it names left_waist, left_waist'):
        reader.joint_state(['left_waist', 'left_waist'], [0.0, 0.0], START)
    with pytest.raises(ValueError, match='it names none'):
        reader.trajectory([], [([], 0.0)], START)
    with pytest.raises(ValueError, match='names 2 joints and gives 1 positions'):
        reader.joint_state(JOINTS[:2], [0.0], START)


def test_a_trajectory_goes_through_its_points_from_what_is_held(reader):
    motion = reader.trajectory(['right_waist'], [([1.0], 1.0), ([0.0], 3.0)], START)
    waist = JOINTS.index('right_waist')
    assert [motion.at(t)[waist] for t in (0.0, 0.5, 1.0, 2.0, 3.0, 9.0)] == [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    np.testing.assert_array_equal(np.delete(motion.at(0.5), waist), np.delete(START, waist))


def test_a_stamp_shifts_a_trajectory_and_one_that_is_over_is_refused(reader):
    waist = JOINTS.index('right_waist')
    points = [([1.0], 1.0), ([0.0], 3.0)]
    assert reader.trajectory(['right_waist'], points, START, -2.0).at(0.0)[waist] == 0.5
    assert reader.trajectory(['right_waist'], points, START, 1.0).at(1.0)[waist] == 0.5
    with pytest.raises(ValueError, match='ended 0.500 s ago by its stamp'):
        reader.trajectory(['right_waist'], points, START, -3.5)


@pytest.mark.parametrize('times', [(0.0, 0.0), (1.0, 0.5), (-0.1, 1.0), (math.nan, 1.0)])
def test_trajectory_times_must_rise(reader, times):
    with pytest.raises(ValueError, match='must rise from 0 or more'):
        reader.trajectory(JOINTS, [(START, t) for t in times], START)


@pytest.mark.parametrize('count', [0, MAX_POINTS + 1])
def test_the_number_of_trajectory_points_is_bounded(reader, count):
    with pytest.raises(ValueError, match=f'has {count} trajectory points'):
        reader.trajectory(JOINTS, [(START, float(t)) for t in range(count)], START)


@given(st.lists(finite, min_size=14, max_size=14))
def test_limits_clamp_and_the_sentence_names_the_joint_and_the_numbers(values):
    within, sentence = CommandReader(JOINTS, LOWER, UPPER).clamped(np.array(values))
    assert (within >= LOWER).all() and (within <= UPPER).all()
    outside = [j for j, v, low, high in zip(JOINTS, values, LOWER, UPPER) if v < low - 1e-9 or v > high + 1e-9]
    assert bool(sentence) == bool(outside)
    if outside:
        row = JOINTS.index(outside[0])
        assert sentence.startswith(f'{outside[0]} was commanded to {values[row]:.4f}')
        assert f'[{LOWER[row]:.4f}, {UPPER[row]:.4f}]' in sentence


def test_a_trajectory_outside_the_limits_is_clamped_at_every_point(reader):
    motion = reader.trajectory(['left_gripper'], [([0.05], 0.0), ([0.2], 1.0)], START)
    within, sentence = reader.clamped(motion.positions)
    assert within[:, JOINTS.index('left_gripper')].tolist() == [0.05, 0.057]
    assert 'left_gripper was commanded to 0.2000 m' in sentence
