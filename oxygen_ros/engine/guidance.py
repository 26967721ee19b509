"""
How the denoising continues actions that are already under way: real-time chunking, guided or trained.

Black, Galliker and Levine, "Real-Time Execution of Action Chunking Flow Policies", arXiv 2506.07339. Its time tau runs
from noise 0 to data 1, ours from 1 to 0: tau = 1 - t.
"""
from dataclasses import dataclass
from enum import Enum
import math

import torch

from oxygen_ros.model.transfer import to_device


class Schedule(str, Enum):
    """How the weight of the old chunk falls from the frozen rows to the free ones."""

    EXP = 'exp'        # the paper's equation 5
    LINEAR = 'linear'  # LeRobot's default
    ONES = 'ones'      # down to no row: every covered row counts fully
    ZEROS = 'zeros'    # at once: only the frozen rows count


def prefix_weights(frozen, covered, horizon, schedule=Schedule.EXP):
    """
    Weight of the old chunk for each row of the new one, float32 [horizon].

    The first `frozen` rows will have been executed before the new chunk is ready: weight 1. Rows from `covered` on have
    no old action: weight 0. In between it falls. `covered` goes first where it is the smaller one.
    """
    frozen = min(frozen, covered)
    row = torch.arange(horizon, dtype=torch.float32)
    schedule = Schedule(schedule)
    if schedule is Schedule.ONES:
        weights = torch.ones(horizon)
    elif schedule is Schedule.ZEROS:
        weights = (row < frozen).float()
    else:
        weights = torch.clamp((frozen - 1 - row) / (covered - frozen + 1) + 1, 0, 1)
        if schedule is Schedule.EXP:
            weights = weights * torch.expm1(weights) / (math.e - 1)
    return torch.where(row >= covered, torch.zeros(()), weights)


def guidance_weight(time, most):
    """Strength of the correction at `time` (1 noise, 0 data): t / (1 - t) * (t^2 + (1 - t)^2) / t^2, at most `most`."""
    if time >= 1.0:
        return float(most)
    if time <= 0.0:
        return 0.0
    done = 1.0 - time
    return min(time / done * (time * time + done * done) / (time * time), float(most))


@dataclass(frozen=True)
class Guidance:
    """
    What a new chunk is drawn to: `target` and `weights` float32 [H, A], both normalised like the model's actions.

    `max_weight` bounds the correction (the paper's beta, 5). With `jacobian` the correction goes through the expert's
    derivative, as published; without, the derivative is taken for the identity, which is what LeRobot's implementation
    computes, at the cost of a plain denoising step.
    """

    target: torch.Tensor
    weights: torch.Tensor
    max_weight: float = 5.0
    jacobian: bool = True

    def __post_init__(self):
        if self.target.shape != self.weights.shape or self.target.dim() != 2:
            raise ValueError(f'guidance needs target and weights [H, A], got {tuple(self.target.shape)} and '
                             f'{tuple(self.weights.shape)}')
        if not torch.isfinite(self.target).all():
            raise ValueError('the target of the guidance is not finite')

    def to(self, device):
        """The same on a device."""
        return Guidance(to_device(self.target, device), to_device(self.weights, device), self.max_weight, self.jacobian)

    def velocity(self, actions, time, plain, differentiable, by_row=None):
        """
        Guided velocity [H, A] of `actions [H, A]` at `time`.

        `plain(actions)`, `differentiable(actions)` and `by_row(actions, times [H])` give the model's velocity; the
        second is only called where a derivative is needed, the third not here.
        """
        weight = guidance_weight(time, self.max_weight)
        if not self.jacobian:
            velocity = plain(actions)
            return velocity - weight * (self.target - (actions - time * velocity)) * self.weights
        with torch.inference_mode(False), torch.enable_grad():
            actions = actions.clone().requires_grad_(True)
            velocity = differentiable(actions)
            estimate = actions - time * velocity
            error = (self.target - estimate.detach()) * self.weights
            correction, = torch.autograd.grad(estimate, actions, error)
            return velocity.detach() - weight * correction


@dataclass(frozen=True)
class Frozen:
    """
    The first rows of a new chunk as they will have been executed: for checkpoints that were trained to continue them.

    Black, Ren, Equi and Levine, "Training-Time Action Conditioning for Efficient Real-Time Chunking", arXiv 2512.05964:
    these rows are shown to the expert as data (time 0) while the others are denoised. `target [H, A]` holds them,
    `rows` says how many there are, `columns [A]` which columns are known. A checkpoint that was not trained so answers
    with nonsense, hence its profile must say that it was.
    """

    target: torch.Tensor
    rows: int
    columns: torch.Tensor

    def __post_init__(self):
        if not 0 <= self.rows <= len(self.target) or self.columns.shape != self.target.shape[1:]:
            raise ValueError(f'{self.rows} frozen rows and {tuple(self.columns.shape)} columns do not fit a chunk of '
                             f'{tuple(self.target.shape)}')
        if not torch.isfinite(self.target).all():
            raise ValueError('the frozen rows are not finite')

    def to(self, device):
        """The same on a device."""
        return Frozen(to_device(self.target, device), self.rows, to_device(self.columns, device))

    def velocity(self, actions, time, plain, differentiable, by_row):
        """Velocity [H, A]: the model's for the free rows; for the frozen ones that of the line that ends in them."""
        if not self.rows:
            return plain(actions)
        held = torch.zeros_like(actions, dtype=torch.bool)
        held[:self.rows] = self.columns
        times = torch.full((len(actions),), time, device=actions.device)
        times[:self.rows] = 0.0
        velocity = by_row(torch.where(held, self.target, actions), times)
        return torch.where(held, (actions - self.target) / time, velocity)
