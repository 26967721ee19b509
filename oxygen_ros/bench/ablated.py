"""Models and engines with one idea undone: the same numbers by more work."""
import copy
from dataclasses import replace

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


def with_gate_and_up_apart(model):
    """Change a model that is not packed, and return it: two products, GELU and multiplication after them."""
    for layer in (*model.trunk.layers, *model.expert.layers):
        layer.gate, layer.up = layer.gate_up.split(layer.gate_up.weight.shape[0] // 2)
    return model


def with_gate_and_up_in_one(model):
    """Change a packed model, where they are two products that take GELU and multiplication along, and return it."""
    for layer in (*model.trunk.layers, *model.expert.layers):
        halves = [part.packed.to_dense() for part in (layer.gate, layer.up)]
        layer.gate = layer.up = None
        layer.gate_up.weight = nn.Parameter(torch.cat(halves), requires_grad=False)
        layer.gate_up.pack()
    return model


def with_plain_products(model):
    """Change a packed model, and return it."""
    for layer in model.modules():
        if type(layer) is Linear:
            layer.__class__ = OnlyAProduct
    return model


def with_padding(model, pictures=0, words=0):
    """
    A view of a prepared model that runs masked work along: `pictures` black ones, a prompt padded to `words`.

    The masked rows come last, so that what is kept of the prefix is the same; denoising and decoding do not read them.
    """
    view, tokens = copy.copy(model), model.config.image_tokens

    def embed_images(images):
        black = images.new_full((pictures, *images.shape[1:]), -1)
        return model.embed_images(torch.cat((images, black)))[:len(images) * tokens]

    def prefill(images, prompt, kv, mask, rows=None, riders=None):
        length = len(images) + len(prompt)
        spare = pictures * tokens + max(0, words - len(prompt))

        def store(layer, k, v):
            kv[layer, 0, :length], kv[layer, 1, :length] = k[:length], v[:length]

        padded = nn.functional.pad(prompt, (0, spare))
        return model.prefill_padded(images, padded, torch.tensor([length], device=prompt.device), store, mask, riders)

    view.embed_images, view.prefill = embed_images, prefill
    return view


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


def with_a_prefix_each(engine):
    """Change an engine, and return it: every stream reads a copy of its frame's prefix, in a block of its own."""
    pool, place = engine.pool, engine.language.place

    def apart(request_id, request, source, on_token):
        block = pool.take_block()
        pool.block(block).copy_(pool.block(source.block))
        refused = place(request_id, request, replace(source, block=block), on_token)
        pool.release_block(block)
        return refused

    engine.language.place = apart
    return engine
