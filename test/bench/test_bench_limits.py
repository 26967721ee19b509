"""Promise: the machine's limits are the best of what was timed, in the units that their names say."""
import itertools

import pytest
import torch

from oxygen_ros.bench import limits


def ticking(*steps):
    """A clock of which every second reading is one of `steps`, over and over, after the one before."""
    now, waits = 0.0, itertools.cycle(steps)
    stopping = itertools.cycle((False, True))

    def clock():
        nonlocal now
        now += next(waits) if next(stopping) else 0.0
        return now

    return clock


def test_the_shortest_of_at_least_three_runs_counts_and_the_warm_up_does_not():
    calls = []
    assert limits.best_s(lambda: calls.append(1), 'cpu', ticking(5.0, 2.0, 4.0)) == 2.0
    assert len(calls) == 1 + 3
    calls.clear()
    assert limits.best_s(lambda: calls.append(1), 'cpu', ticking(0.008)) == pytest.approx(0.008)
    assert len(calls) == 1 + 4  # short runs are repeated until 0.03 s were spent


def test_bandwidth_is_bytes_read_over_time(monkeypatch):
    assert limits.PASSES * limits.LARGEST * 4 == 1 << 30
    monkeypatch.setattr(limits, 'LARGEST', 1000)
    assert limits.bandwidth_gb_s('cpu', ticking(0.02)) == pytest.approx(4 * 1000 * 4 / 0.02 / 1e9)


def test_a_product_rate_is_two_flop_an_element_and_row_over_time():
    assert limits.gemm_gflops(3, ((40, 20),), torch.float32, 'cpu', ticking(0.02)) == pytest.approx(
        2 * 3 * 40 * 20 / 0.02 / 1e9)


def test_of_kernels_and_shapes_the_best_rate_counts(monkeypatch):
    times, asked = iter((0.4, 0.1, 0.5, 0.25)), []

    def best_s(call, device, clock):
        asked.append(tuple(call().shape))
        return next(times)

    monkeypatch.setattr(limits, 'best_s', best_s)
    monkeypatch.setattr(limits, 'can_pack', lambda weight: True)
    monkeypatch.setattr(limits.Linear, 'pack', lambda self, rows: None)
    rate = limits.gemm_gflops(2, ((10, 30), (60, 10)), torch.float32, 'cpu', None)
    assert asked == [(2, 10)] * 2 + [(2, 60)] * 2  # plain, then blocked
    assert rate == pytest.approx(max(2 * 2 * 300 / 0.1, 2 * 2 * 600 / 0.25) / 1e9)
