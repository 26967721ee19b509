"""The cross-fade between two plans."""


def smooth(place):
    """
    (weight, its rate) of the newer plan at `place` 0..1 of the fade: 3u^2 - 2u^3.

    It starts and ends without a kink, so the speed of the mixture is continuous where both plans' speeds are.
    """
    if place <= 0.0:
        return 0.0, 0.0
    if place >= 1.0:
        return 1.0, 0.0
    return place * place * (3.0 - 2.0 * place), 6.0 * place * (1.0 - place)


def step_bound(gap, fade_s, slope, period_s):
    """
    Largest change of a mixture within one period.

    `gap` is the largest distance between the plans during the fade, `slope` the larger of their speeds: the steepest
    weight is 1.5 / fade.
    """
    return period_s * (slope + 1.5 * gap / fade_s)
