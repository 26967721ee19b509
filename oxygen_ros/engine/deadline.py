"""How much language fits before the next chunk is due, from what the stages have taken so far."""
from collections import deque
import math

WINDOW = 200
BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def bucket(rows):
    """The size that a round of `rows` is counted under."""
    return next((size for size in BUCKETS if rows <= size), BUCKETS[-1])


class DeadlineController:
    """
    Chunks are due every `period_s`; language gets what the action part of the next frame leaves of it.

    Keeps the newest times of the action part and of decode rounds by size, and plans with a high quantile of each, so
    that an outlier costs language a few rounds and not the action its deadline. `period_s` 0 plans nothing: any round
    fits. Time is given in seconds by the caller.
    """

    def __init__(self, period_s, margin=0.05, quantile=0.99):
        self.period_s, self.margin, self.quantile = period_s, margin, quantile
        self.action_s = deque(maxlen=WINDOW)
        self.round_s = {size: deque(maxlen=WINDOW) for size in BUCKETS}

    def saw_action(self, took_s):
        self.action_s.append(took_s)

    def saw_round(self, rows, took_s):
        self.round_s[bucket(rows)].append(took_s)

    def rows_that_fit(self, rows, since_chunk_s):
        """
        The most rows, up to `rows`, of a round that may start `since_chunk_s` after the last chunk left; 0 for none.

        Before the first action part was measured nothing fits.
        """
        if not self.period_s:
            return rows
        if not self.action_s:
            return 0
        free = self.period_s * (1 - self.margin) - since_chunk_s - self._high(self.action_s)
        if self._expected(rows) <= free:
            return rows
        fitting = [size for size in BUCKETS if size < rows and self._expected(size) <= free]
        return fitting[-1] if fitting else 0

    def _expected(self, rows):
        """Time of a round: as measured for its size, else scaled from the nearest measured one, else 0 to try it."""
        wanted = bucket(rows)
        if self.round_s[wanted]:
            return self._high(self.round_s[wanted])
        known = [size for size in BUCKETS if self.round_s[size]]
        if not known:
            return 0.0
        nearest = min(known, key=lambda size: abs(math.log(size / wanted)))
        return self._high(self.round_s[nearest]) * max(1.0, wanted / nearest)

    def _high(self, times):
        ordered = sorted(times)
        return ordered[min(len(ordered) - 1, int(self.quantile * len(ordered)))]
