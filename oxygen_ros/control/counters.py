"""What the controller did, counted since it was made."""
from dataclasses import dataclass


@dataclass
class ControlCounters:
    """
    Ticks by their source, and what was refused or limited.

    `ticks_between` are the silent ones between two deltas; `clamps` counts joint values that a limit changed.
    `boundary_gap` is how far the newest chunk lay from the plan it took over from, at that moment, over all joints, in
    rad or m (rad/s or m/s for velocities), and `boundary_gap_max` the largest so far.
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
    boundary_gap: float = 0.0
    boundary_gap_max: float = 0.0
