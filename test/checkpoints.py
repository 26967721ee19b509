"""
Random checkpoints in every published layout: python test/checkpoints.py --layout openpi --model pi05 FOLDER.

Written tensor by tensor, so that a full-size one (7 GB in bfloat16) needs little memory.
"""
import argparse
import json
from pathlib import Path
import re

import torch

from oxygen_ros.model.config import CONFIGS
from oxygen_ros.model.pi05 import expected_tensors

TRUNK = 'paligemma_with_expert.paligemma.model.language_model.'
HEAD = 'paligemma_with_expert.paligemma.lm_head.weight'
EMBEDDING = TRUNK + 'embed_tokens.weight'
DEAD = 'paligemma_with_expert.gemma_expert.lm_head.weight'
LAYOUTS = {
    'openpi': 'openpi convert and train: no prefix, the tied pair stored as the head',
    'lerobot_tied': 'LeRobot 0.4: model. prefix, the tied pair stored as the head',
    'lerobot_untied': 'LeRobot 0.6: model. prefix, embedding and head',
    'newer_transformers': 'model. prefix, no vision_model level, embedding only',
    'compiled': 'model._orig_mod. prefix, embedding only',
    'old': 'PaliGemma names of before July 2025',
}
TYPES = {'bf16': ('BF16', torch.bfloat16), 'fp32': ('F32', torch.float32)}


def stored_names(config, layout):
    """List of `(name in the file, canonical name, shape)`, the dead head included."""
    shapes = {k: tuple(v) for k, v in expected_tensors(config).items() if k != HEAD}
    rows = [(name, name, shape) for name, shape in shapes.items() if name != EMBEDDING]
    if layout in ('openpi', 'lerobot_tied', 'lerobot_untied', 'old'):
        rows.append((HEAD, EMBEDDING, shapes[EMBEDDING]))
    if layout in ('lerobot_untied', 'newer_transformers', 'compiled'):
        rows.append((EMBEDDING, EMBEDDING, shapes[EMBEDDING]))
    rows.append((DEAD, DEAD, (config.vocabulary, config.expert_width)))
    prefix = {'openpi': '', 'old': '', 'compiled': 'model._orig_mod.'}.get(layout, 'model.')

    def rename(name):
        if layout == 'newer_transformers':
            name = name.replace('vision_tower.vision_model.', 'vision_tower.')
        if layout == 'old':
            name = re.sub(r'paligemma\.model\.language_model\.', 'paligemma.language_model.model.', name)
            name = re.sub(r'paligemma\.model\.', 'paligemma.', name)
            name = name.replace('paligemma.lm_head.', 'paligemma.language_model.lm_head.')
        return prefix + name

    return [(rename(name), canonical, shape) for name, canonical, shape in rows]


def random_tensor(canonical, shape, seed, dtype):
    """Numbers that depend on seed, name and shape only; the million drawn are repeated in a larger tensor."""
    generator = torch.Generator().manual_seed(seed * 1000003 + sum(canonical.encode()) * 31 + len(canonical))
    count = 1
    for n in shape:
        count *= n
    scale = 0.02 if len(shape) == 1 else (1.0 / shape[-1]) ** 0.5 if len(shape) == 2 else 0.05
    block = torch.randn(min(count, 1 << 20), generator=generator).mul_(scale).to(dtype)
    return block.repeat(-(-count // len(block)))[:count].reshape(shape)


def write_safetensors(path, rows, seed, dtype, metadata=None, change=None):
    """Write the file; `change(name, tensor)` may replace one on the way."""
    word, torch_type = TYPES[dtype]
    header, at = {}, 0
    if metadata:
        header['__metadata__'] = metadata
    for name, _, shape in rows:
        size = torch.Size(shape).numel() * torch_type.itemsize
        header[name] = {'dtype': word, 'shape': list(shape), 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text)
        for name, canonical, shape in rows:
            tensor = random_tensor(canonical, shape, seed, torch_type)
            if change:
                tensor = change(name, tensor)
            file.write(memoryview(tensor.contiguous().view(torch.uint8).numpy()))


def write_checkpoint(folder, config, layout='openpi', seed=0, dtype='bf16', change=None):
    """Write FOLDER/model.safetensors and return its path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'model.safetensors'
    metadata = {'format': 'pt'}
    if layout == 'openpi':
        metadata[EMBEDDING] = HEAD
    write_safetensors(path, stored_names(config, layout), seed, dtype, metadata, change)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('--layout', choices=LAYOUTS, default='openpi')
    parser.add_argument('--model', choices=CONFIGS, default='pi05')
    parser.add_argument('--dtype', choices=TYPES, default='bf16')
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()
    path = write_checkpoint(arguments.folder, CONFIGS[arguments.model], arguments.layout, arguments.seed,
                            arguments.dtype)
    print(f'{path}: {path.stat().st_size} bytes')


if __name__ == '__main__':
    main()
