import numpy as np
import pytest

from oxygen_ros.profile.normalise import normalise, unnormalise
from oxygen_ros.profile.profile import Normalisation, NormalisationRule, Statistics

STATISTICS = Statistics(mean=[1.0, 2.0], std=[0.5, 0.0], q01=[-1.0, 3.0], q99=[3.0, 3.0], min=[-2.0, 0], max=[4.0, 1])
X = np.array([[0.3, 3.0], [-2.0, 2.5]])


def test_openpi_quantiles():
    span = STATISTICS.q99 - STATISTICS.q01 + 1e-6
    expected = (X - STATISTICS.q01) / span * 2 - 1
    got = normalise(X, STATISTICS, Normalisation.QUANTILE, NormalisationRule.OPENPI)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_lerobot_quantiles_touch_only_an_empty_span():
    got = normalise(X, STATISTICS, Normalisation.QUANTILE, NormalisationRule.LEROBOT)
    np.testing.assert_allclose(got[:, 0], 2 * (X[:, 0] + 1) / 4 - 1, rtol=1e-12)
    np.testing.assert_allclose(got[:, 1], 2 * (X[:, 1] - 3) / 1e-8 - 1, rtol=1e-12)


@pytest.mark.parametrize('rule, epsilon', [(NormalisationRule.OPENPI, 1e-6), (NormalisationRule.LEROBOT, 1e-8)])
def test_mean_and_deviation(rule, epsilon):
    got = normalise(X, STATISTICS, Normalisation.MEAN_STD, rule)
    np.testing.assert_allclose(got, (X - STATISTICS.mean) / (STATISTICS.std + epsilon))


@pytest.mark.parametrize('mode', list(Normalisation))
@pytest.mark.parametrize('rule', list(NormalisationRule))
def test_round_trip(mode, rule):
    there = normalise(X, STATISTICS, mode, rule)
    np.testing.assert_allclose(unnormalise(there, STATISTICS, mode, rule), X, atol=1e-9)


def test_dimensions_beyond_the_statistics_pass_through():
    wide = np.array([0.0, 3.0, 7.0])
    got = normalise(wide, STATISTICS, Normalisation.QUANTILE, NormalisationRule.OPENPI)
    assert got[2] == 7.0
    assert unnormalise(got, STATISTICS, Normalisation.QUANTILE, NormalisationRule.OPENPI)[2] == 7.0


def test_statistics_are_checked():
    with pytest.raises(ValueError, match='q01 is above q99 in dimension 1'):
        Statistics(q01=[0, 2], q99=[1, 1])
    with pytest.raises(ValueError, match='non-finite'):
        Statistics(mean=[np.nan])
    with pytest.raises(ValueError, match='needs std'):
        Statistics(mean=[0.0]).require(Normalisation.MEAN_STD, 1, 'the state')
    with pytest.raises(ValueError, match='has 1 numbers, the profile has 2'):
        Statistics(q01=[0], q99=[1]).require(Normalisation.QUANTILE, 2, 'the state')
