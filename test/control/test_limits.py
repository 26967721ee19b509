import numpy as np
from oxygen_ros.control.limits import check_statistics, JointLimits, urdf_limits
import pytest

URDF = """<?xml version="1.0"?><robot name="r"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<joint name="waist" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
 <limit lower="-3.1" upper="3.1" velocity="1.5" effort="1"/></joint>
<joint name="wheel" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="finger" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
 <limit lower="0.021" upper="0.057" velocity="1" effort="1"/></joint></robot>"""
RANGE = {'lower': -1, 'upper': 1}


def test_a_urdf_gives_range_and_speed_and_defaults_the_rest():
    limits = JointLimits.from_urdf(('waist', 'finger', 'wheel'), URDF)
    assert limits.lower.tolist() == [-3.1, 0.021, -np.inf] and limits.upper.tolist() == [3.1, 0.057, np.inf]
    assert limits.velocity.tolist() == [1.5, 1.0, 1.0]
    assert limits.acceleration.tolist() == [5.0] * 3 and limits.jump.tolist() == [0.5] * 3


def test_the_narrower_of_table_and_urdf_wins():
    limits = JointLimits.from_urdf(('waist',), URDF, {'waist': {'lower': -5, 'upper': 1, 'velocity': 9}})
    assert (limits.lower[0], limits.upper[0], limits.velocity[0]) == (-3.1, 1.0, 1.5)
    limits = JointLimits.from_urdf(('waist',), URDF, {'default': {'velocity': 0.5, 'acceleration': 2}})
    assert (limits.velocity[0], limits.acceleration[0]) == (0.5, 2.0)


@pytest.mark.parametrize('table, words', [
    ({}, 'no position range'),
    ({'waist': {'lower': 1, 'upper': 1}}, 'must be below'),
    ({'waist': {**RANGE, 'velocity': 0}}, 'velocity must be positive'),
    ({'waist': {**RANGE, 'acceleration': float('inf')}}, 'acceleration must be positive and finite'),
    ({'waist': {**RANGE, 'jump': float('nan')}}, 'jump of waist is NaN'),
    ({'waist': {**RANGE, 'speed': 3}}, 'unknown speed'),
    ({'wrist': RANGE}, 'no such joint'),
])
def test_limits_that_make_no_sense_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        JointLimits.from_table(('waist',), table)


@pytest.mark.parametrize('text, words', [
    ('', 'not a URDF'), ('<robot', 'not a URDF'), ('<html/>', 'not a URDF|no joint'), ('{"a": 1}', 'not a URDF'),
    ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>', 'entities'),
    (URDF.replace('"waist"', '"hip"'), 'no joint waist; it has finger, hip, wheel'),
    (URDF.replace('3.1"', 'wide"'), 'not a URDF|range'),
])
def test_a_description_that_is_no_use_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        JointLimits.from_urdf(('waist',), text)


def test_the_position_bands():
    limits = JointLimits.from_table(('waist',), {'waist': {**RANGE, 'position_reject': 0.2, 'velocity': 100}})
    assert limits.judge_positions(np.array([[0.9], [1.0]]), 0.1) == ''
    assert limits.judge_positions(np.array([[0.9], [1.19]]), 0.1) == ''  # clamped later
    assert '1.21' in limits.judge_positions(np.array([[0.9], [1.21]]), 0.1)
    assert '-1.3' in limits.judge_positions(np.array([[0.9], [-1.3]]), 0.1)


def test_the_speed_bands():
    limits = JointLimits.from_table(('waist',), {'waist': {**RANGE, 'velocity': 1}}, velocity_reject=2.0)
    assert limits.judge_positions(np.array([[0.0], [0.19]]), 0.1) == ''
    assert 'moves at 2.1' in limits.judge_positions(np.array([[0.0], [0.21]]), 0.1)
    assert limits.judge_velocities(np.array([[1.9], [-1.9]]), 0.1) == ''
    assert 'moves at 2.1' in limits.judge_velocities(np.array([[0.0], [-2.1]]), 0.1)


def test_the_acceleration_bands():
    limits = JointLimits.from_table(('waist',), {'waist': {**RANGE, 'velocity': 10, 'acceleration': 5}})
    assert limits.judge_positions(np.array([[0.0]]), 0.02) == ''
    trembling = np.array([[0.0], [0.009], [0.0], [0.009]])  # 45 / s^2: smoothed later
    assert limits.judge_positions(trembling, 0.02) == ''
    assert 'waist changes its speed by 110 in a second, 100 is the most' in limits.judge_positions(
        np.array([[0.0], [0.022], [0.0]]), 0.02)
    assert limits.judge_velocities(np.array([[0.0], [1.9]]), 0.02) == ''
    assert 'changes its speed by 105' in limits.judge_velocities(np.array([[0.0], [-2.1]]), 0.02)


def test_units_that_differ_by_a_factor_of_ten_are_noticed():
    limits = JointLimits.from_table(('waist',), {'waist': RANGE})
    check_statistics(limits, np.array([-1.5]), np.array([1.5]))
    with pytest.raises(ValueError, match='are the units the same'):
        check_statistics(limits, np.array([-57.0]), np.array([57.0]))


def test_slowed_limits_keep_the_range():
    limits = JointLimits.from_table(('waist',), {'waist': RANGE}).slowed(0.2)
    assert (limits.velocity[0], limits.acceleration[0], limits.upper[0]) == (0.2, 1.0, 1.0)
    with pytest.raises(ValueError, match='factor of 0..1'):
        limits.slowed(2)


def test_a_slowed_arm_takes_the_chunks_of_a_policy_that_is_as_fast_as_ever():
    limits = JointLimits.from_table(('waist',), {'waist': RANGE})  # 1 / s and 5 / s^2
    for one in (limits, limits.slowed(0.1)):
        assert one.judge_positions(np.array([[0.0], [0.15], [0.3]]), 0.1) == ''
        assert 'moves at 5' in one.judge_positions(np.array([[0.0], [0.5]]), 0.1)
        assert 'changes its speed by 150' in one.judge_velocities(np.array([[0.0], [3.0]]), 0.02)


def test_limits_are_read_without_loading_meshes():
    text = URDF.replace('<link name="a"/>', '<link name="a"><visual><geometry><mesh filename="package://no/such.stl"/>'
                                            '</geometry></visual></link>')
    assert urdf_limits(text, ['waist'])['waist'] == {'lower': -3.1, 'upper': 3.1, 'velocity': 1.5}
