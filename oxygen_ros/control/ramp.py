"""Where a command may start: at a measured position that is fresh, finite and complete."""
import numpy as np


class MeasuredPosition:
    """The newest measured position [J] and when it was measured."""

    def __init__(self, joints):
        self.joints = tuple(joints)
        self.position = np.zeros(len(self.joints))
        self.time_ns = None
        self.refused = 0

    def clear(self):
        """Forget it, as after a jump of the clock."""
        self.time_ns = None

    def update(self, position, now_ns):
        """Take a position [J]; False where it is not finite or not of this length, then the older one stays."""
        position = np.asarray(position, float)
        if position.shape != self.position.shape or not np.isfinite(position).all():
            self.refused += 1
            return False
        self.position[:] = position
        self.time_ns = now_ns
        return True

    def missing(self, now_ns, max_age_s):
        """'' where a start may rely on it, else why not."""
        if self.time_ns is None:
            return 'no joint states yet'
        age_s = (now_ns - self.time_ns) / 1e9
        return '' if age_s <= max_age_s else f'joint states are {age_s:.2f} s old, {max_age_s:g} s is the most'
