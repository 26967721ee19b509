"""What the controller is doing, and why."""
from enum import Enum
from typing import NamedTuple

import numpy as np


class ControlState(str, Enum):
    """Explicit state of the controller."""

    INACTIVE = 'inactive'  # commands nothing
    WAITING = 'waiting'    # lacks something; commands nothing
    RUNNING = 'running'    # commands from a valid chunk
    HOLDING = 'holding'    # no valid chunk: brakes, then holds, then falls silent and waits
    STOPPED = 'stopped'    # told to stop: brakes, holds, falls silent; leaves only by resume


class Tick(NamedTuple):
    """
    Result of one control tick.

    `command` is float64 [J] in robot units, or None where nothing is to be published. `source` is 'fresh' (from a valid
    chunk), 'held' or 'silent'. `clamps` counts the joints that a limit changed. `chunk_age_ms` is the age of the
    observation behind the command, NaN without one.
    """

    command: np.ndarray | None
    source: str
    reason: str
    clamps: int
    chunk_age_ms: float
