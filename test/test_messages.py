"""Messages from our own types, and back from the wire."""
import struct

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from oxygen_ros import messages
from oxygen_ros.convert import commands
from oxygen_ros.convert.commands import CommandType
from oxygen_ros.engine.chunk import ActionChunk, ActionKind
from oxygen_ros.engine.request import FinishReason, TokenEvent
from rig import picture

CHUNK = ActionChunk(7, 3_000_000_005, 2, ActionKind.JOINT_POSITION, ('a', 'b'), 0.05,
                    np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_a_chunk_keeps_every_number():
    message = messages.action_chunk(CHUNK)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 5)
    assert (message.frame_id, message.instruction_id, message.kind, message.dt, message.horizon) == (
        7, 2, 'joint_position', 0.05, 2)
    np.testing.assert_array_equal(np.reshape(message.data, (2, 2)), CHUNK.data)


def test_a_chunk_is_a_trajectory_by_kind():
    message = messages.action_trajectory(CHUNK)
    assert [list(point.positions) for point in message.points] == CHUNK.data.tolist()
    assert message.points[1].time_from_start.nanosec == 50_000_000
    speeds = ActionChunk(0, 0, 1, ActionKind.JOINT_VELOCITY, ('a',), 0.1, np.ones((2, 1)))
    assert list(messages.action_trajectory(speeds).points[0].velocities) == [1.0]
    deltas = ActionChunk(0, 0, 1, ActionKind.EEF_DELTA, ('x',), 0.1, np.ones((2, 1)))
    assert messages.action_trajectory(deltas) is None


def test_a_token_keeps_its_text_and_its_end():
    event = TokenEvent(4, 2, 10**9, 'subtask', 3, -1, 'ü', FinishReason.CANCELLED)
    message = messages.language_token(event)
    assert (message.request_id, message.index, message.token_id) == (4, 3, -1)
    assert message.text == 'ü' and message.finished
    assert message.finish_reason == 'cancelled' and message.header.stamp.sec == 1


@pytest.mark.parametrize('kind', [CommandType.FLOAT64_MULTI_ARRAY, CommandType.JOINT_STATE])
def test_a_command_carries_the_joints_of_its_output_in_their_order(kind):
    output, = commands.outputs(('a', 'b'), [('t', kind, ('b', 'a'))])
    message = messages.command(output, np.array([1.0, 2.0]), ActionKind.JOINT_POSITION, 5 * 10**9)
    values = message.data if kind is CommandType.FLOAT64_MULTI_ARRAY else message.position
    assert list(values) == [2.0, 1.0]


def test_a_trajectory_begins_one_period_from_now_and_is_not_stamped():
    output, = commands.outputs(('a', 'b'), [('t', CommandType.JOINT_TRAJECTORY, ('b', 'a'))])
    message = messages.trajectory(output, np.array([[1.0, 2.0], [1.1, 2.1]]), 0.02)
    assert message.joint_names == ['b', 'a'] and list(message.points[1].positions) == [2.1, 1.1]
    assert [point.time_from_start.nanosec for point in message.points] == [20_000_000, 40_000_000]
    assert message.header.stamp.sec == message.header.stamp.nanosec == 0


def test_the_stamp_is_read_from_the_wire_without_the_rest():
    data = serialize_message(picture(stamp_ns=123_000_000_456))
    assert messages.serialised_stamp_ns(data) == 123_000_000_456
    big = b'\x00\x00\x00\x00' + struct.pack('>iI', 123, 456) + b'rest'
    assert messages.serialised_stamp_ns(big) == 123_000_000_456
    with pytest.raises(ValueError, match='3 bytes'):
        messages.serialised_stamp_ns(b'\x00\x01\x00')
