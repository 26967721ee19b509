"""Errors of predicted actions against what the robot was told or did later, and jumps between chunks."""
from collections import deque
from dataclasses import dataclass

import numpy as np

from oxygen_ros.engine.chunk import ActionKind

MAX_REFERENCE_AGE_S = 0.25  # an older command is not what was in force any more


class Reference:
    """What actions are compared with: the newest row at or before a time; holds only what open chunks still need."""

    def __init__(self):
        self._times_ns, self._rows = deque(), deque()

    def add(self, time_ns, row):
        self._times_ns.append(time_ns)
        self._rows.append(row)

    @property
    def newest_ns(self):
        return self._times_ns[-1] if self._times_ns else None

    def at(self, times_ns):
        """(rows [N, J], known [N]) in force at each of `times_ns` [N]; what lies behind the newest is not known yet."""
        have = np.array(self._times_ns, np.int64)
        index = np.searchsorted(have, times_ns, side='right') - 1
        known = (index >= 0) & (times_ns <= have[-1])
        known[known] = times_ns[known] - have[index[known]] <= MAX_REFERENCE_AGE_S * 1e9
        rows = np.array(self._rows)
        return rows[np.maximum(index, 0)], known

    def forget_before(self, time_ns):
        """Drop what no time from `time_ns` on can need."""
        while len(self._times_ns) > 1 and self._times_ns[1] <= time_ns:
            self._times_ns.popleft()
            self._rows.popleft()


class ActionScore:
    """Sums of squared and absolute errors by step and joint, [H, J]; chunks wait until their last row has passed."""

    def __init__(self, horizon, joints):
        self.squared, self.absolute = np.zeros((horizon, joints)), np.zeros((horizon, joints))
        self.count = np.zeros((horizon, joints), np.int64)
        self.reference = Reference()
        self._open = deque()

    def add_chunk(self, chunk):
        self._open.append(chunk)

    def add_reference(self, time_ns, row):
        self.reference.add(time_ns, np.asarray(row, float))
        self.close(time_ns)

    def close(self, now_ns=None):
        """Score the chunks that ended before `now_ns`, all of them for None."""
        while self._open and (now_ns is None or self._open[0].end_ns < now_ns):
            self._score(self._open.popleft())
        oldest_ns = self._open[0].stamp_ns if self._open else now_ns
        if oldest_ns is not None:
            # A chunk that is still being computed may begin earlier; observations are no older than that.
            self.reference.forget_before(oldest_ns - 2_000_000_000)

    def _score(self, chunk):
        if self.reference.newest_ns is None:
            return
        times_ns = chunk.stamp_ns + np.round(np.arange(chunk.horizon) * chunk.dt_s * 1e9).astype(np.int64)
        rows, known = self.reference.at(times_ns)
        errors = chunk.data - rows
        known = known[:, None] & np.isfinite(errors)
        errors = np.where(known, errors, 0.0)
        self.squared[:chunk.horizon] += errors ** 2
        self.absolute[:chunk.horizon] += np.abs(errors)
        self.count[:chunk.horizon] += known


@dataclass
class Jumps:
    """Distance between an old chunk and the one that takes its place, at the moment of change, over the joints."""

    kind: ActionKind
    largest: float | None = None
    total: float = 0.0
    count: int = 0
    joint: str = ''
    _last: object = None

    def change(self, chunk, now_ns):
        """The chunk is taken over at `now_ns`."""
        last, self._last = self._last, chunk
        if last is None or self.kind is ActionKind.EEF_DELTA or not last.stamp_ns <= now_ns <= last.end_ns \
                or last.instruction_id != chunk.instruction_id or not chunk.stamp_ns <= now_ns <= chunk.end_ns:
            return
        distances = np.abs(row_at(chunk, now_ns) - row_at(last, now_ns))
        self.count += 1
        self.total += float(distances.max())
        if self.largest is None or distances.max() > self.largest:
            self.largest, self.joint = float(distances.max()), chunk.joint_names[int(distances.argmax())]


def row_at(chunk, now_ns):
    """Row [J] of a chunk at a time within it, between its rows by a straight line."""
    place = min(max((now_ns - chunk.stamp_ns) / (chunk.dt_s * 1e9), 0.0), chunk.horizon - 1.0)
    low = int(place)
    high = min(low + 1, chunk.horizon - 1)
    return chunk.data[low] + (place - low) * (chunk.data[high] - chunk.data[low])
