"""Whether the first decode round of a frame rides in its prefill."""
from collections import deque
from enum import Enum
from statistics import median

from oxygen_ros.engine.deadline import bucket

WINDOW = 20  # newest times that count
LEAST = 3  # times of each way before they are compared
RETRY_EVERY = 100  # choices after which the other way is measured once more


class Ride(str, Enum):
    """`off`: never; `on`: always; `auto`: where it takes less time than a round of its own."""

    OFF = 'off'
    ON = 'on'
    AUTO = 'auto'


class RideChoice:
    """
    Compares what both ways have taken: a prefill with rows less one without, and a round alone.

    Prefills are compared for the same number of views, rows by the deadline controller's sizes. Times in any one unit.
    """

    def __init__(self):
        self.prefills, self.rounds = {}, {}  # (views, size, 0 for nobody) and size -> newest times
        self.choices = 0

    def saw_prefill(self, views, rows, took):
        """A prefill of `views` pictures that `rows` rows rode in took so long."""
        self.prefills.setdefault((views, rows and bucket(rows)), deque(maxlen=WINDOW)).append(took)

    def saw_round(self, rows, took):
        """A round of its own took so long."""
        self.rounds.setdefault(bucket(rows), deque(maxlen=WINDOW)).append(took)

    def cost(self, views, rows):
        """By how much `rows` riders have lengthened a prefill of `views` pictures; 0 where that was not measured."""
        alone, riding = self.prefills.get((views, 0), ()), self.prefills.get((views, rows and bucket(rows)), ())
        return max(0.0, median(riding) - median(alone)) if len(alone) >= LEAST and len(riding) >= LEAST else 0.0

    def rides(self, views, rows):
        """Whether the `rows` live streams should ride in the prefill of `views` pictures."""
        size = bucket(rows)
        alone, after = self.prefills.get((views, 0), ()), self.rounds.get(size, ())
        riding = self.prefills.get((views, size), ())
        if len(alone) < LEAST or len(after) < LEAST:
            return False
        if len(riding) < LEAST:
            return True
        self.choices += 1
        shorter = median(riding) - median(alone) < median(after)
        return shorter != (self.choices % RETRY_EVERY == 0)
