"""Rotary positions: theta 10000, first half rotated against second half, over the whole head."""
from typing import NamedTuple

import torch


class Turn(NamedTuple):
    """The rotation of some rows; `start` is the first position where they follow each other, else None."""

    cos: torch.Tensor
    sin: torch.Tensor
    start: int | None = None


def frequencies(head_dim, theta, device=None):
    """Angular step per position, float32 [D / 2]."""
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim
    return theta ** -exponent


def rotation(positions, steps):
    """`(cos, sin)` for positions [...], each float32 [..., 1, D / 2]: the middle axis is the head."""
    angle = positions[..., None, None].float() * steps
    return angle.cos(), angle.sin()


def rotate(x, turn):
    """Rotate x [..., heads, D] by `turn` in float32 (as the JAX code does) and give back x's type."""
    cos, sin = turn[:2]
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)
