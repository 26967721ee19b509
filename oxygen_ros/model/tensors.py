"""Canonical tensor names (openpi, LeRobot without `model.`) and where each lives in the fused model."""
from dataclasses import dataclass

import torch

PALIGEMMA = 'paligemma_with_expert.paligemma.'
VISION = PALIGEMMA + 'model.vision_tower.vision_model.'
PROJECTOR = PALIGEMMA + 'model.multi_modal_projector.linear.'
TRUNK = PALIGEMMA + 'model.language_model.'
EXPERT = 'paligemma_with_expert.gemma_expert.model.'
HEAD = PALIGEMMA + 'lm_head.weight'  # optional: tied to the embedding unless a file's differs


@dataclass(frozen=True)
class Place:
    """Rows `start:stop` of a parameter hold the tensor, which has `shape` in files."""

    parameter: torch.nn.Parameter
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def rows(self):
        return self.parameter[self.start:self.stop]


def places(model):
    """`{canonical name: Place}` of every tensor the model needs."""
    found = {}

    def put(name, parameter, shape=None, start=0, stop=None):
        stop = len(parameter) if stop is None else stop
        found[name] = Place(parameter, tuple(shape or (stop - start, *parameter.shape[1:])), start, stop)

    def linear(name, layer):
        put(name + 'weight', layer.weight)
        if layer.bias is not None:
            put(name + 'bias', layer.bias)

    def fused(prefix, layer, parts):
        start = 0
        for name, rows in parts:
            put(f'{prefix}{name}.weight', layer.weight, start=start, stop=start + rows)
            if layer.bias is not None:
                put(f'{prefix}{name}.bias', layer.bias, start=start, stop=start + rows)
            start += rows

    def gemma(prefix, layer):
        head = layer.head_dim
        fused(prefix + 'self_attn.', layer.qkv,
              (('q_proj', layer.heads * head), ('k_proj', head), ('v_proj', head)))
        linear(prefix + 'self_attn.o_proj.', layer.out)
        mlp = layer.gate_up.weight.shape[0] // 2
        fused(prefix + 'mlp.', layer.gate_up, (('gate_proj', mlp), ('up_proj', mlp)))
        linear(prefix + 'mlp.down_proj.', layer.down)

    c = model.config
    embeddings = VISION + 'embeddings.'
    put(embeddings + 'patch_embedding.weight', model.vision.patch_embedding.weight,
        (c.vision_width, 3, c.patch, c.patch))
    put(embeddings + 'patch_embedding.bias', model.vision.patch_embedding.bias)
    put(embeddings + 'position_embedding.weight', model.vision.position_embedding)
    for i, layer in enumerate(model.vision.layers):
        prefix = f'{VISION}encoder.layers.{i}.'
        linear(prefix + 'layer_norm1.', layer.norm1)
        fused(prefix + 'self_attn.', layer.qkv, tuple((n + '_proj', c.vision_width) for n in 'qkv'))
        linear(prefix + 'self_attn.out_proj.', layer.out)
        linear(prefix + 'layer_norm2.', layer.norm2)
        linear(prefix + 'mlp.fc1.', layer.fc1)
        linear(prefix + 'mlp.fc2.', layer.fc2)
    linear(VISION + 'post_layernorm.', model.vision.norm)
    linear(PROJECTOR, model.vision.projector)
    put(TRUNK + 'embed_tokens.weight', model.embedding)
    for i, layer in enumerate(model.trunk.layers):
        prefix = f'{TRUNK}layers.{i}.'
        gemma(prefix, layer)
        put(prefix + 'input_layernorm.weight', layer.input_norm)
        put(prefix + 'post_attention_layernorm.weight', layer.post_norm)
    put(TRUNK + 'norm.weight', model.trunk.norm)
    for i, layer in enumerate(model.expert.layers):
        prefix = f'{EXPERT}layers.{i}.'
        gemma(prefix, layer)
        linear(prefix + 'input_layernorm.dense.', layer.input_dense)
        linear(prefix + 'post_attention_layernorm.dense.', layer.post_dense)
    linear(EXPERT + 'norm.dense.', model.expert.final_dense)
    for name, layer in (('action_in_proj', model.expert.action_in), ('action_out_proj', model.expert.action_out),
                        ('time_mlp_in', model.expert.time_in), ('time_mlp_out', model.expert.time_out)):
        linear(name + '.', layer)
    return found


@torch.no_grad()
def load(model, pairs):
    """Copy `(canonical name, tensor)` pairs in; ValueError for an unknown, missing, repeated or misshapen one."""
    wanted, seen, head = places(model), set(), None
    for name, tensor in pairs:
        if name == HEAD:
            head = tensor
            continue
        if name not in wanted:
            raise ValueError(f'tensor {name} {tuple(tensor.shape)} does not belong to this model')
        place = wanted[name]
        if tuple(tensor.shape) != place.shape:
            raise ValueError(f'tensor {name} is {tuple(tensor.shape)}, the model needs {place.shape}')
        if name in seen:
            raise ValueError(f'tensor {name} comes twice')
        if not tensor.is_floating_point():
            raise ValueError(f'tensor {name} has type {tensor.dtype}, need a floating-point one')
        seen.add(name)
        place.rows.copy_(tensor.reshape(place.rows.shape))
    missing = [name for name in wanted if name not in seen]
    if missing:
        raise ValueError(f'{len(missing)} of {len(wanted)} tensors are missing, the first is {missing[0]}')
    model.set_head(head)


def save_pairs(model):
    """`(canonical name, tensor)` of every weight, the inverse of `load`; tensors are copies in their file shapes."""
    for name, place in places(model).items():
        yield name, place.rows.detach().reshape(place.shape).clone()


@torch.no_grad()
def fill_random(model, seed):
    """
    Weights drawn from `seed`, the same in every dtype, lively enough that any input changes tokens and actions.

    The dense layers of the adaptive norms are filled too: zero, their initial value in training, would close the
    gates and hand the noise straight through. Embeddings are small, else greedy text repeats its last token.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, place in sorted(places(model).items()):
        fan_in = place.parameter[0].numel()
        if 'embed_tokens' in name:
            mean, scale = 0.0, 0.25 * fan_in ** -0.5
        elif 'position_embedding' in name:
            mean, scale = 0.0, 0.1
        elif place.parameter.ndim == 1:
            layer_norm = name.endswith(('layer_norm1.weight', 'layer_norm2.weight', 'post_layernorm.weight'))
            mean, scale = float(layer_norm), 0.05
        else:
            mean, scale = 0.0, 1.6 * fan_in ** -0.5
        for rows in place.rows.split(max(1, (1 << 24) // fan_in)):
            rows.copy_(torch.randn(rows.shape, generator=generator) * scale + mean)
