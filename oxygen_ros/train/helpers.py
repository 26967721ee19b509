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
    """
    `blocks float32 [B, 3, 2]` (row, column) shares of the picture by colour; `target int64 [B]` colour or -1; `first
    int64 [B, 3]` colours of the leftmost and rightmost block and of the one closest to the gripper; `gripper float32
    [B, 2]` where a block straight below the gripper would appear.
    """

    blocks: torch.Tensor
    target: torch.Tensor
    first: torch.Tensor
    gripper: torch.Tensor


class Helpers(nn.Module):
    """
    Which image token shows which block, and where in it; which shows the instruction's block, told half way up the
    trunk so that the layers above can use it; at the prompt's end, where that is; and at every word for a colour, told
    half way up too, where the block of that colour is; half way up and a layer higher, which image token shows the
    leftmost block, the rightmost and the closest; at the prompt's end half way up, where the gripper is. `colours` are
    the colour words' token ids.
    """

    def __init__(self, model, colours):
        super().__init__()
        config = model.config
        width, self.side = config.trunk_width, config.image_size // config.patch
        self.named = nn.Linear(width, 1)
        self.shows = nn.Linear(width, 3 * len(COLOURS))
        self.points = nn.Linear(width, 2)
        self.words = nn.Linear(width, 2)
        self.firsts, self.firsts_higher = nn.Linear(width, 3), nn.Linear(width, 3)
        self.gripper = nn.Linear(width, 2)
        self.colours = tuple(colours)
        half = max(config.depth // 2 - 1, 0)
        self._kept = {}
        for name, layer in (('half way', half), ('higher', half + 1)):
            model.trunk.layers[layer].register_forward_hook(
                lambda _, inputs, output, name=name: self._kept.__setitem__(name, output))

    def forward(self, batch, output, places):
        """The helpers' loss, a scalar, of a TrainingBatch and its TrainingOutput with one view."""
        found = self.shows(output.image).unflatten(-1, (len(COLOURS), 3))  # [B, N, 3, (shown, row, column)]
        scaled = places.blocks.clamp(0, 1 - 1e-4) * self.side
        cell = scaled.long()
        wanted = cell[..., 0] * self.side + cell[..., 1]  # [B, 3]
        shown = F.cross_entropy(found[..., 0].transpose(1, 2).flatten(0, 1), wanted.flatten())
        at = found[..., 1:].gather(1, wanted[:, None, :, None].expand(-1, 1, -1, 2))[:, 0]  # [B, 3, 2]
        inside = F.smooth_l1_loss(at, scaled - cell - 0.5, beta=0.1)
        text = torch.cat((batch.prompt, batch.answer), 1)
        image, half_way = self.side ** 2, self._kept['half way']
        rows = half_way[:, image:]
        first = 0.0
        for head, kept in ((self.firsts, half_way), (self.firsts_higher, self._kept['higher'])):
            marks = head(kept[:, :image]).transpose(1, 2)  # [B, 3, N]
            first = first + F.cross_entropy(marks.flatten(0, 1), wanted.gather(1, places.first).flatten())
        end = rows[torch.arange(len(rows), device=rows.device), batch.prompt_mask.sum(1) - 1]
        gripper = F.smooth_l1_loss(self.gripper(end), 4 * (places.gripper - 0.5), beta=0.1)
        word = 0.0
        for colour, token in enumerate(self.colours):
            sample, position = torch.nonzero(text == token, as_tuple=True)
            if len(sample):
                said = 4 * (places.blocks[sample, colour] - 0.5)
                word = word + F.smooth_l1_loss(self.words(rows[sample, position]), said, beta=0.1)
        always = 0.3 * shown + inside + 2 * word / len(self.colours) + 0.3 * first + gripper
        named = places.target >= 0
        if not named.any():
            return always
        marks = self.named(half_way[named, :image])[..., 0]  # [B, N]
        mark = F.cross_entropy(marks, wanted[named, places.target[named]])
        aim = places.blocks[named, places.target[named]] - 0.5
        point = F.smooth_l1_loss(self.points(output.last)[named], 4 * aim, beta=0.1)
        return always + point + 0.5 * mark
