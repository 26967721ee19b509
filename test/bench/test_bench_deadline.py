"""Misses are counted between chunks, and each kind's beside those that the action-only loop would have had."""
from types import SimpleNamespace

import pytest

from oxygen_ros.bench.deadline import Loop
from oxygen_ros.engine.counters import Counters


class Runner:
    """Chunks leave at given times."""

    def __init__(self, times):
        self.shapes = SimpleNamespace(horizon=8)
        self.engine = SimpleNamespace(counters=Counters(), chunk_left_s=None)
        self.times = iter(times)

    def frame(self):
        self.engine.chunk_left_s = next(self.times)
        self.engine.counters.tokens += 3


def test_intervals_misses_and_rates_by_hand():
    loop = Loop(Runner((0.0, 0.1, 0.2, 9.0, 9.1, 9.5)))
    loop.run(2)
    loop.run(2)  # the turn of others in between, 8.8 s, is nobody's interval
    assert loop.intervals_s == pytest.approx([0.1, 0.1, 0.1, 0.4])
    found = loop.report(0.35)
    assert (found['misses'], found['misses_per_1000']) == (1, 250)
    assert loop.misses_per_1000(0.05) == 1000 and loop.misses_per_1000(0.5) == 0
    assert found['interval_ms'] == pytest.approx(100) and found['interval_ms_mean'] == pytest.approx(175)
    assert found['action_hz'] == pytest.approx(80) and found['chunk_horizon'] == 8
    assert loop.done('tokens') == 18
