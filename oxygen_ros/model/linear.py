"""The one linear layer of the model; on a CPU its weight can be kept in oneDNN's own order."""
import torch
import torch.nn.functional as F
from torch import nn


class Linear(nn.Module):
    """
    `y = x W^T + b`, with W as `[out, in]`.

    `pack()` replaces the weight by oneDNN's blocked copy of it (same numbers, same memory): reading a plain weight
    costs a reorder in every call, two to four times the time of the product itself for a few rows. A packed layer
    is differentiable in its input only and cannot be loaded again.
    """

    def __init__(self, inputs, outputs, bias=False, dtype=torch.float32, device='cpu'):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, dtype=dtype, device=device))
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=dtype, device=device)) if bias else None
        self.packed = None

    def forward(self, x, bias=None):
        """`x [..., in] -> [..., out]`; `bias` is used in place of the layer's own where one is given."""
        bias = self.bias if bias is None else bias
        if self._one_pass(x):
            return torch.ops.mkldnn._linear_pointwise(x, self.packed, bias, 'none', [], '')
        if self.packed is not None:
            return _PackedLinear.apply(x, self.packed, bias)
        return F.linear(x, self.weight, bias)

    def gelu(self, x, bias=None):
        """Tanh-GELU of the product, in the same pass where packed."""
        if self._one_pass(x):
            bias = self.bias if bias is None else bias
            return torch.ops.mkldnn._linear_pointwise(x, self.packed, bias, 'gelu', [], 'tanh')
        return F.gelu(self(x, bias), approximate='tanh')

    def add(self, x, other):
        """Product plus `other`, in the same pass where packed."""
        if self._one_pass(x):
            return torch.ops.mkldnn._linear_pointwise.binary(x, other, self.packed, self.bias, 'add')
        return other + self(x)

    def mul(self, x, other, bias=None):
        """Product times `other`, in the same pass where packed."""
        if self._one_pass(x):
            bias = self.bias if bias is None else bias
            return torch.ops.mkldnn._linear_pointwise.binary(x, other, self.packed, bias, 'mul')
        return other * self(x, bias)

    def _one_pass(self, x):
        """Whether the packed kernel is there and no derivative is asked for."""
        return self.packed is not None and not (x.requires_grad and torch.is_grad_enabled())

    def pack(self, rows=512):
        """Keep only the blocked weight; `rows` is a typical number of input rows."""
        if self.packed is None and can_pack(self.weight):
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), rows)
            self.weight = None

    def split(self, rows):
        """The first `rows` outputs and the others as two layers over the same memory; without a bias."""
        parts = Linear(1, 1), Linear(1, 1)
        for part, weight in zip(parts, (self.weight[:rows], self.weight[rows:])):
            part.weight = nn.Parameter(weight.detach(), requires_grad=False)
        return parts


class _PackedLinear(torch.autograd.Function):
    """The packed product with a derivative for its input; the plain weight is made for that moment only."""

    @staticmethod
    def forward(context, x, packed, bias):
        context.packed = packed
        return torch.ops.mkldnn._linear_pointwise(x, packed, bias, 'none', [], '')

    @staticmethod
    def backward(context, gradient):
        return gradient @ context.packed.to_dense(), None, None


def can_pack(weight):
    """Whether this build of torch has a blocked kernel for the weight."""
    if weight.device.type != 'cpu' or not torch.backends.mkldnn.is_available():
        return False
    if weight.dtype is torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return weight.dtype is torch.float32
