"""Attention of many query heads over one key head; softmax in float32 inside the kernel."""
import torch
import torch.nn.functional as F

MASKED = -1e30  # finite: a row without any valid key becomes uniform instead of NaN


def attend(q, k, v, bias=None):
    """
    `q [T, heads, D]` over `k, v [N, D]` -> `[T, heads * D]`; `bias [T, N]` is added to the scores.

    Without a bias the heads are just more queries of the one key head, so they are folded into the rows.
    """
    rows, heads, dim = q.shape
    if bias is None:
        out = F.scaled_dot_product_attention(q.reshape(1, 1, rows * heads, dim), k[None, None], v[None, None])
        return out.view(rows, heads * dim)
    k, v = (x[None, None].expand(1, heads, -1, -1) for x in (k, v))
    out = F.scaled_dot_product_attention(q.transpose(0, 1)[None], k, v, bias.to(q.dtype))
    return out[0].transpose(0, 1).reshape(rows, heads * dim)


def attend_batch(q, k, v, valid):
    """`q [B, T, heads, D]` over `k, v [B, N, D]` where `valid [B, T, N]` -> `[B, T, heads * D]`; differentiable."""
    batch, rows, heads, dim = q.shape
    bias = torch.zeros(valid.shape, dtype=q.dtype, device=q.device).masked_fill_(~valid, MASKED)
    k, v = (x[:, None].expand(-1, heads, -1, -1) for x in (k, v))
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, bias[:, None])
    return out.transpose(1, 2).reshape(batch, rows, heads * dim)


def attend_groups(q, k, v, bias):
    """
    Rows of one group over the keys of that group: `q [G, R, D]`, `k, v [G, N, D]`, `bias [G, R or 1, N]` float32.

    Returns the output `[G, R, D]` and the log of the softmax's denominator `[G, R]` in float32, with which the parts
    of a split key sequence are put together (`merge`).
    """
    scores = torch.bmm(q, k.transpose(1, 2)).float() * q.shape[-1] ** -0.5 + bias
    total = torch.logsumexp(scores, -1)
    return torch.bmm((scores - total[..., None]).exp_().to(q.dtype), v), total


def merge(out_a, total_a, out_b, total_b):
    """Attention over the union of two key sets from the attention over each: `out [..., D]`, `total [...]`."""
    share = torch.sigmoid(total_a - total_b)[..., None]
    return torch.lerp(out_b.float(), out_a.float(), share).to(out_a.dtype)
