"""How much language fits before the next chunk is due, from what the stages have taken so far."""
from collections import deque
from statistics import median

WINDOW = 500  # frames that are remembered
FEW = 20  # frames from which on a single outlier is seen to be one
NEWEST = 20  # rounds of a size that count
LEAST, SOON = 3, 40  # with fewer they are forgotten after so many frames
RETRY = 8  # frames after which the best size is run though an outlier would not fit behind it
BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def bucket(rows):
    """The size that a round of `rows` is counted under."""
    return next((size for size in BUCKETS if rows <= size), BUCKETS[-1])


class DeadlineController:
    """
    Chunks are due every `period_s`; language gets what the action part of the next frame leaves of it.

    Two slow stages seldom meet. So a round is planned with the median of its size, the action part behind it with its
    own, and besides there must be room for the worst delay, over these medians, of any stage in the last `WINDOW`
    frames. The first round after a chunk disregards a single one, so that an outlier does not silence language; a
    delay that alone makes a chunk late says nothing. A size that gives less than half the tokens a second of the best
    one is not worth a pass: then the best one waits, and runs once in `RETRY` frames where it fits without any delay.

    `period_s` 0 plans nothing: any round fits. Time is given in seconds by the caller.
    """

    def __init__(self, period_s, margin=0.05):
        self.period_s, self.margin = period_s, margin
        self.frame, self.ran = 0, 0  # frames so far, rounds since the last chunk
        self.action_s, self.delays_s = deque(maxlen=WINDOW), deque(maxlen=WINDOW)  # one a frame
        self.usual_s = 0.0
        self.round_s = {size: deque(maxlen=NEWEST) for size in BUCKETS}  # of (frame, seconds)
        self.ran_in = dict.fromkeys(BUCKETS, 0)  # the frame of each size's last round

    def saw_action(self, took_s):
        """A chunk has left; its action part took so long."""
        self.frame, self.ran = self.frame + 1, 0
        self.action_s.append(took_s)
        self.usual_s = median(self.action_s)
        self.delays_s.append(0.0)
        self._saw_delay(took_s - self.usual_s)

    def saw_round(self, rows, took_s):
        """A round of its own took so long."""
        before = [took for _, took in self.round_s[bucket(rows)]]
        if before and self.delays_s:
            self._saw_delay(took_s - median(before))
        self.round_s[bucket(rows)].append((self.frame, took_s))
        self.saw_ride(rows)

    def saw_ride(self, rows):
        """A round took place of which nobody knows how long it took."""
        self.ran += 1
        self.ran_in[bucket(rows)] = self.frame

    def rows_that_fit(self, rows, since_chunk_s):
        """
        The rows, up to `rows`, of a round that may start `since_chunk_s` after the last chunk left; 0 for none.

        Before the first action part was measured nothing fits; the first round ever is one of a single row.
        """
        if not self.period_s:
            return rows
        if not self.action_s or not rows:
            return 0
        took = self._expected([size for size in BUCKETS if size < rows] + [rows])
        free = self.period_s * (1 - self.margin) - self.usual_s - since_chunk_s

        def rate(size):
            return size / max(took[size], 1e-9) if size else 0.0

        def best(delay_s):
            return max((size for size in took if took[size] + delay_s <= free),
                       key=lambda size: (rate(size), size), default=0)

        wanted, safe = best(0.0), best(self._delay())
        if wanted != safe and not self.ran and self.frame - self.ran_in[bucket(wanted)] >= RETRY:
            return wanted
        return safe if 2 * rate(safe) >= rate(wanted) else 0

    def _saw_delay(self, delay_s):
        if self.usual_s + delay_s <= self.period_s:
            self.delays_s[-1] = max(self.delays_s[-1], delay_s)

    def _delay(self):
        """The delay to leave room for."""
        ordered = sorted(self.delays_s)
        if not self.ran:
            return ordered[-2 if len(ordered) >= FEW else -1]
        # A window that is not full has not seen its outliers: as if an action part took as long again.
        return max(ordered[-1], self.usual_s if len(ordered) < WINDOW else 0.0)

    def _expected(self, sizes):
        """
        `{size: usual time of a round}` for ascending sizes, as far as one may be tried.

        A round takes at most in proportion to a smaller one, because the weights are read once, and no more than a
        larger one: that bounds what an outlier says about a size. Sizes below all measured ones are taken to be in
        proportion, to be tried.
        """
        measured = {}
        for size, rounds in self.round_s.items():
            believed = WINDOW if len(rounds) >= LEAST else SOON
            times = [took for frame, took in rounds if self.frame - frame < believed]
            if times:
                measured[size] = median(times)
        if not measured:
            return {1: 0.0}
        found, a_row = {}, float('inf')  # the least that a row has been seen to take in the sizes so far
        for size in sizes:
            if bucket(size) in measured:
                a_row = min(a_row, measured[bucket(size)] / size)
            larger = [other for other in measured if other >= size]
            if a_row < float('inf'):
                found[size] = min([a_row * size, *(measured[other] for other in larger)])
            else:
                found[size] = measured[larger[0]] * size / larger[0]
        return found
