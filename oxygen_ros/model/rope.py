"""Rotary positions: theta 10000, first half rotated against second half, over the whole head."""
from typing import NamedTuple

import torch


class Turn(NamedTuple):
    """
    What `rotate` does to some rows: `cos, sin [..., heads + 2, D]` of queries, key and value.

    Queries are turned and scaled by D^-1/2, the key is turned, the value is left as it is, so that all three go through
    one pass. `start` is the first position where the rows follow each other, else None.
    """

    cos: torch.Tensor
    sin: torch.Tensor
    start: int | None = None


def frequencies(head_dim, theta, device=None):
    """Angular step per position, float32 [D / 2]."""
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim
    return theta ** -exponent


def rotation(positions, steps):
    """`(cos, sin)` for positions [...], each float32 [..., 1, D]: the middle axis is the head; sin with its sign."""
    angle = positions[..., None, None].float() * steps
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)


def turn_of(cos, sin, heads, start=None):
    """The Turn of rows whose `rotation` this is."""
    scale, many = cos.shape[-1] ** -0.5, (*cos.shape[:-2], heads, cos.shape[-1])
    return Turn(torch.cat(((cos * scale).expand(many), cos, torch.ones_like(cos)), -2),
                torch.cat(((sin * scale).expand(many), sin, torch.zeros_like(sin)), -2), start)


def rotate(qkv, turn):
    """`qkv [..., heads + 2, D]` turned in float32 (as the JAX code does), float32."""
    wide = qkv.float()
    return torch.addcmul(wide * turn.cos, wide.roll(wide.shape[-1] // 2, -1), turn.sin)
