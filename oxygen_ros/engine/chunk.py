"""The actions of one frame in robot units."""
from dataclasses import dataclass
from enum import Enum

import numpy as np


class ActionKind(str, Enum):
    """What the numbers of an action mean; decides interpolation, blending, limits and what holding means."""

    JOINT_POSITION = 'joint_position'
    JOINT_VELOCITY = 'joint_velocity'
    EEF_DELTA = 'eef_delta'


class NotFinite(ValueError):
    """The model gave numbers that are none: a broken checkpoint, or an overflow."""


@dataclass(frozen=True)
class ActionChunk:
    """
    `[H, J]` actions at `dt_s` spacing; row i is valid at `stamp_ns + i * dt_s`.

    Always in robot units (rad, m, rad/s, m/s by kind): normalised numbers never wear this type. `joint_names` names
    the columns. `instruction_id` tells which instruction it obeys.
    """

    frame_id: int
    stamp_ns: int
    instruction_id: int
    kind: ActionKind
    joint_names: tuple[str, ...]
    dt_s: float
    data: np.ndarray  # [H, J] float64

    def __post_init__(self):
        if self.data.ndim != 2 or self.data.shape[1] != len(self.joint_names) or not len(self.data):
            raise ValueError(f'a chunk for {len(self.joint_names)} joints must be [H, J], got {self.data.shape}')
        if not self.dt_s > 0:
            raise ValueError(f'dt must be positive, got {self.dt_s} s')

    @property
    def horizon(self):
        return len(self.data)

    @property
    def end_ns(self):
        """Time of the last row."""
        return self.stamp_ns + round((self.horizon - 1) * self.dt_s * 1e9)
