import numpy as np
import pytest

from oxygen_ros.rollout.paired import compare, tango
from oxygen_ros.rollout.scores import Episode


def episode(seed, success, kind='pick', fill=0.0):
    return Episode.of(np.full((10, 14), fill), 50.0, seed=seed, kind=kind, success=success, sim_s=0.2, commanded_s=0.2,
                      chunks=1)


def test_the_interval_is_the_published_one():
    # Airway reactivity of 21 children, 1 and 7 discordant: Fagerland, Lydersen and Laake, Statistics in Medicine 33
    # (2014), 2850-2875, give (-0.517, -0.026).
    assert tango(1, 7, 21) == (pytest.approx(-0.517, abs=1e-3), pytest.approx(-0.026, abs=1e-3))


def test_without_discordant_pairs_the_interval_is_that_of_none_in_n():
    z2 = 1.959963984540054 ** 2
    assert tango(0, 0, 200) == (pytest.approx(-z2 / (200 + z2), abs=1e-6), pytest.approx(z2 / (200 + z2), abs=1e-6))
    assert tango(0, 0, 0) == (-1.0, 1.0)


def test_the_interval_turns_with_its_modes_and_holds_the_difference():
    low, high = tango(9, 3, 50)
    assert tango(3, 9, 50) == (pytest.approx(-high), pytest.approx(-low)) and low < 6 / 50 < high
    assert tango(20, 0, 20)[1] == pytest.approx(1.0) and tango(20, 0, 20)[0] < 1.0


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random, covered = np.random.default_rng(0), 0
    for _ in range(2000):
        _, only_first, only_second, _ = random.multinomial(60, (0.7, 0.12, 0.08, 0.1))
        low, high = tango(only_first, only_second, 60)
        covered += low <= 0.04 <= high
    assert 0.935 < covered / 2000 < 0.97


def test_modes_are_compared_scene_by_scene():
    first = [episode(1, True), episode(2, True, fill=1.0), episode(3, False)]
    second = [episode(1, True), episode(2, False), episode(3, False)]
    figures = compare(first, second)
    assert (figures['both'], figures['only_first'], figures['only_second'], figures['neither']) == (1, 1, 0, 1)
    assert figures['difference'] == pytest.approx(1 / 3) and figures['same_trajectory'] == 2
    with pytest.raises(ValueError, match='cannot be paired'):
        compare(first, [episode(1, True), episode(4, True), episode(3, True)])
