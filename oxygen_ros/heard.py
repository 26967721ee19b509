"""What came on a topic whose messages are acted on at once and not kept."""
from dataclasses import dataclass


@dataclass
class Heard:
    """Counts of one topic; `problem` says why the newest message was refused, '' where it was not."""

    topic: str
    received: int = 0
    refused: int = 0
    received_ns: int | None = None
    problem: str = ''

    def note(self, now_ns):
        """Count a message that came now."""
        self.received += 1
        self.received_ns = now_ns
        self.problem = ''

    def refuse(self, problem):
        """The message that was noted last will not do."""
        self.refused += 1
        self.problem = problem

    def age_s(self, now_ns):
        """Seconds since the newest message; None before the first."""
        return None if self.received_ns is None else (now_ns - self.received_ns) / 1e9
