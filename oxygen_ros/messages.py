"""ROS messages from the package's own types, and the stamp of a serialised one; no node, no clock."""
import array
import struct

from builtin_interfaces.msg import Duration, Time
import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from oxygen_ros.convert import commands
from oxygen_ros.convert.commands import CommandType
from oxygen_ros.msg import ActionChunk, LanguageToken

TYPES = {CommandType.FLOAT64_MULTI_ARRAY: Float64MultiArray, CommandType.JOINT_TRAJECTORY: JointTrajectory,
         CommandType.JOINT_TRAJECTORY_CHUNK: JointTrajectory, CommandType.JOINT_STATE: JointState}


def time_of(stamp_ns):
    """builtin_interfaces/Time of nanoseconds; negative times, which it cannot hold, become 0."""
    seconds, nanoseconds = divmod(max(0, int(stamp_ns)), 1_000_000_000)
    return Time(sec=seconds, nanosec=nanoseconds)


def duration_of(nanoseconds):
    seconds, rest = divmod(int(nanoseconds), 1_000_000_000)
    return Duration(sec=seconds, nanosec=rest)


def nanoseconds_of(stamp):
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def deserialise(data, kind):
    """
    A message of a type from its bytes; raises an exception, never worse, where they are none.

    The four bytes before a message (DDS-XTYPES 7.6.3.1.2) are checked here: ROS 2 sends plain CDR, and Fast CDR trusts
    the padding count in the options, so that a wrong one makes it read beyond the end of the message and ends the
    process. The padding itself may as well be left where it is.
    """
    if len(data) < 4:
        raise ValueError(f'{len(data)} bytes are no message')
    if data[0] != 0 or data[1] > 1:
        raise ValueError(f'the message has representation {data[:2].hex()}, plain CDR is 0000 or 0001')
    if data[2] or data[3]:
        data = bytes(data[:2]) + b'\0\0' + bytes(data[4:])
    return deserialize_message(data, kind)


def serialised_stamp_ns(data):
    """
    Stamp of a serialised message that starts with std_msgs/Header, without deserialising it (a picture takes 1 ms).

    CDR (DDS-XTYPES 7.4.3): 2 bytes representation, whose last bit says little-endian, 2 bytes options, then the fields.
    Raises ValueError when there are too few bytes.
    """
    if len(data) < 12:
        raise ValueError(f'a message of {len(data)} bytes has no header')
    seconds, nanoseconds = struct.unpack_from('<iI' if data[1] & 1 else '>iI', data, 4)
    return seconds * 1_000_000_000 + nanoseconds


def _trajectory(fields):
    message = JointTrajectory(joint_names=fields['joint_names'], points=[
        JointTrajectoryPoint(positions=point['positions'], velocities=point.get('velocities', []),
                             time_from_start=duration_of(point['time_from_start_ns'])) for point in fields['points']])
    message.header.stamp = time_of(fields['stamp_ns'])
    return message


def command(output, values, kind, now_ns):
    """Message for one CommandOutput of one set-point [J] of all joints."""
    values = values[output.columns]
    if output.command_type is CommandType.FLOAT64_MULTI_ARRAY:
        return Float64MultiArray(data=array.array('d', values.tobytes()))
    fields = commands.state_fields(output.joints, values, kind, now_ns)
    message = JointState(name=fields['name'], position=fields.get('position', []), velocity=fields.get('velocity', []))
    message.header.stamp = time_of(now_ns)
    return message


def trajectory(output, rows, period_s):
    """JointTrajectory for one CommandOutput of set-points [n, J] one period apart, the first one period from now."""
    times_s = period_s * np.arange(1, len(rows) + 1)
    return _trajectory(commands.trajectory_fields(output.joints, rows[:, output.columns], times_s))


def action_chunk(chunk):
    message = ActionChunk(
        frame_id=chunk.frame_id, instruction_id=chunk.instruction_id, kind=chunk.kind.value,
        joint_names=list(chunk.joint_names), dt=chunk.dt_s, horizon=chunk.horizon,
        data=array.array('d', chunk.data.ravel()))
    message.header.stamp = time_of(chunk.stamp_ns)
    return message


def action_trajectory(chunk):
    """
    The chunk as a JointTrajectory for viewers: row i at stamp + i * dt.

    Velocities go into `velocities`; deltas of a hand are no joint trajectory, so there is none for them: None.
    """
    name = {'joint_position': 'positions', 'joint_velocity': 'velocities'}.get(chunk.kind.value)
    if name is None:
        return None
    message = JointTrajectory(joint_names=list(chunk.joint_names), points=[
        JointTrajectoryPoint(**{name: array.array('d', row)}, time_from_start=duration_of(round(i * chunk.dt_s * 1e9)))
        for i, row in enumerate(chunk.data)])
    message.header.stamp = time_of(chunk.stamp_ns)
    return message


def language_token(event):
    message = LanguageToken(
        frame_id=event.frame_id, request_id=event.request_id, task=event.task, index=event.index,
        token_id=event.token_id, text=event.text, finished=event.finished, finish_reason=event.finish_reason.value)
    message.header.stamp = time_of(event.stamp_ns)
    return message
