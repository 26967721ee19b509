"""Promise: runs take turns, and what is given of many is their median, with the slow end beside it."""
import pytest

from oxygen_ros.bench.measure import Samples, interleave


def test_turns_are_taken_round_by_round():
    order, told = [], []
    interleave({name: lambda name=name: order.append(name) for name in 'abc'}, 2, told.append)
    assert order == ['a', 'b', 'c', 'a', 'b', 'c']
    assert told[0] == 'round 1 of 2: a' and told[-1] == 'round 2 of 2: c'


def test_a_median_and_the_slow_end_of_times_and_of_rates():
    samples = Samples()
    for value in (4, 1, 3, 2, 100):
        samples.add(frame_ms=value, action_hz=value, tokens_per_s=value)
    found = samples.summary()
    assert found['frame_ms'] == found['action_hz'] == found['tokens_per_s'] == samples.median('frame_ms') == 3
    assert found['frame_ms_p99'] == pytest.approx(4 + 0.96 * 96)  # the slowest of so few, all but reached
    assert found['action_hz_p99'] == found['tokens_per_s_p99'] == pytest.approx(1.04)  # of rates the lowest
