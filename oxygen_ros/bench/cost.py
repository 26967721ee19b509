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


def activation_bytes(c, mode, shapes, size):
    """
    Most that one frame holds besides weights, tables and pool: the largest layer of vision or prefill.

    Of a prefill layer these are, with T rows, hidden rows and residual `[T, W]`, and either scores and weights
    `[T, heads, T]` beside Q, K, V or both halves of the MLP. The reference keeps padding, scores in float32 beside
    those in its own type, keys for every head, and all layers' keys and values.
    """
    reference = mode == 'reference'
    views, words = (3, shapes.padded_prompt) if reference else (shapes.views, shapes.prompt)
    rows = views * c.image_tokens + words
    pictures = 4 * 3 * c.image_size ** 2 * views

    def layer(count, width, mlp, heads, dim, batch, scores):
        hidden = 2 * count * width * size
        attention = (count * (heads + 2) * dim + count * heads * dim) * size + scores * heads * count * count // batch
        return hidden + max(attention, 2 * count * mlp * size)

    # Scores live twice while softmax runs; in the reference once more in float32, before and after.
    scores = 2 * size + (8 if reference else 0)
    trunk = layer(rows, c.trunk_width, c.trunk_mlp, c.heads, c.head_dim, 1, scores)
    one = 1 if reference else views
    head = c.vision_width // c.vision_heads
    sight = layer(one * c.image_tokens, c.vision_width, c.vision_mlp, c.vision_heads, head, one, scores)
    patches = 4 * one * c.image_tokens * (3 * c.patch ** 2 + c.vision_width)
    cache = c.depth * 2 * (rows + shapes.tokens) * c.head_dim * size if reference else 0
    return pictures + max(trunk, sight, patches) + cache
