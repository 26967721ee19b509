"""
Real-time chunking: which part of the running chunk the next one is to agree with.

Rows are matched by time, so a wrong guess of the delay shifts nothing: it only decides how many rows count as fixed.
"""
from collections import deque
from dataclasses import dataclass
import math

import numpy as np
import torch

from oxygen_ros.control.chunk_buffer import PositionPath
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.engine.guidance import Frozen, Guidance, prefix_weights, Schedule


@dataclass(frozen=True)
class RtcConfig:
    """
    Settings of real-time chunking; see `Guidance` for `max_weight` and `jacobian`.

    `horizon_s` is how far into the new chunk the old one is followed at most; 0 for as far as it reaches.
    `trained_rows` is for how many rows the checkpoint was trained to continue a chunk (its profile says so): that many
    are then given to it as they are, without guidance; more, and it is guided.
    """

    max_weight: float = 5.0
    schedule: Schedule = Schedule.EXP
    horizon_s: float = 0.0
    jacobian: bool = True
    trained_rows: int = 0

    def __post_init__(self):
        object.__setattr__(self, 'schedule', Schedule(self.schedule))
        if not (math.isfinite(self.max_weight) and self.max_weight > 0):
            raise ValueError(f'max_weight must be positive and finite, got {self.max_weight}')
        if not (math.isfinite(self.horizon_s) and self.horizon_s >= 0):
            raise ValueError(f'horizon_s must be 0 s or more, got {self.horizon_s}')
        if self.trained_rows < 0:
            raise ValueError(f'trained_rows must be 0 or more, got {self.trained_rows}')


def executed_at(chunk, stamp_ns, dt_s, rows):
    """
    What a chunk says for the times `stamp + i * dt`, [n, J] with n <= rows: as far as it reaches, from its first row.

    Positions are interpolated as the controller does it, velocities and deltas are those of the step that is running:
    they are not resampled.
    """
    place = ((stamp_ns - chunk.stamp_ns) / 1e9 + np.arange(rows) * dt_s) / chunk.dt_s
    last = chunk.horizon - 1
    # Both times are rounded to whole nanoseconds, which must not cost the last row.
    place = place[(place >= -1e-6) & (place <= last + 1e-6 if chunk.kind is ActionKind.JOINT_POSITION
                                      else place < chunk.horizon - 1e-6)]
    if chunk.kind is not ActionKind.JOINT_POSITION:
        return chunk.data[np.floor(place + 1e-6).astype(int).clip(0, last)]
    path, slope = PositionPath(chunk), np.zeros(chunk.data.shape[1])
    values = np.zeros((len(place), len(slope)))
    for i, value in enumerate(values):
        path.sample(chunk.stamp_ns + place[i] * path.dt_ns, value, slope)
    return values


class RealTimeChunking:
    """
    Makes the guidance of each frame.

    `plan()` gives the Plan in force, or None (nothing is running, or it was stopped or dropped): then there is no
    guidance. `model_actions(data [n, J], observation) -> [n, A]` brings robot actions to the model's scale for this
    observation, so that relative actions are anchored where this inference stands.
    """

    DELAYS = 10  # the longest of so many newest delays is expected next, as in the paper

    def __init__(self, plan, model_actions, horizon, action_dim, dt_s, config=RtcConfig()):
        self.plan, self.model_actions, self.config = plan, model_actions, config
        self.horizon, self.action_dim, self.dt_s = horizon, action_dim, dt_s
        self._delays_ns = deque(maxlen=self.DELAYS)
        self._last = None
        self.guided = 0

    def frozen_rows(self):
        """
        Rows of the next chunk that are settled before it is ready.

        Those that will have passed, and for positions the next one too: between two rows both decide where the arm is.
        """
        passed = math.ceil(max(self._delays_ns, default=0) / 1e9 / self.dt_s - 1e-6)
        return passed + (self._last is not None and self._last.kind is ActionKind.JOINT_POSITION)

    def __call__(self, observation):
        """Guidance or Frozen for the frame of this observation, or None."""
        plan = self.plan()
        if plan is None:
            self._last = None
            return None
        if plan.chunk is not self._last:
            self._delays_ns.append(plan.delay_ns)
            self._last = plan.chunk
        if plan.chunk.instruction_id != observation.instruction_id or plan.chunk.stamp_ns > observation.stamp_ns:
            return None
        running = executed_at(plan.chunk, observation.stamp_ns, self.dt_s, self.horizon)
        if self.config.horizon_s:
            running = running[:max(1, round(self.config.horizon_s / self.dt_s))]
        if not len(running):
            return None
        known = torch.as_tensor(np.asarray(self.model_actions(running, observation)), dtype=torch.float32)
        # Columns that the robot does not have, or that have no way back (NaN), are left to the model.
        columns = torch.zeros(self.action_dim, dtype=torch.bool)
        columns[:known.shape[1]] = torch.isfinite(known).all(dim=0)
        target = torch.zeros(self.horizon, self.action_dim)
        target[:len(known), columns] = known[:, columns[:known.shape[1]]]
        self.guided += 1
        rows = min(self.frozen_rows(), len(known))
        if 0 < rows <= self.config.trained_rows:
            return Frozen(target, rows, columns)
        weights = prefix_weights(self.frozen_rows(), len(known), self.horizon, self.config.schedule)[:, None] * columns
        return Guidance(target, weights, self.config.max_weight, self.config.jacobian)
