import numpy as np
from oxygen_ros.convert import commands
from oxygen_ros.convert.commands import check_controller, check_interface, check_kind, CommandType, outputs
from oxygen_ros.engine.chunk import ActionKind
import pytest

JOINTS = ('left_waist', 'left_gripper', 'right_waist', 'right_gripper')


@pytest.mark.parametrize('kind, legal', [
    ('joint_position', {'float64_multi_array', 'joint_trajectory', 'joint_trajectory_chunk', 'joint_state'}),
    ('joint_velocity', {'float64_multi_array', 'joint_state'}),
    ('eef_delta', {'float64_multi_array'}),
])
def test_an_action_kind_that_does_not_fit_the_interface_is_refused(kind, legal):
    for command_type in CommandType:
        if command_type.value in legal:
            check_kind(command_type.value, kind)
        else:
            with pytest.raises(ValueError, match=kind):
                check_kind(command_type.value, kind)


def test_arms_and_grippers_go_to_topics_of_their_own():
    left, right, grip = outputs(JOINTS, [
        ('left/commands', 'float64_multi_array', ['left_waist']),
        ('right/commands', 'float64_multi_array', ['right_waist']),
        ('gripper/commands', 'joint_state', ['right_gripper', 'left_gripper'])])
    command = np.array([0.1, 0.2, 0.3, 0.4])
    assert commands.array_fields(command[left.columns]) == {'data': [0.1]}
    assert commands.array_fields(command[right.columns]) == {'data': [0.3]}
    assert commands.state_fields(grip.joints, command[grip.columns], ActionKind.JOINT_POSITION, 7) == {
        'stamp_ns': 7, 'name': ['right_gripper', 'left_gripper'], 'position': [0.4, 0.2]}


@pytest.mark.parametrize('table, words', [
    ([('a', 'joint_state', ['left_waist', 'wrist'])], 'no joint wrist'),
    ([('a', 'joint_state', []), ('b', 'joint_state', ['left_waist'])], 'two command topics, a and b'),
    ([('a', 'joint_state', ['left_waist'])], 'no command topic for left_gripper'),
])
def test_every_joint_goes_to_one_topic(table, words):
    with pytest.raises(ValueError, match=words):
        outputs(JOINTS, table)


def test_velocities_travel_in_the_field_of_velocities():
    fields = commands.state_fields(['a'], np.array([0.5]), ActionKind.JOINT_VELOCITY, 0)
    assert fields == {'stamp_ns': 0, 'name': ['a'], 'velocity': [0.5]}


def test_a_trajectory_rises_in_time_moves_through_its_points_and_ends_at_rest():
    fields = commands.trajectory_fields(['a'], np.array([[0.0], [0.1], [0.2], [0.3]]), [0.02, 0.04, 0.06, 0.08])
    assert fields['stamp_ns'] == 0  # now: a stamp in the past would be rejected
    assert [point['time_from_start_ns'] for point in fields['points']] == [k * 20_000_000 for k in range(1, 5)]
    assert np.allclose([point['velocities'][0] for point in fields['points']], [5, 5, 5, 0])


@pytest.mark.parametrize('times', [[0.0, 0.0], [0.2, 0.1], [-0.1, 0.1], [0.1]])
def test_points_out_of_order_are_refused(times):
    with pytest.raises(ValueError, match='must be 0 or more and rise'):
        commands.trajectory_fields(['a'], np.zeros((2, 1)), times)


def test_a_controller_with_other_joints_or_another_order_is_refused():
    output, = outputs(('a', 'b'), [('commands', 'float64_multi_array', [])])
    check_controller(output, ['a', 'b'])
    with pytest.raises(ValueError, match='in the order b, a'):
        check_controller(output, ['b', 'a'])
    with pytest.raises(ValueError, match='has joints a, b, c'):
        check_controller(output, ['a', 'b', 'c'], 'arm')
    named, = outputs(('a', 'b'), [('commands', 'joint_trajectory', [])])
    check_controller(named, ['b', 'a'])


def test_positions_do_not_go_to_a_controller_of_velocities_nor_the_other_way():
    numbers, = outputs(('a', 'b'), [('commands', 'float64_multi_array', [])])
    for interfaces in ((), ('position',), ('velocity', 'position')):
        check_interface(numbers, 'joint_position', interfaces)
    with pytest.raises(ValueError, match='controller arm commands velocity; commands sends joint_position'):
        check_interface(numbers, 'joint_position', ('velocity',), 'arm')
    with pytest.raises(ValueError, match='commands position; commands sends joint_velocity'):
        check_interface(numbers, 'joint_velocity', ('position',))
    trajectory, = outputs(('a', 'b'), [('commands', 'joint_trajectory', [])])
    check_interface(trajectory, 'joint_position', ('velocity',))  # it closes the loop itself
