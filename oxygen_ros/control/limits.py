"""
Limits of each joint, from a table and from a URDF, and the bands a chunk is judged by.

Inside its limits a chunk passes. A little outside, the command is clamped (limiter.py). Far outside, the chunk is
rejected as a whole, because a number that wrong says that the policy, its units or its statistics are wrong.
"""
from dataclasses import dataclass, replace
import io

import numpy as np

MAX_URDF_BYTES = 1 << 24
# What is taken where neither the table nor the URDF says: slow for any arm that people stand next to.
DEFAULTS = {'velocity': 1.0, 'acceleration': 5.0, 'jump': 0.5}


@dataclass(frozen=True)
class JointLimits:
    """
    Limits of J joints, float64 [J] each: rad, rad/s, rad/s^2; m, m/s, m/s^2 for a sliding joint.

    `jump` is the largest distance from the present command to a chunk, at its nearest row until now. `position_reject`
    is how far outside the position range a chunk may reach and still be clamped; `velocity_reject` and
    `acceleration_reject` are factors on `velocity` and `acceleration` for the speed between rows of a chunk and its
    change from row to row. The latter is large: rows that tremble a little are smoothed, a policy does not mean them.
    """

    joints: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jump: np.ndarray
    position_reject: np.ndarray
    velocity_reject: float = 4.0
    acceleration_reject: float = 20.0

    def __post_init__(self):
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'jump', 'position_reject'):
            values = np.array(getattr(self, name), float)
            if values.shape != (len(self.joints),):
                raise ValueError(f'limits: {name} has shape {values.shape}, there are {len(self.joints)} joints')
            if np.isnan(values).any():
                raise ValueError(f'limits: {name} of {self.joints[int(np.isnan(values).argmax())]} is NaN')
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        for i, joint in enumerate(self.joints):
            if not self.lower[i] < self.upper[i]:
                raise ValueError(f'limits of {joint}: lower {self.lower[i]:g} must be below upper {self.upper[i]:g}')
            for name in ('velocity', 'acceleration', 'jump'):
                value = getattr(self, name)[i]
                if not (value > 0 and np.isfinite(value)):
                    raise ValueError(f'limits of {joint}: {name} must be positive and finite, got {value:g}')
            if self.position_reject[i] < 0:
                raise ValueError(f'limits of {joint}: position_reject must be 0 or more, '
                                 f'got {self.position_reject[i]:g}')
        for name in ('velocity_reject', 'acceleration_reject'):
            if not getattr(self, name) >= 1:
                raise ValueError(f'limits: {name} is a factor of at least 1, got {getattr(self, name):g}')

    @classmethod
    def from_table(cls, joints, table, urdf_limits=None, velocity_reject=4.0):
        """
        Build from {joint: {'lower', 'upper', 'velocity', 'acceleration', 'jump', 'position_reject'}}.

        What the table leaves open comes from `urdf_limits` (see `from_urdf`), then from DEFAULTS; the key 'default' of
        the table holds for every joint. Of table and URDF the narrower range and the lower speed win. Raises ValueError
        where a joint has no position range at all: a range is never made up (state inf for a joint that turns freely).
        """
        unknown = sorted(set(table) - set(joints) - {'default'})
        if unknown:
            raise ValueError(f'limits for {", ".join(unknown)}: no such joint, there are {", ".join(joints)}')
        columns = {name: [] for name in ('lower', 'upper', 'velocity', 'acceleration', 'jump', 'position_reject')}
        for joint in joints:
            own = {**table.get('default', {}), **table.get(joint, {})}
            wrong = sorted(set(own) - set(columns))
            if wrong:
                raise ValueError(f'limits of {joint}: unknown {", ".join(wrong)}; known are {", ".join(columns)}')
            urdf = (urdf_limits or {}).get(joint, {})
            lower, upper = own.get('lower', urdf.get('lower')), own.get('upper', urdf.get('upper'))
            if lower is None or upper is None:
                raise ValueError(f'limits of {joint}: no position range, neither in the table nor in a URDF; '
                                 f'write limits.{joint}.lower and .upper')
            lower, upper = float(lower), float(upper)
            if 'lower' in urdf and urdf['lower'] < urdf['upper']:
                lower, upper = max(lower, urdf['lower']), min(upper, urdf['upper'])
            velocity = float(own.get('velocity', urdf.get('velocity', DEFAULTS['velocity'])))
            if urdf.get('velocity', 0) > 0:
                velocity = min(velocity, urdf['velocity'])
            span = upper - lower
            columns['lower'].append(lower)
            columns['upper'].append(upper)
            columns['velocity'].append(velocity)
            columns['acceleration'].append(float(own.get('acceleration', DEFAULTS['acceleration'])))
            columns['jump'].append(float(own.get('jump', DEFAULTS['jump'])))
            columns['position_reject'].append(
                float(own.get('position_reject', 0.25 * span if np.isfinite(span) else np.inf)))
        return cls(tuple(joints), **columns, velocity_reject=velocity_reject)

    @classmethod
    def from_urdf(cls, joints, urdf_text, table=None, velocity_reject=4.0):
        """Build from a URDF, with a table as in `from_table` for what it leaves open or what must be lower."""
        return cls.from_table(joints, table or {}, urdf_limits(urdf_text, joints), velocity_reject)

    def slowed(self, factor):
        """
        The same limits with speed and acceleration scaled, for bringing a robot up.

        A chunk is rejected where it was before: its policy is as fast as ever, only the arm follows slowly.
        """
        if not 0 < factor <= 1:
            raise ValueError(f'limits are slowed by a factor of 0..1, got {factor:g}')
        return replace(self, velocity=self.velocity * factor, acceleration=self.acceleration * factor,
                       velocity_reject=self.velocity_reject / factor,
                       acceleration_reject=self.acceleration_reject / factor)

    @property
    def braking_s(self):
        """How long the slowest joint to brake needs from its greatest speed."""
        return float((self.velocity / self.acceleration).max())

    def name(self, mask):
        """Name of the first joint where a mask [J] is true."""
        return self.joints[int(np.argmax(mask))]

    def judge_positions(self, data, dt_s):
        """'' or why a chunk of positions [H, J] is rejected."""
        low, high = data.min(axis=0), data.max(axis=0)
        outside = np.maximum(self.lower - low, high - self.upper)
        if (bad := outside > self.position_reject).any():
            i = int(np.argmax(bad))
            reach = low[i] if self.lower[i] - low[i] > high[i] - self.upper[i] else high[i]
            return (f'{self.joints[i]} reaches {reach:.4g}, its range is {self.lower[i]:.4g} to {self.upper[i]:.4g} '
                    f'and {self.position_reject[i]:.4g} outside is the most')
        return self.judge_velocities(np.diff(data, axis=0) / dt_s, dt_s)

    def judge_velocities(self, data, dt_s):
        """'' or why a chunk of velocities [H, J] is rejected."""
        return self.judge_speed(data) or self._judge_changes(np.diff(data, axis=0) / dt_s)

    def judge_entry(self, passed, command):
        """
        '' or why a chunk may not be entered from the present command [J]; `passed` [n, J] are its rows until now.

        A plan that came by where the arm is only came late, which the fade and the limits make up for; one that was
        never near it is wrong.
        """
        share = np.abs(passed - command) / self.jump  # [n, J]
        row = int(share.max(axis=1).argmin())
        if share[row].max() > 1:
            i = int(share[row].argmax())
            return (f'{self.joints[i]} would jump from {command[i]:.4g} to {passed[row, i]:.4g}, {self.jump[i]:.4g} is '
                    'the most')
        return ''

    def judge_speed(self, speed):
        """'' or why speeds [n, J] are rejected."""
        return self._judge_most(speed, self.velocity * self.velocity_reject, 'moves at', 'a second')

    def _judge_changes(self, changes):
        return self._judge_most(
            changes, self.acceleration * self.acceleration_reject, 'changes its speed by', 'in a second')

    def _judge_most(self, values, most, does, unit):
        if not len(values):
            return ''
        reach = np.abs(values).max(axis=0)
        if (bad := reach > most).any():
            i = int(np.argmax(bad))
            return f'{self.joints[i]} {does} {reach[i]:.4g} {unit}, {most[i]:.4g} is the most'
        return ''


def urdf_limits(text, joints):
    """
    {joint: {'lower', 'upper', 'velocity'}} of the named joints, as far as a URDF states them.

    A continuous joint gets an infinite range. Raises ValueError where the text is no URDF or lacks a joint. Meshes are
    not loaded, and a document type is refused: entities could read files.
    """
    data = text.encode() if isinstance(text, str) else bytes(text)
    if len(data) > MAX_URDF_BYTES:
        raise ValueError(f'URDF of {len(data)} bytes: at most {MAX_URDF_BYTES}')
    if b'<!DOCTYPE' in data or b'<!ENTITY' in data:
        raise ValueError('URDF with a document type or entities is refused; expand it first')
    try:
        import yourdfpy
    except ImportError as error:
        raise ValueError(f"limits from a URDF need yourdfpy ({error}): pip install 'oxygen-ros[urdf]'") from error
    try:
        robot = yourdfpy.URDF.load(
            io.BytesIO(data), build_scene_graph=False, build_collision_scene_graph=False, load_meshes=False,
            load_collision_meshes=False)
        found = robot.joint_map
    except Exception as error:  # its XML library raises its own types
        raise ValueError(f'the robot description is not a URDF: {error}') from error
    missing = [joint for joint in joints if joint not in found]
    if missing:
        raise ValueError(f'the URDF has no joint {", ".join(missing)}; it has {", ".join(sorted(found))}')
    limits = {}
    for name in joints:
        joint, limit = found[name], {}
        if joint.type == 'continuous':
            limit.update(lower=-np.inf, upper=np.inf)
        if joint.limit is not None:
            if joint.type != 'continuous' and None not in (joint.limit.lower, joint.limit.upper):
                limit.update(lower=float(joint.limit.lower), upper=float(joint.limit.upper))
            if joint.limit.velocity:
                limit['velocity'] = float(joint.limit.velocity)
        limits[name] = limit
    return limits


def check_statistics(limits, low, high, factor=10.0):
    """
    Raise ValueError where a checkpoint's range of a joint [low, high] and its limits differ in size by `factor`.

    That far apart they are in different units (degrees against radians, 0..100 against 0..1).
    """
    for i, joint in enumerate(limits.joints):
        span, allowed = high[i] - low[i], limits.upper[i] - limits.lower[i]
        if np.isfinite(allowed) and span > factor * allowed:
            raise ValueError(f'{joint}: the checkpoint was trained on {low[i]:.4g} to {high[i]:.4g}, its limits are '
                             f'{limits.lower[i]:.4g} to {limits.upper[i]:.4g}: are the units the same?')
