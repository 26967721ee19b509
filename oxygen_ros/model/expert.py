"""The flow-matching action expert: a Gemma tower with adaptive norms that reads the trunk's keys and values."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from oxygen_ros.model.gemma import Block
from oxygen_ros.model.linear import Linear
from oxygen_ros.model.norm import modulation, rms_norm
from oxygen_ros.model.time_condition import time_embedding


@dataclass(frozen=True)
class LayerTable:
    """
    What one layer needs of one time: norm scales and gates, and the shifts gone through the product that follows.

    `W (rms(x) * scale + shift) = W (rms(x) * scale) + W shift`, so a shift is a bias of that product.
    """

    input_scale: torch.Tensor
    qkv_bias: torch.Tensor
    attention_gate: torch.Tensor
    post_scale: torch.Tensor
    gate_up_bias: torch.Tensor
    mlp_gate: torch.Tensor


@dataclass(frozen=True)
class StepTable:
    """All that depends on the time alone, for one Euler step."""

    layers: tuple[LayerTable, ...]
    final_scale: torch.Tensor
    final_shift: torch.Tensor


class ExpertLayer(Block):
    """One expert layer; each norm's scale, shift and gate come from a dense layer of the time condition."""

    def __init__(self, config, dtype, device):
        super().__init__(config.expert_width, config.expert_mlp, config.heads, config.head_dim, dtype, device)
        exact = {'dtype': torch.float32, 'device': device}
        self.input_dense = Linear(config.expert_width, 3 * config.expert_width, True, **exact)
        self.post_dense = Linear(config.expert_width, 3 * config.expert_width, True, **exact)

    def table(self, condition):
        """`condition [..., W]` of a time -> the layer's constants for it."""
        dtype = self.down.weight.dtype
        scale, shift, gate = modulation(self.input_dense, condition)
        post_scale, post_shift, post_gate = modulation(self.post_dense, condition)
        return LayerTable(scale, F.linear(shift, self.qkv.weight.float()).to(dtype), gate.to(dtype),
                          post_scale, F.linear(post_shift, self.gate_up.weight.float()).to(dtype), post_gate.to(dtype))

    def forward(self, x, turn, attend, table):  # [..., H, W]
        q, k, v = self.project(rms_norm(x, table.input_scale), turn, table.qkv_bias)
        x = torch.addcmul(x, self.out(attend(q, k, v)), table.attention_gate)
        hidden = self.hidden(rms_norm(x, table.post_scale), table.gate_up_bias)
        return torch.addcmul(x, self.down(hidden), table.mlp_gate)

    def forward_conditioned(self, x, turn, attend, condition):
        """The same layer with the norms spelt out, differentiable in all weights; condition [B, 1, W]."""
        scale, shift, gate = modulation(self.input_dense, condition)
        q, k, v = self.project((rms_norm(x.float(), None) * scale + shift).to(x.dtype), turn)
        x = x + self.out(attend(q, k, v)) * gate.to(x.dtype)
        scale, shift, gate = modulation(self.post_dense, condition)
        hidden = self.hidden((rms_norm(x.float(), None) * scale + shift).to(x.dtype))
        return x + self.down(hidden) * gate.to(x.dtype)


class Expert(nn.Module):
    """Velocity of the flow for a noisy chunk, given the prefix keys and a time."""

    def __init__(self, config, dtype, device):
        super().__init__()
        self.config, self.dtype = config, dtype
        width, exact = config.expert_width, {'dtype': torch.float32, 'device': device}
        self.layers = nn.ModuleList(ExpertLayer(config, dtype, device) for _ in range(config.depth))
        self.final_dense = Linear(width, 3 * width, True, **exact)
        self.action_in = Linear(config.action_dim, width, True, **exact)
        self.action_out = Linear(width, config.action_dim, True, **exact)
        self.time_in = Linear(width, width, True, **exact)
        self.time_out = Linear(width, width, True, **exact)

    def condition(self, time):
        """Time [...] -> condition [..., W] float32; note the second SiLU (openpi `pi0.py`, pi05 branch)."""
        c = self.config
        e = time_embedding(time, c.expert_width, c.min_period, c.max_period)
        return F.silu(self.time_out(F.silu(self.time_in(e))))

    def step_table(self, time):
        """Constants of one Euler step at `time` (a scalar)."""
        condition = self.condition(time)
        scale, shift, _ = modulation(self.final_dense, condition)
        return StepTable(tuple(layer.table(condition) for layer in self.layers), scale, shift)

    def velocity(self, actions, turn, attend, table):
        """`actions float32 [H, A]` at the table's time -> velocity `[H, A]`; `attend(layer, q, k, v)`."""
        x = self.action_in(actions).to(self.dtype)
        for i, layer in enumerate(self.layers):
            x = layer(x, turn, lambda q, k, v, i=i: attend(i, q, k, v), table.layers[i])
        return self.action_out(rms_norm(x.float(), table.final_scale, table.final_shift))

    def velocity_conditioned(self, actions, turn, attend, time):
        """`actions [B, H, A]`, `time [B]` or by row `[B, H]` -> velocity `[B, H, A]`, differentiable in all weights."""
        condition = self.condition(time if time.dim() == 2 else time[:, None])
        x = self.action_in(actions).to(self.dtype)
        for i, layer in enumerate(self.layers):
            x = layer.forward_conditioned(x, turn, lambda q, k, v, i=i: attend(i, q, k, v), condition)
        scale, shift, _ = modulation(self.final_dense, condition)
        return self.action_out(rms_norm(x.float(), None) * scale + shift)
