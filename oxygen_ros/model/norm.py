"""Root-mean-square norms, plain (trunk) and adaptive (expert)."""
from functools import lru_cache

import torch
import torch.nn.functional as F

EPS = 1e-6


def rms_norm(x, scale, shift=None):
    """`x * rsqrt(mean(x^2) + 1e-6) * scale + shift` in float32, in the type of x; `scale` is 1 + weight (Gemma)."""
    wide = x.float()
    if x.device.type != 'cpu':
        y = F.rms_norm(wide, x.shape[-1:], scale, EPS)
        return (y if shift is None else y + shift).to(x.dtype)
    # torch has no fused kernel on a CPU: with few rows the number of operations is the cost, and F.rms_norm has twice
    # as many; with many rows a product with one number a row is much faster than a division by it.
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    y = wide * torch.addcmul(_eps(), length, length, value=1 / x.shape[-1]).rsqrt()
    y = y if scale is None else y * scale
    return (y if shift is None else y + shift).to(x.dtype)


@lru_cache
@torch.inference_mode(False)
def _eps():
    return torch.tensor(EPS)


def modulation(dense, condition):
    """
    Scale, shift and gate of one adaptive norm, each `[..., width]` float32.

    The dense layer gives them in this order (openpi `gemma.RMSNorm`): `y = rms(x) * (1 + scale) + shift`, and the
    residual is `x + gate * branch`. The first is returned as `1 + scale`.
    """
    scale, shift, gate = dense(condition).chunk(3, -1)
    return 1 + scale, shift, gate
