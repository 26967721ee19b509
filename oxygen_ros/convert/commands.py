"""
Joint commands as the fields of the messages that ros2_control's own controllers take.

forward_command_controller takes Float64MultiArray in the order of its `joints`; joint_trajectory_controller takes
JointTrajectory, where stamp 0 means now (a stamp that lies in the past is rejected).
"""
from dataclasses import dataclass
from enum import Enum

import numpy as np

from oxygen_ros.engine.chunk import ActionKind


class CommandType(str, Enum):
    """What is published as a command."""

    FLOAT64_MULTI_ARRAY = 'float64_multi_array'  # one set-point a tick
    JOINT_TRAJECTORY = 'joint_trajectory'        # a short horizon a tick
    JOINT_TRAJECTORY_CHUNK = 'joint_trajectory_chunk'  # the whole chunk, once
    JOINT_STATE = 'joint_state'                  # one named set-point a tick


LEGAL = {
    ActionKind.JOINT_POSITION: tuple(CommandType),
    ActionKind.JOINT_VELOCITY: (CommandType.FLOAT64_MULTI_ARRAY, CommandType.JOINT_STATE),
    ActionKind.EEF_DELTA: (CommandType.FLOAT64_MULTI_ARRAY,),
}


def check_kind(command_type, kind):
    """Raise ValueError where an action kind cannot be expressed in a command type."""
    legal = LEGAL[ActionKind(kind)]
    if CommandType(command_type) not in legal:
        raise ValueError(f'command_type {CommandType(command_type).value} cannot carry {ActionKind(kind).value} '
                         f'actions; use {" or ".join(item.value for item in legal)}')


@dataclass(frozen=True)
class CommandOutput:
    """
    One command topic: which joints go there, in which order.

    Several outputs serve two arms, or a gripper with a controller of its own. `columns` are places in the joint list of
    the policy.
    """

    topic: str
    command_type: CommandType
    joints: tuple[str, ...]
    columns: np.ndarray  # [n] int64


def outputs(joints, table):
    """
    Build the outputs from [(topic, command type, joints)]; an empty joint list means all.

    Raises ValueError where a joint is unknown, goes to two topics or to none: a joint that is left out would be
    planned for but never moved.
    """
    index = {name: i for i, name in enumerate(joints)}
    built, taken = [], {}
    for topic, command_type, names in table:
        names = tuple(names) or tuple(joints)
        for name in names:
            if name not in index:
                raise ValueError(f'command topic {topic}: no joint {name}; there are {", ".join(joints)}')
            if name in taken:
                raise ValueError(f'joint {name} goes to two command topics, {taken[name]} and {topic}')
            taken[name] = topic
        built.append(CommandOutput(topic, CommandType(command_type), names,
                                   np.array([index[name] for name in names])))
    left = [name for name in joints if name not in taken]
    if left:
        raise ValueError(f'no command topic for {", ".join(left)}')
    return tuple(built)


def check_controller(output, controller_joints, controller=''):
    """Raise ValueError where a controller's own `joints` parameter does not fit what will be sent to it."""
    where = f'controller {controller or output.topic}'
    if sorted(controller_joints) != sorted(output.joints):
        raise ValueError(f'{where} has joints {", ".join(controller_joints)}; {output.topic} sends '
                         f'{", ".join(output.joints)}')
    if output.command_type is CommandType.FLOAT64_MULTI_ARRAY and tuple(controller_joints) != output.joints:
        raise ValueError(f'{where} takes numbers in the order {", ".join(controller_joints)}; {output.topic} sends '
                         f'{", ".join(output.joints)}: put them in the same order')


def check_interface(output, kind, interfaces, controller=''):
    """
    Raise ValueError where numbers of an action kind would go to a controller that takes them for something else.

    `interfaces` are those it commands, as far as it tells. A controller of trajectories takes positions whatever it
    commands.
    """
    wanted = {ActionKind.JOINT_POSITION: 'position', ActionKind.JOINT_VELOCITY: 'velocity'}.get(ActionKind(kind))
    if wanted and interfaces and wanted not in interfaces and output.command_type in (
            CommandType.FLOAT64_MULTI_ARRAY, CommandType.JOINT_STATE):
        raise ValueError(f'controller {controller or output.topic} commands {", ".join(interfaces)}; {output.topic} '
                         f'sends {ActionKind(kind).value}')


def array_fields(command):
    """std_msgs/Float64MultiArray of one set-point [J]."""
    return {'data': command.tolist()}


def state_fields(names, command, kind, stamp_ns):
    """sensor_msgs/JointState of one set-point [J]: positions or velocities by kind."""
    field = 'velocity' if kind is ActionKind.JOINT_VELOCITY else 'position'
    return {'stamp_ns': stamp_ns, 'name': list(names), field: command.tolist()}


def trajectory_fields(names, positions, times_s, stamp_ns=0):
    """
    trajectory_msgs/JointTrajectory of positions [n, J] at `times_s` [n] after the stamp; stamp 0 means now.

    Velocities are the slopes between points, so that a controller passes through them without stopping; the last is
    zero, because joint_trajectory_controller refuses any other end unless told.
    """
    positions, times_s = np.atleast_2d(positions), np.asarray(times_s, float)
    if len(times_s) != len(positions) or (times_s < 0).any() or (np.diff(times_s) <= 0).any():
        raise ValueError(f'{len(positions)} points at {times_s.tolist()} s: times must be 0 or more and rise')
    velocities = np.zeros_like(positions)
    if len(positions) > 2:
        velocities[1:-1] = (positions[2:] - positions[:-2]) / (times_s[2:] - times_s[:-2])[:, None]
    if len(positions) > 1:
        velocities[0] = (positions[1] - positions[0]) / (times_s[1] - times_s[0])
    return {'stamp_ns': stamp_ns, 'joint_names': list(names), 'points': [
        {'positions': p.tolist(), 'velocities': v.tolist(), 'time_from_start_ns': round(t * 1e9)}
        for p, v, t in zip(positions, velocities, times_s)]}
