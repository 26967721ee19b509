"""Checks the three kinds of joint command and turns each into a motion, set-points over time."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.sim.joints import unit

COMMAND_TYPES = ('float64_multi_array', 'joint_trajectory', 'joint_state')
MAX_POINTS = 1000  # of one trajectory


@dataclass(frozen=True)
class Motion:
    """Set-points `positions` [N, J] at `times_s` [N] after the command came in: linear between them, the last held."""

    times_s: np.ndarray
    positions: np.ndarray

    def at(self, age_s):
        """Set-points [J] at `age_s` seconds after the command came in."""
        row = int(np.searchsorted(self.times_s, age_s, side='right'))
        if row == 0:
            return self.positions[0]
        if row == len(self.times_s):
            return self.positions[-1]
        before, after = self.times_s[row - 1], self.times_s[row]
        weight = (age_s - before) / (after - before)
        return (1 - weight) * self.positions[row - 1] + weight * self.positions[row]


class CommandReader:
    """Reads commands for named joints within [lower, upper]; ValueError says in a sentence what is wrong with one."""

    def __init__(self, joints, lower, upper):
        self.joints = tuple(joints)
        self._row = {joint: row for row, joint in enumerate(self.joints)}
        self._lower, self._upper = lower, upper

    def array(self, data):
        """std_msgs/Float64MultiArray: one value a joint, in the order of `joints`."""
        values = np.asarray(data, dtype=float)
        if values.shape != (len(self.joints),):
            raise ValueError(f'joint_command has {values.size} values; this robot takes {len(self.joints)}, in the '
                             f'order {self.joints[0]} .. {self.joints[-1]}')
        self._finite(self.joints, values)
        return Motion(np.zeros(1), values[None].copy())

    def joint_state(self, names, positions, held):
        """sensor_msgs/JointState: positions by name; joints that are not named keep `held` [J]."""
        rows = self._rows(names)
        return Motion(np.zeros(1), self._filled(names, rows, positions, held)[None])

    def trajectory(self, names, points, held, start_s=0.0):
        """
        trajectory_msgs/JointTrajectory: `points` are pairs of positions and seconds from the start, rising.

        The start is `start_s` from now, negative if it has passed. The motion goes from `held` [J] to the first point
        that lies ahead; joints that are not named keep `held`.
        """
        rows = self._rows(names)
        if not 1 <= len(points) <= MAX_POINTS:
            raise ValueError(f'joint_command has {len(points)} trajectory points; 1 to {MAX_POINTS} are taken')
        times = np.array([time_s for _, time_s in points], dtype=float)
        if times[0] < 0 or not (np.diff(times) > 0).all():
            raise ValueError('the time_from_start of joint_command\'s points must rise from 0 or more; they are '
                             f'{", ".join(f"{t:g}" for t in times[:8])}{" .." if len(times) > 8 else ""} s')
        positions = np.array([self._filled(names, rows, each, held) for each, _ in points])
        times += start_s
        if times[-1] < 0:
            raise ValueError(f'joint_command is a trajectory that ended {-times[-1]:.3f} s ago by its stamp; send it '
                             'in time, or stamp it 0 to start it at once')
        if times[0] > 0:
            times, positions = np.concatenate([[0.0], times]), np.concatenate([[held], positions])
        return Motion(times, positions)

    def clamped(self, positions):
        """Positions [.., J] within the limits, and a sentence on the first that was outside or ''."""
        within = np.clip(positions, self._lower, self._upper)
        outside = np.abs(within - positions) > 1e-9  # rounding of a limit is no excess
        if not outside.any():
            return within, ''
        first = np.unravel_index(np.argmax(outside), outside.shape)
        row = first[-1]
        joint = self.joints[row]
        return within, (f'{joint} was commanded to {positions[first]:.4f} {unit(joint)}, outside its limits '
                        f'[{self._lower[row]:.4f}, {self._upper[row]:.4f}]; it stops at the limit')

    def _rows(self, names):
        unknown = [name for name in names if name not in self._row]
        if unknown:
            raise ValueError(f"joint_command names joint '{unknown[0]}', which this robot lacks; it has: "
                             f"{', '.join(self.joints)}")
        if not names or len(set(names)) != len(names):
            raise ValueError('joint_command must name each joint it moves once; it names '
                             + (', '.join(names) or 'none'))
        return [self._row[name] for name in names]

    def _filled(self, names, rows, positions, held):
        values = np.asarray(positions, dtype=float)
        if values.shape != (len(rows),):
            raise ValueError(f'joint_command names {len(rows)} joints and gives {values.size} positions')
        self._finite(names, values)
        filled = np.array(held, dtype=float)
        filled[rows] = values
        return filled

    @staticmethod
    def _finite(names, values):
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f'joint_command asks {names[row]} to go to {values[row]}; the last command is kept')
