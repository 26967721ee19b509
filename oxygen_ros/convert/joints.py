"""
Joint states by name, merged from messages that may each carry only some joints, in any order.

A gripper driver often publishes on the same topic as the arm, and the order of names may change from one message to the
next, so nothing is cached by position.
"""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.convert.source_clock import SourceClock

MAX_NAMES = 4096


@dataclass(frozen=True)
class JointUnits:
    """Affine map per joint from the robot's units to the policy's: `policy = scale * robot + offset`, both [J]."""

    scale: np.ndarray
    offset: np.ndarray

    def __post_init__(self):
        if self.scale.shape != self.offset.shape or self.scale.ndim != 1:
            raise ValueError(f'units need a scale and an offset a joint, got {self.scale.shape}, {self.offset.shape}')
        if not (np.isfinite(self.scale).all() and np.isfinite(self.offset).all() and (self.scale != 0).all()):
            raise ValueError(f'unit scales must be finite and not zero: {self.scale.tolist()}, {self.offset.tolist()}')

    @classmethod
    def from_table(cls, joints, table):
        """Build from {joint: {'scale': s, 'offset': o}}; joints that are absent keep their units."""
        unknown = sorted(set(table) - set(joints))
        if unknown:
            raise ValueError(f'units for {", ".join(unknown)}: no such joint, there are {", ".join(joints)}')
        rows = [table.get(joint, {}) for joint in joints]
        return cls(np.array([float(row.get('scale', 1.0)) for row in rows]),
                   np.array([float(row.get('offset', 0.0)) for row in rows]))

    def to_policy(self, positions):
        """Positions in the policy's units."""
        return self.scale * positions + self.offset

    def to_robot(self, positions):
        """Positions in the robot's units."""
        return (positions - self.offset) / self.scale

    def speed_to_robot(self, velocities):
        """Velocities in the robot's units: the offset does not move."""
        return velocities / self.scale


class JointMerger:
    """
    Newest finite position of each joint, with its time; `joints` is the order of the policy.

    Each joint has a clock of its own, because an arm and its gripper may have drivers on different machines, and one of
    them may stop or repeat itself while the other goes on.
    """

    def __init__(self, joints, units=None, stamp_source='header'):
        if not joints or len(set(joints)) != len(joints):
            raise ValueError(f'joints must be named, each once: {list(joints)}')
        self.joints = tuple(joints)
        self.units = units
        self.clocks = {name: SourceClock(stamp_source) for name in self.joints}
        self._index = {name: i for i, name in enumerate(self.joints)}
        self.clear()

    def clear(self):
        """Forget everything seen, as after a jump of the clock."""
        self._seen = np.zeros(len(self.joints), bool)
        self._positions = np.full(len(self.joints), np.nan)
        self._time_ns = np.zeros(len(self.joints), np.int64)
        for clock in self.clocks.values():
            clock.clear()

    def merge(self, names, positions, received_ns, stamp_ns=0):
        """
        Take one message; gives how many of the policy's joints it carried.

        A joint whose stamp is the one before, or older, keeps its position and its age: the driver says nothing new.
        Raises ValueError with one sentence, and takes nothing, where a joint of the policy has no finite position,
        where names repeat, or where names and positions differ in number. Other joints may hold anything.
        """
        if len(names) > MAX_NAMES:
            raise ValueError(f'joint state with {len(names)} names: at most {MAX_NAMES}')
        if len(positions) != len(names):
            raise ValueError(f'joint state with {len(names)} names but {len(positions)} positions')
        rows, found, values, bad = set(), [], [], []
        for place, name in enumerate(names):
            row = self._index.get(name)
            if row is None:
                continue
            if row in rows:
                raise ValueError(f'joint state names {name} twice')
            rows.add(row)
            found.append(row)
            values.append(float(positions[place]))
            if not np.isfinite(values[-1]):
                bad.append(f'{name}={positions[place]}')
        if bad:
            raise ValueError(f'joint state is not finite: {", ".join(bad)}')
        for row, value in zip(found, values):
            time_ns = self.clocks[self.joints[row]].date(stamp_ns, received_ns)
            if time_ns is not None:
                self._positions[row], self._time_ns[row], self._seen[row] = value, time_ns, True
        return len(found)

    def merge_message(self, message, received_ns):
        """Take a sensor_msgs/JointState; velocity and effort may be empty, they are not used."""
        stamp = message.header.stamp
        return self.merge(message.name, message.position, received_ns, stamp.sec * 1_000_000_000 + stamp.nanosec)

    def missing(self):
        """Names of the joints not seen yet."""
        return [name for name, seen in zip(self.joints, self._seen) if not seen]

    @property
    def complete(self):
        return bool(self._seen.all())

    def positions(self):
        """Positions in the policy's order and units, float64 [J]; ValueError names the joints not seen yet."""
        if not self._seen.all():
            raise ValueError(f'no state yet of {", ".join(self.missing())}')
        return self.units.to_policy(self._positions) if self.units is not None else self._positions.copy()

    def ages_ns(self, now_ns):
        """Age of each joint's position, int64 [J]; a joint never heard has the age of the whole clock."""
        return now_ns - self._time_ns

    def time_ns(self):
        """Time of the joint whose position is oldest."""
        return int(self._time_ns.min())

    def late(self, now_ns, limit_s):
        """{joint: age in s} of the joints whose position is older than the limit, seen ones only."""
        ages = self.ages_ns(now_ns) / 1e9
        return {name: float(age) for name, age, seen in zip(self.joints, ages, self._seen) if seen and age > limit_s}
