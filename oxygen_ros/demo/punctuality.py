"""How regular a stream of arrivals is, judged from outside by receive times alone."""
from dataclasses import dataclass

import numpy as np


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

        Each arrival is assigned to a place on a grid of that period; a place without an arrival is a lost tick. The
        grid starts at the phase of the most punctual arrivals (the 1st percentile, so that one early outlier does not
        make all others late). Raises ValueError with fewer than two arrivals.
        """
        arrivals_s = np.asarray(arrivals_s, np.float64)
        if len(arrivals_s) < 2:
            raise ValueError(f'a rate needs at least two arrivals, got {len(arrivals_s)}')
        span_s = arrivals_s[-1] - arrivals_s[0]
        rate_hz = (len(arrivals_s) - 1) / span_s
        lost = max(round(span_s / period_s) + 1 - len(arrivals_s), 0)
        if lost:
            places = np.concatenate([[0], np.cumsum(np.rint(np.diff(arrivals_s) / period_s))])
        else:  # ticks bunched by a stall belong to neighbouring places all the same
            places = np.arange(len(arrivals_s))
        phase_s = arrivals_s - arrivals_s[0] - places * period_s
        # The sender's true period may differ a little from the intended one; that is the rate's business.
        drift_s = np.polyfit(places, phase_s, 1)[0] if len(arrivals_s) > 2 else 0.0
        late_s = phase_s - drift_s * places
        late_s = np.maximum(late_s - np.percentile(late_s, 1), 0.0)
        p50, p99 = np.percentile(late_s, [50, 99]) * 1e3
        return cls(float(rate_hz), float(p50), float(p99), lost)
