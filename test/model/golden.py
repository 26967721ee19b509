"""The peers' tensors, and a model filled from them."""
from pathlib import Path

import torch
from safetensors.torch import load_file

from oxygen_ros.model.config import Pi05Config
from oxygen_ros.model.pi05 import Pi05, expected_tensors
from oxygen_ros.model.tensors import HEAD, PALIGEMMA, TRUNK

torch.set_num_threads(1)
DATA = Path(__file__).parent.parent / 'data'
TINY = Pi05Config(
    vision_width=48, vision_depth=2, vision_mlp=96, vision_heads=4, trunk_width=64, trunk_mlp=128, expert_width=32,
    expert_mlp=64, depth=2, heads=8, head_dim=16, vocabulary=512, image_size=56, horizon=6)
EMBEDDING = TRUNK + 'embed_tokens.weight'


def canonical(tensors, prefix=''):
    """Names as the model wants them: no `model.`, the dead expert head dropped, the tied pair completed."""
    named = {prefix + name.removeprefix('model.') if not prefix else prefix + name: x for name, x in tensors.items()}
    named.pop('paligemma_with_expert.gemma_expert.lm_head.weight', None)
    named.setdefault(EMBEDDING, named.get(HEAD))
    return named


def pi05_tiny(layout, dtype=torch.float32):
    model = Pi05(TINY, dtype, max_positions=256)
    model.load_tensors(canonical(load_file(DATA / 'pi05_tiny' / f'{layout}_fp32.safetensors')).items())
    return model.eval()


def pi05_io():
    return load_file(DATA / 'pi05_tiny' / 'io_fp32.safetensors')


def paligemma_tiny():
    """HF's PaliGemma has no expert: that half is random and unused."""
    files = load_file(DATA / 'paligemma_tiny' / 'paligemma.safetensors')
    named = canonical({name.removeprefix('model.'): x for name, x in files.items() if name.startswith('model.')},
                      PALIGEMMA + 'model.')
    named[EMBEDDING] = files['lm_head.weight']
    generator = torch.Generator().manual_seed(0)
    for name, shape in expected_tensors(TINY).items():
        named.setdefault(name, torch.randn(shape, generator=generator) * 0.1)
    model = Pi05(TINY, max_positions=256)
    model.load_tensors((name, x) for name, x in named.items() if x is not None)
    return model.eval()


def paligemma_io():
    return load_file(DATA / 'paligemma_tiny' / 'paligemma_io.safetensors')


def cache(model, positions=128):
    c = model.config
    return torch.zeros(c.depth, 2, positions, c.head_dim, dtype=model.dtype)


def greedy(model, kv, length, hidden, count):
    """Plain greedy decoding in the prefix's own cache, one row at a time: the oracle of the engine's tests."""
    from oxygen_ros.model.attention import attend
    tokens = []
    for i in range(count):
        tokens.append(int(model.logits(hidden).argmax()))
        if i == count - 1:
            return tokens
        at = length + i

        def over_all(layer, q, k, v):
            kv[layer, 0, at:at + 1], kv[layer, 1, at:at + 1] = k, v
            return attend(q, kv[layer, 0, :at + 1], kv[layer, 1, :at + 1])

        hidden = model.extend(torch.tensor([tokens[-1]]), torch.tensor([at]), over_all)
