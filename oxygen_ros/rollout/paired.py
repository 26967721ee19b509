"""Two modes on the same scenes: how much more often the first succeeds, with the interval of that difference."""
import math

Z95 = 1.959963984540054


def tango(only_first, only_second, pairs, z=Z95):
    """
    Tango's score interval (low, high) of the difference of two paired shares; (-1, 1) without a pair.

    `only_first` and `only_second` count the pairs in which one alone succeeded. T. Tango, Equivalence test and
    confidence interval for the difference in proportions for the paired-sample design, Statistics in Medicine 17
    (1998), 891-908: all differences that the score test does not reject.
    """
    if not pairs:
        return -1.0, 1.0
    observed = (only_first - only_second) / pairs

    def score(difference):
        """Standardised distance of the observed from an assumed difference; falls as that grows."""
        # Maximum likelihood of the share of the second alone, under the assumed difference.
        a = 2 * pairs
        b = (2 * pairs - only_first + only_second) * difference - only_first - only_second
        c = -only_second * difference * (1 - difference)
        share = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
        variance = pairs * (2 * share + difference * (1 - difference))
        distance = pairs * (observed - difference)
        return distance / math.sqrt(variance) if variance > 1e-15 else math.copysign(math.inf, distance)

    def cross(inside, outside, level):
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if abs(score(middle)) < level else (inside, middle)
        return inside

    return cross(observed, -1.0, z), cross(observed, 1.0, z)


def compare(first, second):
    """Figures of two lists of Episodes of the same scenes, as first minus second."""
    for one, other in zip(first, second, strict=True):
        if (one.seed, one.kind) != (other.seed, other.kind):
            raise ValueError(f'episode {one.seed} {one.kind} cannot be paired with {other.seed} {other.kind}')
    only_first = sum(one.success and not other.success for one, other in zip(first, second))
    only_second = sum(other.success and not one.success for one, other in zip(first, second))
    return {
        'difference': (only_first - only_second) / len(first) if first else 0.0,
        'difference_ci95': list(tango(only_first, only_second, len(first))),
        'both': sum(one.success and other.success for one, other in zip(first, second)),
        'only_first': only_first, 'only_second': only_second,
        'neither': sum(not one.success and not other.success for one, other in zip(first, second)),
        'same_trajectory': sum(one.digest == other.digest for one, other in zip(first, second)),
    }
