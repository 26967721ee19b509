"""Gemma blocks: the trunk, and the block body that the action expert shares with it."""
import torch
import torch.nn.functional as F
from torch import nn

from oxygen_ros.model.linear import Linear, can_pack
from oxygen_ros.model.norm import rms_norm
from oxygen_ros.model.rope import rotate


class Block(nn.Module):
    """The weights of one Gemma layer without its norms; Q, K and V are one product, gate and up another."""

    def __init__(self, width, mlp, heads, head_dim, dtype, device):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        kind = {'dtype': dtype, 'device': device}
        self.qkv = Linear(width, (heads + 2) * head_dim, **kind)
        self.out = Linear(heads * head_dim, width, **kind)
        self.gate_up = Linear(width, 2 * mlp, **kind)
        self.down = Linear(mlp, width, **kind)
        self.gate, self.up = None, None  # gate_up in two once packed: then GELU and product cost no pass of their own

    def project(self, x, turn, bias=None):
        """`x [..., W] -> q [..., heads, D], k [..., D], v [..., D]`, q and k rotated by `turn`, q scaled as well."""
        qkv = rotate(self.qkv(x, bias).view(*x.shape[:-1], self.heads + 2, self.head_dim), turn)
        q, kv = qkv.split((self.heads, 2), -2)
        return q.to(x.dtype), *kv.to(x.dtype).unbind(-2)

    def hidden(self, x, bias=None):
        """`gelu(gate(x)) * up(x)`, `[..., MLP]`."""
        if self.gate is not None:
            gate_bias, up_bias = (None, None) if bias is None else bias.chunk(2, -1)
            return self.up.mul(x, self.gate.gelu(x, gate_bias), up_bias)
        gate, up = self.gate_up(x, bias).chunk(2, -1)
        return F.gelu(gate, approximate='tanh') * up

    def pack(self):
        """Keep the matrices in the CPU kernel's own order."""
        if can_pack(self.gate_up.weight):
            self.gate, self.up = self.gate_up.split(self.gate_up.weight.shape[0] // 2)
            self.gate_up.weight = None
            for layer in (self.qkv, self.out, self.gate, self.up, self.down):
                layer.pack()


class TrunkLayer(Block):
    """One trunk layer; the norm scales are `1 + weight`."""

    def __init__(self, config, dtype, device):
        super().__init__(config.trunk_width, config.trunk_mlp, config.heads, config.head_dim, dtype, device)
        self.input_norm = nn.Parameter(torch.empty(config.trunk_width, device=device))
        self.post_norm = nn.Parameter(torch.empty(config.trunk_width, device=device))
        self.scales = None  # of both norms, once the weights are final

    def forward(self, x, turn, attend, rows=None):
        """
        `x [..., T, W]`; `attend(q, k, v) -> [..., T, heads * D]` stores the keys and attends.

        With `rows` (an index of T) only these rows are carried on, all keys and values are stored all the same.
        """
        input_scale, post_scale = self.scales or (1 + self.input_norm, 1 + self.post_norm)
        q, k, v = self.project(rms_norm(x, input_scale), turn)
        if rows is not None:
            q, x = q[rows], x[rows]
        x = self.out.add(attend(q, k, v), x)
        return self.down.add(self.hidden(rms_norm(x, post_scale)), x)

    def pack(self):
        super().pack()
        self.scales = 1 + self.input_norm.detach(), 1 + self.post_norm.detach()


class Trunk(nn.Module):
    """Gemma over images and text."""

    def __init__(self, config, dtype, device):
        super().__init__()
        self.layers = nn.ModuleList(TrunkLayer(config, dtype, device) for _ in range(config.depth))
        self.norm = nn.Parameter(torch.empty(config.trunk_width, device=device))

    def forward(self, x, turn, attend, rows=None):
        """
        Final hidden rows `[..., T, W]`; `attend(layer, q, k, v)` is called once a layer.

        `rows` limits what leaves the last layer: of the others only the keys and values are wanted.
        """
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            x = layer(x, turn, lambda q, k, v, i=i: attend(i, q, k, v), rows if i == last else None)
        return rms_norm(x, 1 + self.norm)
