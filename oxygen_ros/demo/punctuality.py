"""How regular a stream of arrivals is, judged from outside by receive times alone."""
from dataclasses import dataclass

import numpy as np

OTHER_RATE = 0.02  # relative difference from the intended period that counts as another rate


@dataclass(frozen=True)
class Punctuality:
    """Mean rate and lateness of a periodic stream; lateness is against a fitted grid, so it is never negative."""

    rate_hz: float
    late_ms_p50: float
    late_ms_p99: float
    lost: int

    @classmethod
    def of(cls, arrivals_s, period_s):
        """
        Judge `arrivals_s` [n], ascending receive times in s, against the intended `period_s`.

        Each arrival gets a place on a grid of that period; places without one are lost ticks. The grid's phase is where
        most arrivals are. A tick can be late but not early, so of arrivals that crowd at one place all but the last
        belong to the places before. Raises ValueError with fewer than two arrivals.
        """
        arrivals_s = np.asarray(arrivals_s, np.float64)
        if len(arrivals_s) < 2:
            raise ValueError(f'a rate needs at least two arrivals, got {len(arrivals_s)}')
        rate_hz = (len(arrivals_s) - 1) / (arrivals_s[-1] - arrivals_s[0])
        typical_s = float(np.median(np.diff(arrivals_s)))
        if abs(typical_s - period_s) > OTHER_RATE * period_s:
            period_s = typical_s  # another rate than intended is the rate's business, not lateness
        phase = np.exp(2j * np.pi * arrivals_s / period_s)
        places = np.rint(arrivals_s / period_s - np.angle(phase.mean()) / (2 * np.pi))
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - 1)
        lost = int(places[-1] - places[0]) + 1 - len(places)
        late_s = arrivals_s - places * period_s
        late_s -= np.polyval(np.polyfit(places, late_s, 1), places) - late_s.mean()  # the sender's clock may drift
        late_s = np.maximum(late_s - np.percentile(late_s, 1), 0.0)
        p50, p99 = np.percentile(late_s, [50, 99]) * 1e3
        return cls(float(rate_hz), float(p50), float(p99), lost)
