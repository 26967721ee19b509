"""Weights to begin a small model's training from."""
import math

import torch

from oxygen_ros.model import tensors
from oxygen_ros.model.pi05 import Pi05


def waves(count, width, most_cycles):
    """`[count, width]` of unit mean square: neighbours are alike, so that numbers and places begin in their order."""
    cycles = torch.exp(torch.linspace(math.log(0.25), math.log(most_cycles), width // 2))
    angle = 2 * math.pi * (torch.arange(count)[:, None] + 0.5) / count * cycles
    return torch.cat([angle.sin(), angle.cos()], 1) * math.sqrt(2)


def grid_positions(side, width):
    """Sines and cosines of row and column, `[side * side, width]`."""
    cycles = 2 * math.pi * torch.exp(torch.linspace(math.log(0.25), math.log(side / 2), width // 4))
    step = (torch.arange(side) + 0.5) / side
    row, column = (axis.reshape(-1, 1) * cycles for axis in torch.meshgrid(step, step, indexing='ij'))
    return torch.cat([column.sin(), column.cos(), row.sin(), row.cos()], 1)


def turned(rows, generator):
    """The rows in a random orthogonal basis, so that two such families do not coincide."""
    return rows @ torch.linalg.qr(torch.randn(rows.shape[1], rows.shape[1], generator=generator))[0]


@torch.no_grad()
def fresh(config, seed, words):
    """
    A Pi05 in float32 to train; `words` are the tokenizer's Words.

    The adaptive norms begin as plain ones with open gates. With a position table that begins as noise a model of this
    size was not seen to find a block within the same training.
    """
    model = Pi05(config)
    generator = torch.Generator().manual_seed(seed)
    for name, place in sorted(tensors.places(model).items()):
        rows = place.rows
        if name.endswith('.dense.weight') or name == 'action_out_proj.weight' or place.parameter.ndim == 1:
            rows.zero_()
            if name.endswith(('layer_norm1.weight', 'layer_norm2.weight', 'post_layernorm.weight')):
                rows.fill_(1.0)
            if name.endswith('.dense.bias'):
                rows[2 * len(rows) // 3:] = 1.0  # the gate
        else:
            scale = 1.0 if 'embed_tokens' in name else 0.6
            rows.copy_(torch.randn(rows.shape, generator=generator) * scale * rows[0].numel() ** -0.5)
    embedding = tensors.places(model)[tensors.TRUNK + 'embed_tokens.weight'].rows
    width = config.trunk_width
    for ids, cycles in ((words.numbers, 40), (words.places, 16)):
        first, count = ids[0], len(ids)
        embedding[first:first + count] = turned(waves(count, width, cycles), generator) * width ** -0.5
    position = tensors.places(model)[tensors.VISION + 'embeddings.position_embedding.weight'].rows
    position.copy_(0.5 * grid_positions(config.image_size // config.patch, config.vision_width))
    return model
