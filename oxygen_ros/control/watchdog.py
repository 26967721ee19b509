"""A deadline that is pushed forward by signs of life."""


class Watchdog:
    """
    Expires when nothing was heard for a time; 0 switches it off.

    What was never fed has expired. Times are given; a clock that is set would feign or hide signs of life, so they are
    those of a steady one.
    """

    def __init__(self, timeout_s):
        self.set(timeout_s)
        self._fed_ns = None

    def set(self, timeout_s):
        """Another time from now on."""
        if timeout_s < 0:
            raise ValueError(f'a watchdog needs a timeout of 0 s or more, got {timeout_s} s')
        self.timeout_ns = round(timeout_s * 1e9)

    def feed(self, now_ns):
        """Start the time anew."""
        self._fed_ns = now_ns

    def expired(self, now_ns):
        """True where the last sign of life is older than the timeout."""
        return bool(self.timeout_ns) and (self._fed_ns is None or now_ns - self._fed_ns > self.timeout_ns)
