"""A deadline that is pushed forward by signs of life."""


class Watchdog:
    """
    Expires when nothing was heard for `timeout_s`; 0 switches it off.

    It is idle until it is fed for the first time. Times are given, so that a jump of the clock is the caller's to see.
    """

    def __init__(self, timeout_s):
        if timeout_s < 0:
            raise ValueError(f'a watchdog needs a timeout of 0 s or more, got {timeout_s} s')
        self.timeout_ns = round(timeout_s * 1e9)
        self._fed_ns = None

    def feed(self, now_ns):
        """Start the time anew."""
        self._fed_ns = now_ns

    def clear(self):
        """Be idle until fed again."""
        self._fed_ns = None

    @property
    def running(self):
        return self._fed_ns is not None

    def age_s(self, now_ns):
        """Seconds since the last sign of life; NaN before the first."""
        return float('nan') if self._fed_ns is None else (now_ns - self._fed_ns) / 1e9

    def expired(self, now_ns):
        """True where the last sign of life is older than the timeout."""
        return bool(self.timeout_ns) and self._fed_ns is not None and now_ns - self._fed_ns > self.timeout_ns
