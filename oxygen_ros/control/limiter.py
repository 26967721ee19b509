"""
Follows a target within position, velocity and acceleration limits, one period at a time.

It never asks for a speed from which it could not stop in time: before the end of a range and before the target the
speed follows the braking curve, so that the limits hold together, always, for any target.
"""
import numpy as np

FAR = 1e9  # stands for a range without an end, in rad or m


class MotionLimiter:
    """
    State of the last command [J] and its velocity [J]; the period is the nominal one of the control timer.

    Steps are bounded per period whatever the clock says, because a controller executes a step when it comes: two ticks
    that come close together must not add up to a jump.
    """

    TOLERANCE = 1e-9  # rad or m by which a command may differ from its target and count as not clamped

    def __init__(self, limits, period_s):
        self.limits, self.period_s = limits, period_s
        self._step = limits.acceleration * period_s  # largest change of velocity [J]
        self._unit = self._step * period_s  # distance that one such change covers [J]
        self._lower, self._upper = np.maximum(limits.lower, -FAR), np.minimum(limits.upper, FAR)
        joints = len(limits.joints)
        self.position, self.velocity = np.zeros(joints), np.zeros(joints)
        self.started = False

    def copy(self):
        """One that goes on from here by itself."""
        other = MotionLimiter(self.limits, self.period_s)
        other.position[:], other.velocity[:], other.started = self.position, self.velocity, self.started
        return other

    def start(self, position):
        """
        Begin at rest at a position [J]; where that lies outside the range, only the way back is free.

        Fingers that are pressed against their stop read a little outside: where one step within the speed limit leads
        back, it is made at once, so that nothing outside the range is ever commanded for that.
        """
        inside = np.clip(position, self._lower, self._upper)
        self.position[:] = np.where(np.abs(inside - position) <= self.limits.velocity * self.period_s, inside, position)
        self.velocity[:] = 0.0
        self.started = True

    def forget(self):
        """Nothing is commanded any more: the next command must start from the measured position."""
        self.started = False

    def speed_to_stop(self, distance):
        """
        Largest speed [J] from which constant braking in whole periods stops within a distance [J].

        With r the distance in units of a*T^2: n = floor((sqrt(1 + 8 r) - 1) / 2) whole periods of braking, and the
        speed is (n / 2 + r / (n + 1)) a*T; braking from it changes the speed by a*T or less in every period.
        """
        r = np.maximum(distance, 0.0) / self._unit
        n = np.floor((np.sqrt(1.0 + 8.0 * r) - 1.0) * 0.5)
        return (0.5 * n + r / (n + 1.0)) * self._step

    def follow(self, target, slope):
        """
        Move towards a target [J] that moves with a slope [J] per second; gives how many joints were held back.

        The result is in `position`.
        """
        period, top = self.period_s, self.limits.velocity
        drift = np.clip(slope, -top, top)
        error = target - self.position
        error -= drift * period
        wanted = self.speed_to_stop(np.abs(error))
        np.copysign(wanted, error, out=wanted)
        wanted += drift
        np.clip(wanted, -top, top, out=wanted)
        self._move(wanted)
        return int(np.count_nonzero(np.abs(target - self.position) > self.TOLERANCE))

    def brake(self):
        """Slow down to rest within the acceleration limit; the result is in `position`."""
        self._move(np.zeros_like(self.velocity))

    def _move(self, wanted):
        np.clip(wanted, self.velocity - self._step, self.velocity + self._step, out=wanted)
        np.minimum(wanted, self.speed_to_stop(self._upper - self.position), out=wanted)
        np.maximum(wanted, -self.speed_to_stop(self.position - self._lower), out=wanted)
        self.velocity[:] = wanted
        wanted *= self.period_s
        self.position += wanted


class VelocityLimiter:
    """The same for a velocity interface: the command is a velocity [J], the position is the measured one."""

    def __init__(self, limits, period_s):
        self.limits, self.period_s = limits, period_s
        self._braking = MotionLimiter(limits, period_s)
        self._step = limits.acceleration * period_s
        self._lower, self._upper = np.maximum(limits.lower, -FAR), np.minimum(limits.upper, FAR)
        self.velocity = np.zeros(len(limits.joints))

    def start(self):
        """Begin at rest."""
        self.velocity[:] = 0.0

    def follow(self, target, measured):
        """Change the velocity towards a target [J]; gives how many joints were held back. Position goes first."""
        wanted = np.clip(target, -self.limits.velocity, self.limits.velocity)
        np.clip(wanted, self.velocity - self._step, self.velocity + self._step, out=wanted)
        np.minimum(wanted, self._braking.speed_to_stop(self._upper - measured), out=wanted)
        np.maximum(wanted, -self._braking.speed_to_stop(measured - self._lower), out=wanted)
        self.velocity[:] = wanted
        return int(np.count_nonzero(np.abs(target - wanted) > MotionLimiter.TOLERANCE))
