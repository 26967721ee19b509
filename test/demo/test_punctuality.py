import numpy as np
import pytest

from oxygen_ros.demo.punctuality import Punctuality


def test_a_perfect_stream_is_never_late():
    judged = Punctuality.of(np.arange(600) / 60, 1 / 60)
    assert judged.rate_hz == pytest.approx(60)
    assert judged.late_ms_p99 == pytest.approx(0, abs=1e-6)
    assert judged.lost == 0


def test_a_rate_that_is_off_shows_as_rate_and_not_as_lateness():
    judged = Punctuality.of(np.arange(600) * 0.016, 1 / 60)
    assert judged.rate_hz == pytest.approx(62.5)
    assert judged.late_ms_p99 < 0.1


def test_late_ticks_show_in_the_99th_percentile():
    arrivals = np.arange(1000) / 50
    arrivals[100::50] += 0.004
    judged = Punctuality.of(arrivals, 1 / 50)
    assert judged.late_ms_p99 == pytest.approx(4.0, abs=0.2)
    assert judged.late_ms_p50 < 0.2


def test_a_tick_that_never_came_is_lost():
    arrivals = np.delete(np.arange(500) / 60, [50, 51, 300])
    assert Punctuality.of(arrivals, 1 / 60).lost == 3


def test_ticks_bunched_by_a_stall_are_late_but_not_lost():
    arrivals = np.arange(300) / 60
    arrivals[100:104] = arrivals[104]  # four ticks wait for a stalled process and come at once
    judged = Punctuality.of(arrivals, 1 / 60)
    assert judged.lost == 0
    assert judged.late_ms_p99 > 15


def test_one_arrival_has_no_rate():
    with pytest.raises(ValueError, match='at least two arrivals'):
        Punctuality.of([1.0], 1 / 60)


def test_jitter_of_more_than_half_a_period_does_not_lose_or_shift_ticks():
    random = np.random.default_rng(0)
    arrivals = np.arange(2000) / 60 + random.exponential(0.001, 2000)
    arrivals[::17] += 0.011
    judged = Punctuality.of(np.sort(arrivals), 1 / 60)
    assert judged.lost == 0
    assert judged.late_ms_p50 < 2 and 9 < judged.late_ms_p99 < 16
