"""Attention of many query heads over one key head; softmax in float32 inside the kernel."""
import torch
import torch.nn.functional as F

MASKED = -1e30  # finite: a row without any valid key becomes uniform instead of NaN


def attend(q, k, v, bias=None):
    """
    `q [T, heads, D]`, scaled, over `k, v [N, D]` -> `[T, heads * D]`; `bias [T, N]` is added to the scores.

    All heads read one key head, so they are just more rows of one product. On a CPU the plain products are three to
    four times faster than torch's fused kernel at these shapes, which repacks the keys for every block of rows.
    """
    rows, heads, dim = q.shape
    if q.device.type == 'cpu':
        scores = q.reshape(rows * heads, dim) @ k.T
        if bias is not None:
            scores.view(rows, heads, -1).add_(bias[:, None])
        return (scores.softmax(-1) @ v).view(rows, heads * dim)
    if bias is None:
        out = F.scaled_dot_product_attention(q.reshape(1, 1, rows * heads, dim), k[None, None], v[None, None], scale=1)
        return out.view(rows, heads * dim)
    k, v = (x[None, None].expand(1, heads, -1, -1) for x in (k, v))
    out = F.scaled_dot_product_attention(q.transpose(0, 1)[None], k, v, bias.to(q.dtype), scale=1)
    return out[0].transpose(0, 1).reshape(rows, heads * dim)


def attend_heads(q, k, v):
    """`q, k, v [B, N, heads, D]`, one key head each (vision) -> `[B, N, heads * D]`."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if q.device.type == 'cpu':
        out = (q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2)).softmax(-1) @ v.contiguous()
    else:
        out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).flatten(2)


def attend_batch(q, k, v, valid):
    """`q [B, T, heads, D]`, scaled, over `k, v [B, N, D]` where `valid [B, T, N]`, differentiable."""
    batch, rows, heads, dim = q.shape
    bias = torch.zeros(valid.shape, dtype=q.dtype, device=q.device).masked_fill_(~valid, MASKED)
    k, v = (x[:, None].expand(-1, heads, -1, -1) for x in (k, v))
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, bias[:, None], scale=1)
    return out.transpose(1, 2).reshape(batch, rows, heads * dim)


def group_scores(q, k):
    """
    Scores of the rows of each group over its keys: `q [G, R, D]` scaled, `k [G, N, D]` -> `[G, R, N]`.

    Computed as keys times queries: with few rows a group that reads the keys in memory order, three times faster.
    """
    return torch.bmm(k, q.transpose(1, 2)).transpose(1, 2)
