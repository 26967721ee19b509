"""Models with one idea of the engine undone: the same numbers by more work."""
import copy

import torch
from torch import nn

from oxygen_ros.model.linear import Linear


class Apart(nn.Module):
    """The product of `layer` as one product for each of `sizes` outputs, as in published code: Q, K and V apart."""

    def __init__(self, layer, sizes):
        super().__init__()
        self.sizes, self.parts = sizes, nn.ModuleList()
        for i, weight in enumerate(layer.weight.detach().split(sizes)):
            part = Linear(1, 1)
            part.weight = nn.Parameter(weight, requires_grad=False)
            if layer.bias is not None:
                part.bias = nn.Parameter(layer.bias.detach().split(sizes)[i], requires_grad=False)
            self.parts.append(part)

    def forward(self, x, bias=None):
        biases = [None] * len(self.sizes) if bias is None else bias.split(self.sizes, -1)
        return torch.cat([part(x, b) for part, b in zip(self.parts, biases)], -1)

    def pack(self):
        for part in self.parts:
            part.pack()


class OnlyAProduct(Linear):
    """A product that takes nothing along: GELU, sum and multiplication pass over memory by themselves."""

    def gelu(self, x, bias=None):
        return nn.functional.gelu(self(x, bias), approximate='tanh')

    def add(self, x, other):
        return other + self(x)

    def mul(self, x, other, bias=None):
        return other * self(x, bias)


def with_qkv_apart(model, steps):
    """Change a model that is neither packed nor prepared, and return it."""
    model.prepare(steps)  # the tables need the weights in one piece
    for layer in (*model.trunk.layers, *model.expert.layers):
        layer.qkv = Apart(layer.qkv, (layer.heads * layer.head_dim, layer.head_dim, layer.head_dim))
    for layer in model.vision.layers:
        layer.qkv = Apart(layer.qkv, (model.config.vision_width,) * 3)
    return model


def with_plain_products(model):
    """Change a packed model, and return it."""
    for layer in model.modules():
        if type(layer) is Linear:
            layer.__class__ = OnlyAProduct
    return model


def with_logits_everywhere(model):
    """A view of a prepared model that computes logits for every position of the prefix."""
    view = copy.copy(model)

    def prefill(images, prompt, kv, mask, rows=None, riders=None):
        hidden = model.prefill(images, prompt, kv, mask, slice(None), riders)
        model.logits(hidden)
        return hidden

    view.prefill = prefill
    return view


def with_log_softmax(model):
    """A view of a prepared model whose logits are made log-probabilities of the whole vocabulary, in float32."""
    view = copy.copy(model)
    view.logits = lambda hidden: model.logits(hidden).float().log_softmax(-1)
    return view
