"""Robot numbers to the model's scale and back."""
import numpy as np

from oxygen_ros.profile.profile import Normalisation, NormalisationRule

EPSILON = {NormalisationRule.OPENPI: 1e-6, NormalisationRule.LEROBOT: 1e-8}


def shift_and_scale(statistics, mode, rule, size):
    """
    Return `(shift [size], scale [size], offset [size])` with normalised = (x - shift) / scale + offset.

    Sources: openpi src/openpi/transforms.py Normalize and Unnormalize; LeRobot processor/normalize_processor.py.
    Dimensions beyond the statistics are not touched, as in both.
    """
    shift, scale, offset = np.zeros(size), np.ones(size), np.zeros(size)
    epsilon = EPSILON[rule]
    if mode is Normalisation.IDENTITY:
        return shift, scale, offset
    if mode is Normalisation.MEAN_STD:
        count = min(size, len(statistics.mean))
        shift[:count] = statistics.mean[:count]
        scale[:count] = statistics.std[:count] + epsilon
        return shift, scale, offset
    low, high = ((statistics.q01, statistics.q99) if mode is Normalisation.QUANTILE
                 else (statistics.min, statistics.max))
    count = min(size, len(low))
    span = high[:count] - low[:count]
    if rule is NormalisationRule.OPENPI:
        span = span + epsilon
    else:
        span = np.where(span == 0, epsilon, span)
    shift[:count], scale[:count], offset[:count] = low[:count], span / 2, -1
    return shift, scale, offset


def normalise(values, statistics, mode, rule):
    """Robot or delta numbers [..., J] -> the model's scale, float64; nothing is clipped."""
    values = np.asarray(values, dtype=np.float64)
    shift, scale, offset = shift_and_scale(statistics, mode, rule, values.shape[-1])
    return (values - shift) / scale + offset


def unnormalise(values, statistics, mode, rule):
    """Return the exact inverse of `normalise`, float64 [..., J]."""
    values = np.asarray(values, dtype=np.float64)
    shift, scale, offset = shift_and_scale(statistics, mode, rule, values.shape[-1])
    return (values - offset) * scale + shift
