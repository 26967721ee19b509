"""What the controller did, counted since it was made."""
from dataclasses import dataclass


@dataclass
class ControlCounters:
    """
    Ticks by their source, and what was refused or limited.

    `ticks_between` are the silent ones between two deltas; `clamps` counts joint values that a limit changed.
    """

    ticks: int = 0
    ticks_fresh: int = 0
    ticks_held: int = 0
    ticks_silent: int = 0
    ticks_between: int = 0
    clamps: int = 0
    chunks_taken: int = 0
    chunks_rejected: int = 0
    stops: int = 0
    clock_jumps: int = 0
