"""
Losses that help a small model to see early: where the blocks are, read off by linear heads that are not kept.

Without one the flow loss falls just the same, but the policy goes to the wrong block.
"""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from oxygen_ros.sim.instructions import COLOURS


@dataclass(frozen=True)
class Places:
    """`blocks float32 [B, 3, 2]` (row, column) shares of the picture by colour; `target int64 [B]` colour or -1."""

    blocks: torch.Tensor
    target: torch.Tensor


class Helpers(nn.Module):
    """Which image token shows which block, and where in it; at the prompt's end, where the instruction's block is."""

    def __init__(self, width, side):
        super().__init__()
        self.side = side
        self.shows = nn.Linear(width, 3 * len(COLOURS))
        self.points = nn.Linear(width, 2)

    def forward(self, output, places):
        """The helpers' loss, a scalar, of a TrainingOutput with one view."""
        found = self.shows(output.image).unflatten(-1, (len(COLOURS), 3))  # [B, N, 3, (shown, row, column)]
        scaled = places.blocks.clamp(0, 1 - 1e-4) * self.side
        cell = scaled.long()
        wanted = cell[..., 0] * self.side + cell[..., 1]  # [B, 3]
        shown = F.cross_entropy(found[..., 0].transpose(1, 2).flatten(0, 1), wanted.flatten())
        at = found[..., 1:].gather(1, wanted[:, None, :, None].expand(-1, 1, -1, 2))[:, 0]  # [B, 3, 2]
        inside = F.smooth_l1_loss(at, scaled - cell - 0.5, beta=0.1)
        named = places.target >= 0
        aim = places.blocks[named, places.target[named]] - 0.5
        point = F.smooth_l1_loss(self.points(output.last)[named], 4 * aim, beta=0.1) if named.any() else 0.0
        return 0.3 * shown + inside + point
