"""When a message was made: by its stamp, unless that is of another clock or there is none."""
from enum import Enum


class ClockKind(Enum):
    """What the stamps of a source are good for."""

    UNKNOWN = 'nothing was heard yet'
    SHARED = 'this clock: stamps tell the age'
    FOREIGN = 'another clock: the time of arrival counts'
    NONE = 'not stamped: the time of arrival counts'


class SourceClock:
    """
    Judges the clock of one source, a camera or a joint, by its first stamps, and keeps to that.

    What grows old afterwards is old, however old: lag never turns into freshness. It judges anew only where the stamps
    show that another clock has begun: they jump back, or ahead of this one. A foreign clock must be seen to run, by two
    stamps, before a message of it counts, so that one message which is repeated for ever never does.
    With `stamp_source` receive the time of arrival counts without being asked.
    """

    FUTURE_NS = 100_000_000  # a stamp further ahead of its own arrival is of another clock
    PAST_NS = 10_000_000_000  # and so is a first one further behind
    JUMP_NS = 1_000_000_000  # a larger step that the arrivals did not make is another clock, a smaller one disorder

    def __init__(self, stamp_source='header'):
        self._trusted = stamp_source == 'header'
        self.repeated = 0
        self.overtaken = 0
        self.wrong_stamps = 0  # messages dated by their arrival, though their stamp should count
        self.changes = 0
        self.clear()

    def clear(self):
        """Judge anew (this node's clock stepped, or a new activation)."""
        self.kind = ClockKind.UNKNOWN
        self._ahead_ns = 0  # of this clock, when it was judged
        self._newest_ns = self._heard_ns = None  # stamp and arrival of the newest message that counted
        self._candidate = None  # (stamp, arrival) of what may be another clock

    def date(self, stamp_ns, now_ns):
        """Time [ns] of a message that arrives now, never later than now; None where its stamp says it is no news."""
        if stamp_ns and (stamp_ns == self._newest_ns or self._candidate and stamp_ns == self._candidate[0]):
            self.repeated += 1
            return None
        if now_ns <= 0 or not self._trusted:  # simulated time that has not begun is nothing to judge by
            self._newest_ns = stamp_ns
            return now_ns
        if not stamp_ns:
            self._become(ClockKind.NONE, self._newest_ns, now_ns)
            self.wrong_stamps += 1
            return now_ns
        ahead_ns = stamp_ns - now_ns
        if self.kind in (ClockKind.SHARED, ClockKind.FOREIGN):
            step_ns = stamp_ns - self._newest_ns
            if -self.JUMP_NS <= step_ns < 0:
                self.overtaken += 1
                return None
            goes_on = step_ns > 0 and (
                ahead_ns <= self.FUTURE_NS if self.kind is ClockKind.SHARED
                else step_ns - (now_ns - self._heard_ns) <= self.JUMP_NS and not 0 <= -ahead_ns <= self.FUTURE_NS)
            if goes_on:
                return self._take(stamp_ns, now_ns)
        if -self.PAST_NS <= ahead_ns <= self.FUTURE_NS:
            self._become(ClockKind.SHARED, stamp_ns, now_ns)
            return self._take(stamp_ns, now_ns)
        before, self._candidate = self._candidate, (stamp_ns, now_ns)
        if before is None or not self._runs(before):
            return None
        self._become(ClockKind.FOREIGN, stamp_ns, now_ns)
        return self._take(stamp_ns, now_ns)

    def _runs(self, before):
        """True where the candidate's stamps went on since its message before, at about the pace of the arrivals."""
        step_ns, arrived_ns = self._candidate[0] - before[0], self._candidate[1] - before[1]
        return step_ns > 0 and abs(step_ns - arrived_ns) <= self.JUMP_NS

    def _become(self, kind, stamp_ns, now_ns):
        if kind is not self.kind:
            self.changes += self.kind is not ClockKind.UNKNOWN
            self.kind = kind
        self._ahead_ns = (stamp_ns or 0) - now_ns
        self._newest_ns, self._candidate = stamp_ns, None

    def _take(self, stamp_ns, now_ns):
        self._newest_ns, self._heard_ns, self._candidate = stamp_ns, now_ns, None
        if self.kind is ClockKind.SHARED:
            return min(stamp_ns, now_ns)
        self.wrong_stamps += 1
        return now_ns

    @property
    def warning(self):
        """Why ages are not told by stamps, in words that follow the name of the source; '' where they are."""
        if self.kind is ClockKind.NONE:
            return 'not stamped: the time of arrival counts'
        if self.kind is ClockKind.FOREIGN:
            return (f'stamped by a clock {_apart(self._ahead_ns)} this one: the time of arrival counts; set the clocks '
                    'right or stamp_source: receive')
        return ''

    @property
    def doubt(self):
        """Why what was heard does not count yet, in the same way; '' where nothing is doubted."""
        if self._candidate is None:
            return ''
        return f'stamped {_apart(self._candidate[0] - self._candidate[1])} this clock, and the stamps stand still'


def _apart(ahead_ns):
    return f'{abs(ahead_ns) / 1e9:.2f} s {"ahead of" if ahead_ns > 0 else "behind"}'
