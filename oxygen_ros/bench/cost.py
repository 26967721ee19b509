"""Arithmetic and traffic of each stage, counted from the sizes (multiply-add = 2 FLOP)."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """FLOP and bytes of one stage, the rows of its products and their `(out, in)` shapes."""

    flop: float
    bytes: float
    rows: int
    shapes: tuple[tuple[int, int], ...]

    def bound_s(self, gflops, gb_s):
        return max(self.flop / gflops / 1e9, self.bytes / gb_s / 1e9)


def _gemma(width, mlp, c):
    return (((c.heads + 2) * c.head_dim, width), (width, c.heads * c.head_dim), (2 * mlp, width), (width, mlp))


def _size(shapes):
    return sum(outputs * inputs for outputs, inputs in shapes)


def vision(c, views, size):
    """`size` is bytes a number."""
    shapes = ((3 * c.vision_width, c.vision_width), (c.vision_width, c.vision_width),
              (c.vision_mlp, c.vision_width), (c.vision_width, c.vision_mlp))
    rows = views * c.image_tokens
    weights = c.vision_depth * _size(shapes) + c.vision_width * (3 * c.patch ** 2 + c.trunk_width)
    attention = views * c.vision_depth * 4 * c.vision_width * c.image_tokens ** 2
    return Cost(2 * rows * weights + attention, weights * size, rows, shapes)


def prefill(c, length, size):
    """The last layer computes keys and values only, and one row of the rest."""
    shapes = _gemma(c.trunk_width, c.trunk_mlp, c)
    layer = _size(shapes)
    keys = 2 * c.head_dim * c.trunk_width
    flop = 2 * length * ((c.depth - 1) * layer + keys) + 2 * (layer - keys)
    flop += (c.depth - 1) * 4 * c.heads * c.head_dim * length ** 2 + 4 * c.heads * c.head_dim * length
    return Cost(flop, c.depth * (layer + 2 * c.head_dim * length) * size, length, shapes)


def denoise(c, length, steps, size):
    """With all constants of the times ready."""
    shapes = _gemma(c.expert_width, c.expert_mlp, c)
    weights = c.depth * _size(shapes)
    flop = 2 * c.horizon * weights + c.depth * 4 * c.heads * c.head_dim * c.horizon * (length + c.horizon)
    return Cost(steps * flop, steps * (weights + c.depth * 2 * c.head_dim * length) * size, c.horizon, shapes)


def decode(c, rows, length, own, size, prefixes=None):
    """One round: `rows` streams on `prefixes` different prefixes (one each by default), `own` own keys each."""
    shapes = _gemma(c.trunk_width, c.trunk_mlp, c) + ((c.vocabulary, c.trunk_width),)
    weights = c.depth * _size(shapes[:4]) + _size(shapes[4:])
    prefixes = rows if prefixes is None else prefixes
    flop = rows * (2 * weights + c.depth * 4 * c.heads * c.head_dim * (length + own))
    keys = c.depth * 2 * c.head_dim * (prefixes * length + rows * own)
    return Cost(flop, (weights + keys) * size, rows, shapes)
