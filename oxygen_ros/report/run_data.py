"""What a page shows of one run, bounded in size however long the run was."""
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

MAX_SAMPLES = 1500     # of a curve
MAX_CHUNKS = 60        # fanned out
MAX_STAGE_ROWS = 3000  # frames with their stage times
MAX_THUMBNAILS = 24
MAX_TOKENS = 20000
MAX_TIMES = 10**6
CURVES = ('measured', 'recorded command', 'published command')


class Thinned:
    """Keeps the rows of a stream that are at least `span_s / limit` apart, so that memory is bounded."""

    def __init__(self, span_s, limit):
        self._step_s, self._limit, self._next_s = span_s / limit, limit + 1, float('-inf')
        self.times_s, self.rows = [], []

    def wants(self, time_s):
        return time_s >= self._next_s and len(self.rows) < self._limit

    def add(self, time_s, row):
        if self.wants(time_s):
            self.times_s.append(time_s)
            self.rows.append(row)
            self._next_s = time_s + self._step_s


@dataclass(frozen=True)
class Token:
    """One token as it came, `time_s` from the start of the run."""

    time_s: float
    task: str
    request_id: int
    text: str
    finish_reason: str = ''


@dataclass(frozen=True)
class Thumbnail:
    """A small JPEG of one view."""

    time_s: float
    view: str
    jpeg: bytes


@dataclass
class RunData:
    """
    Curves, chunks, tokens and pictures of one run; all times are seconds from its start.

    `curves` maps a name of CURVES to rows [J] in the order of `joints`; `chunks` rows are (dt, data [H, J]). `stages`
    rows are dictionaries of stage name -> ms, `pool` rows (slots used, slots total, blocks used, blocks total, live
    streams). `counters` are the newest of the run.
    """

    name: str
    duration_s: float
    joints: tuple[str, ...] = ()
    curves: dict = None
    chunks: Thinned = None
    stages: Thinned = None
    pool: Thinned = None
    thumbnails: list = field(default_factory=list)
    tokens: list = field(default_factory=list)
    command_times_s: list = field(default_factory=list)
    topics: Counter = field(default_factory=Counter)
    counters: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def __post_init__(self):
        span_s = max(self.duration_s, 1e-3)
        self.curves = self.curves or {name: Thinned(span_s, MAX_SAMPLES) for name in CURVES}
        self.chunks = self.chunks or Thinned(span_s, MAX_CHUNKS)
        self.stages = self.stages or Thinned(span_s, MAX_STAGE_ROWS)
        self.pool = self.pool or Thinned(span_s, MAX_SAMPLES)

    def column(self, name, joint):
        """(times [N], values [N]) of one joint of a curve."""
        curve, index = self.curves[name], self.joints.index(joint)
        return np.array(curve.times_s), np.array([row[index] for row in curve.rows])

    def intervals_ms(self):
        """Times between commands [ms]."""
        return np.diff(np.array(self.command_times_s)) * 1e3

    def texts(self):
        """Texts of the run in order of their begin: (begin, end, task, text, finish reason or '' while cut off)."""
        found = {}
        for token in self.tokens:
            begin, _, task, text, _ = found.get(token.request_id, (token.time_s, 0, token.task, '', ''))
            found[token.request_id] = (begin, token.time_s, task, text + token.text, token.finish_reason)
        return sorted(found.values())
