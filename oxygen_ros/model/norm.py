"""Root-mean-square norms, plain (trunk) and adaptive (expert)."""
import torch.nn.functional as F

EPS = 1e-6


def rms_norm(x, scale):
    """`x * rsqrt(mean(x^2) + 1e-6) * scale` in float32, back in the type of x; `scale` is 1 + weight (Gemma)."""
    return F.rms_norm(x.float(), x.shape[-1:], scale, EPS).to(x.dtype)


def modulation(dense, condition):
    """
    Scale, shift and gate of one adaptive norm, each `[..., width]` float32.

    The dense layer gives them in this order (openpi `gemma.RMSNorm`): `y = rms(x) * (1 + scale) + shift`, and the
    residual is `x + gate * branch`. The first is returned as `1 + scale`.
    """
    scale, shift, gate = dense(condition).chunk(3, -1)
    return 1 + scale, shift, gate
