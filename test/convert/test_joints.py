from types import SimpleNamespace

from hypothesis import given, strategies as st
import numpy as np
from oxygen_ros.convert.joints import JointMerger, JointUnits
import pytest

JOINTS = ('waist', 'shoulder', 'gripper')


def message(names, positions, stamp=(5, 7), velocity=()):
    header = SimpleNamespace(stamp=SimpleNamespace(sec=stamp[0], nanosec=stamp[1]))
    return SimpleNamespace(header=header, name=names, position=positions, velocity=velocity, effort=[])


def test_names_decide_on_every_message():
    merger = JointMerger(JOINTS)
    merger.merge(['gripper', 'shoulder', 'waist'], [3.0, 2.0, 1.0], 10)
    assert merger.positions().tolist() == [1, 2, 3]
    merger.merge(['waist', 'gripper', 'shoulder'], [10.0, 30.0, 20.0], 11)
    assert merger.positions().tolist() == [10, 20, 30]


def test_a_partial_message_leaves_the_others_and_their_ages():
    merger = JointMerger(JOINTS)
    merger.merge(['waist', 'shoulder'], [1.0, 2.0], 1_000)
    assert merger.missing() == ['gripper'] and not merger.complete
    with pytest.raises(ValueError, match='gripper'):
        merger.positions()
    merger.merge(['gripper'], [3.0], 5_000)
    assert merger.positions().tolist() == [1, 2, 3] and merger.complete
    assert merger.ages_ns(6_000).tolist() == [5_000, 5_000, 1_000]
    assert merger.late(2_000_001_000, 1.5) == {'waist': 2.0, 'shoulder': 2.0, 'gripper': pytest.approx(1.999996)}
    assert merger.late(1_600_002_000, 1.6) == {'waist': pytest.approx(1.600001), 'shoulder': pytest.approx(1.600001)}


@pytest.mark.parametrize('bad', [float('nan'), float('inf'), float('-inf')])
def test_a_number_that_is_not_finite_refuses_the_whole_message(bad):
    merger = JointMerger(JOINTS)
    merger.merge(JOINTS, [1.0, 2.0, 3.0], 1)
    with pytest.raises(ValueError, match='shoulder'):
        merger.merge(JOINTS, [5.0, bad, 6.0], 2)
    assert merger.positions().tolist() == [1, 2, 3] and merger.time_ns() == 1


def test_joints_of_others_may_hold_anything():
    merger = JointMerger(JOINTS)
    assert merger.merge(['wheel', *JOINTS], [float('nan'), 1.0, 2.0, 3.0], 1) == 3
    assert merger.merge(['wheel'], [0.0], 2) == 0


@pytest.mark.parametrize('names, positions, words', [
    (['waist', 'shoulder'], [1.0], '2 names but 1 positions'),
    (['waist', 'waist'], [1.0, 1.0], 'waist twice'),
    (['waist'] * 5000, [1.0] * 5000, 'at most'),
])
def test_broken_messages_are_refused_with_the_numbers(names, positions, words):
    merger = JointMerger(JOINTS)
    with pytest.raises(ValueError, match=words):
        merger.merge(names, positions, 1)
    assert merger.missing() == list(JOINTS)


def test_velocity_and_effort_may_be_missing():
    merger = JointMerger(JOINTS)
    merger.merge_message(message(JOINTS, [1.0, 2.0, 3.0]), 6_000_000_000)
    assert merger.complete and merger.time_ns() == 5_000_000_007


def test_an_unchanged_stamp_is_silence_of_the_joints_that_carry_it_alone():
    merger = JointMerger(JOINTS)
    merger.merge(JOINTS, [1.0, 2.0, 3.0], 6_000, 5_000)
    assert merger.merge(['gripper'], [9.0], 8_000, 5_000) == 1 and merger.clocks['gripper'].repeated == 1
    assert merger.merge(['waist', 'shoulder'], [4.0, 5.0], 8_000, 7_000) == 2
    assert merger.merge(JOINTS, [6.0, 6.0, 6.0], 9_000, 7_000) == 3  # news of the gripper only
    assert merger.positions().tolist() == [4, 5, 6] and merger.clocks['gripper'].repeated == 1
    assert merger.ages_ns(10_000).tolist() == [3_000, 3_000, 3_000]


def test_clear_forgets():
    merger = JointMerger(JOINTS)
    merger.merge(JOINTS, [1.0, 2.0, 3.0], 1)
    merger.clear()
    assert merger.missing() == list(JOINTS)


@pytest.mark.parametrize('joints', [[], ['waist', 'waist']])
def test_the_joints_must_be_named_once(joints):
    with pytest.raises(ValueError, match='each once'):
        JointMerger(joints)


def test_units_go_in_and_come_back():
    units = JointUnits.from_table(JOINTS, {'waist': {'scale': np.pi / 180}, 'gripper': {'scale': -0.01, 'offset': 1.0}})
    merger = JointMerger(JOINTS, units)
    merger.merge(JOINTS, [90.0, 0.5, 100.0], 1)
    assert np.allclose(merger.positions(), [np.pi / 2, 0.5, 0.0])
    assert np.allclose(units.to_robot(merger.positions()), [90.0, 0.5, 100.0])
    assert np.allclose(units.speed_to_robot(np.array([np.pi, 1.0, 0.01])), [180.0, 1.0, -1.0])


@pytest.mark.parametrize('table, words', [({'wrist': {}}, 'no such joint'), ({'waist': {'scale': 0}}, 'not zero')])
def test_units_that_make_no_sense_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        JointUnits.from_table(JOINTS, table)


@given(st.lists(st.dictionaries(st.sampled_from([*JOINTS, 'other']), st.floats(-3, 3), max_size=4), max_size=12))
def test_the_newest_value_of_each_joint_wins_whatever_the_messages(messages):
    merger, newest, heard = JointMerger(JOINTS), {}, {}
    for time, values in enumerate(messages, 1):
        merger.merge(list(values), list(values.values()), time)
        newest.update(values)
        heard.update(dict.fromkeys(values, time))
    assert merger.missing() == [joint for joint in JOINTS if joint not in newest]
    if merger.complete:
        assert merger.positions().tolist() == [newest[joint] for joint in JOINTS]
        assert merger.ages_ns(100).tolist() == [100 - heard[joint] for joint in JOINTS]
