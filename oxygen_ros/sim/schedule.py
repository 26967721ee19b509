"""When the robot's periodic outputs are due, and how simulated time is held against the wall clock."""
from dataclasses import dataclass

NS = 1_000_000_000


class Schedule:
    """
    Periodic events in simulated time; all fall due together at the origin, the k-th of a rate at `k / rate` after it.

    Nothing accumulates: 30 Hz gives 30 events in every second.
    """

    def __init__(self, rates_hz, origin_ns=0):
        self._rates = dict(rates_hz)
        self.restart(origin_ns)

    def restart(self, origin_ns):
        """All events are due at `origin_ns` and counted from there."""
        self._origin = origin_ns
        self._count = dict.fromkeys(self._rates, 0)

    def _due(self, name):
        return self._origin + round(self._count[name] * NS / self._rates[name])

    def next(self):
        """The next moment at which something is due, in ns, and the names of what is, in the order given."""
        due = {name: self._due(name) for name in self._rates}
        moment = min(due.values())
        names = [name for name, each in due.items() if each == moment]
        for name in names:
            self._count[name] += 1
        return moment, names


@dataclass
class Pace:
    """
    Maps simulated ns to wall ns: `factor` simulated seconds in a wall second, 0 for no waiting at all.

    A simulation that falls more than `patience_ns` behind does not catch up in a burst; the lost time is let go and
    counted in `slips`.
    """

    factor: float
    patience_ns: int = 100_000_000
    slips: int = 0
    slipped_ns: int = 0
    _simulated: int | None = None
    _wall: int = 0

    def wait_ns(self, simulated_ns, wall_ns):
        """How long to wait, at wall time `wall_ns`, until `simulated_ns` may be reached."""
        if self.factor == 0:
            return 0
        if self._simulated is None:
            self._simulated, self._wall = simulated_ns, wall_ns
        ahead = self._wall + int((simulated_ns - self._simulated) / self.factor) - wall_ns
        if ahead < -self.patience_ns:
            self.slips += 1
            self.slipped_ns -= ahead
            self._simulated, self._wall = simulated_ns, wall_ns
            return 0
        return max(ahead, 0)
