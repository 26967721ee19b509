"""
The chunks that a command is made of at this moment, sampled by time.

Row i of a chunk is valid at `stamp + i * dt`. Sampling goes by `now - stamp`, never by a count or a mean delay, so that
a late chunk is entered where it belongs and rows of the past are skipped. Nothing is extrapolated.
"""
import numpy as np

from oxygen_ros.control.blend import smooth
from oxygen_ros.engine.chunk import ActionKind

MAX_LAYERS = 8  # chunks that may still be blending into each other; older ones weigh next to nothing by then


class ConstantPath:
    """Stands still at a position: where a ramp starts from."""

    __slots__ = ('values', '_zero')

    def __init__(self, values):
        self.values = np.array(values, float)
        self._zero = np.zeros_like(self.values)

    def sample(self, _now_ns, value, slope):
        """Write the position [J] and its slope [J] per second."""
        value[:] = self.values
        slope[:] = 0.0


class PositionPath:
    """
    Positions on a smooth curve through the rows; before the first and after the last row the nearest one stands still.

    The curve is the monotone cubic of Fritsch and Carlson (harmonic mean of neighbouring slopes, zero at a turning
    point): its speed has no steps where a policy of 10-50 Hz meets a faster timer, and it never leaves the interval
    between two rows.
    """

    __slots__ = ('start_ns', 'dt_ns', 'end_ns', '_rows', '_curve')

    def __init__(self, chunk):
        self.start_ns = chunk.stamp_ns
        self.dt_ns = chunk.dt_s * 1e9
        self.end_ns = chunk.end_ns
        self._rows = np.array(chunk.data, float)  # [H, J]
        self._curve = curve(self._rows, chunk.dt_s)  # [H - 1, 4, J], rising powers of the seconds since the row

    def sample(self, now_ns, value, slope):
        """Write the position [J] and its slope [J] per second."""
        place = (now_ns - self.start_ns) / self.dt_ns
        last = len(self._rows) - 1
        if place <= 0 or place >= last:
            value[:] = self._rows[0 if place <= 0 else last]
            slope[:] = 0.0
            return
        row = int(place)
        t = (place - row) * self.dt_ns * 1e-9
        start, speed, square, cube = self._curve[row]
        np.multiply(cube, t, out=value)
        value += square
        np.multiply(cube, 2.0 * t, out=slope)
        slope += square
        slope *= t  # t * (square + 2 t * cube); the rest of the derivative is the Horner scheme below
        value *= t
        value += speed
        slope += value
        value *= t
        value += start


def curve(rows, dt_s):
    """Coefficients [H - 1, 4, J] of the monotone cubic through rows [H, J] at equal spacing."""
    secant = np.diff(rows, axis=0) / dt_s
    if not len(secant):
        return np.zeros((0, 4, rows.shape[1]))
    before, after = secant[:-1], secant[1:]
    both = before + after
    middle = np.where(before * after > 0, 2.0 * before * after / np.where(both == 0, 1.0, both), 0.0)
    speed = np.concatenate([secant[:1], middle, secant[-1:]])  # [H, J] at the rows
    first, second = speed[:-1], speed[1:]
    return np.stack([rows[:-1], first, (3 * secant - 2 * first - second) / dt_s,
                     (first + second - 2 * secant) / dt_s ** 2], axis=1)


class VelocityPath:
    """Velocities, each held for its step; zero before the first and after the last step."""

    __slots__ = ('start_ns', 'dt_ns', 'end_ns', '_data')

    def __init__(self, chunk):
        self.start_ns = chunk.stamp_ns
        self.dt_ns = chunk.dt_s * 1e9
        self.end_ns = chunk.stamp_ns + round(chunk.horizon * self.dt_ns)
        self._data = np.array(chunk.data, float)

    def sample(self, now_ns, value, slope):
        """Write the velocity [J]; the slope is zero."""
        row = (now_ns - self.start_ns) // self.dt_ns
        slope[:] = 0.0
        if 0 <= row < len(self._data):
            value[:] = self._data[int(row)]
        else:
            value[:] = 0.0


class ChunkBuffer:
    """
    Chunks joined by cross-fades; for positions and velocities.

    A new chunk fades in over a window while the older plan fades out, both sampled at the same moment. A chunk that
    arrives during a fade fades in over that mixture. `start_from` puts a standing position below everything, which
    makes the first fade a ramp.
    """

    def __init__(self, joints, kind, blend_s):
        self.kind = ActionKind(kind)
        if self.kind is ActionKind.EEF_DELTA:
            raise ValueError('deltas are not sampled: use DeltaQueue')
        self._path = PositionPath if self.kind is ActionKind.JOINT_POSITION else VelocityPath
        self.blend_ns = round(blend_s * 1e9)
        self._layers = []  # [(path, fade start ns, fade length ns)]; the first is at full weight
        self._value, self._slope = np.zeros(joints), np.zeros(joints)
        self._upper, self._upper_slope = np.zeros(joints), np.zeros(joints)
        self.chunk = None
        self._ramp_end_ns = None

    def clear(self):
        """Forget every chunk; what was planned is not executed any more."""
        self._layers = []
        self.chunk = None
        self._ramp_end_ns = None

    def start_from(self, values):
        """Stand at `values` [J] until a chunk fades in."""
        self._layers = [(ConstantPath(values), 0, 0)]
        self.chunk = None
        self._ramp_end_ns = None

    @property
    def end_ns(self):
        """Time at which the newest chunk ends; None without one."""
        return self._layers[-1][0].end_ns if self.chunk is not None else None

    def valid(self, now_ns):
        """True where the newest chunk covers this moment."""
        return self.chunk is not None and now_ns <= self.end_ns

    def path(self, chunk):
        """What a chunk says between its rows; depends on nothing else."""
        return self._path(chunk)

    def push(self, chunk, now_ns, fade_ns=None, path=None):
        """
        Fade a chunk in from now on; `path` where it was made before.

        The fade ends with the plan it replaces where that is possible, because a plan that has run out would pull the
        arm to a halt; it never takes less than a third of the window.
        """
        start_ns = max(now_ns, chunk.stamp_ns)
        if fade_ns is None:
            fade_ns = self.blend_ns
            if self.chunk is not None:
                fade_ns = min(fade_ns, max(self.end_ns - start_ns, fade_ns // 3))
            if self._ramp_end_ns is not None:  # a chunk that comes during the ramp does not cut it short
                fade_ns = max(fade_ns, self._ramp_end_ns - start_ns)
        else:
            self._ramp_end_ns = start_ns + fade_ns
        self._layers.append((path or self._path(chunk), start_ns, fade_ns))
        if len(self._layers) > MAX_LAYERS:
            del self._layers[0]
        self.chunk = chunk

    def entry(self, path, now_ns):
        """What a path alone says for this moment [J]; the array is reused by the next call."""
        path.sample(now_ns, self._upper, self._upper_slope)
        return self._upper

    def sample(self, now_ns):
        """(value [J], slope [J] per second) at this moment; the arrays are reused by the next call."""
        layers, value, slope = self._layers, self._value, self._slope
        # A layer under one that has faded in fully is not seen any more.
        lowest = len(layers) - 1
        while lowest and now_ns < layers[lowest][1] + layers[lowest][2]:
            lowest -= 1
        layers[lowest][0].sample(now_ns, value, slope)
        for i in range(lowest + 1, len(layers)):
            path, start_ns, fade_ns = layers[i]
            if now_ns < start_ns:
                break
            path.sample(now_ns, self._upper, self._upper_slope)
            weight, rate = smooth((now_ns - start_ns) / fade_ns)
            # value += w (upper - value); slope by the product rule.
            self._upper -= value
            self._upper_slope -= slope
            slope += weight * self._upper_slope
            slope += (rate * 1e9 / fade_ns) * self._upper
            value += weight * self._upper
        return value, slope


class DeltaQueue:
    """
    Deltas of an end effector: each row is given out once, in its own time slot, and never between rows.

    Rows whose time has passed are skipped, because executing them late would add old motion to new.
    """

    def __init__(self):
        self.clear()

    def clear(self):
        """Forget every row."""
        self.chunk = None
        self._next = 0
        self.skipped = 0

    def push(self, chunk, now_ns, _fade_ns=None):
        """Take over from the older chunk at once: rows of two chunks are not mixed."""
        self.chunk = chunk
        self._next = max(0, int(-(-(now_ns - chunk.stamp_ns) // round(chunk.dt_s * 1e9))))

    @property
    def end_ns(self):
        return None if self.chunk is None else self.chunk.stamp_ns + round(self.chunk.horizon * self.chunk.dt_s * 1e9)

    def valid(self, now_ns):
        """True where the newest chunk covers this moment."""
        return self.chunk is not None and now_ns < self.end_ns

    def take(self, now_ns):
        """The row that has become due [J], or None; each row at most once."""
        if self.chunk is None:
            return None
        due = int((now_ns - self.chunk.stamp_ns) // round(self.chunk.dt_s * 1e9))
        if due < self._next or due >= self.chunk.horizon or due < 0:
            return None
        self.skipped += due - self._next
        self._next = due + 1
        return np.array(self.chunk.data[due], float)
