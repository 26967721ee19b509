"""The causal prompt of OxyGen's code against LeRobot's own mask code, run by test/parity/golden_causal.py."""
from golden import DATA, cache, pi05_io, pi05_tiny
import pytest
from safetensors.torch import load_file
import torch

from oxygen_ros.profile.profile import PrefixMask


@torch.no_grad()
@pytest.mark.parametrize('index', [0, 1])
def test_causal_prompt_equals_lerobots_mask_and_differs_from_the_bidirectional_one(index):
    model, io = pi05_tiny('lerobot'), pi05_io()
    wanted = load_file(DATA / 'pi05_tiny' / 'causal_fp32.safetensors')
    images = model.embed_images(torch.stack([io[f'image.{v}'][index] for v in range(2)]))
    prompt = io['tokens'][index][io['token_mask'][index]]
    actions = {}
    for mask in PrefixMask:
        kv = cache(model)
        hidden = model.prefill(images, prompt, kv, mask, rows=slice(None))
        actions[mask] = model.denoise(io['noise'][index], kv, len(hidden), model.prepare(10))
        if mask is PrefixMask.CAUSAL_PROMPT:
            assert (hidden - wanted[f'{index}.prefix_out']).abs().max() < 1e-5
    assert (actions[PrefixMask.CAUSAL_PROMPT] - wanted[f'{index}.actions_10']).abs().max() < 1e-5
    assert (actions[PrefixMask.BIDIRECTIONAL] - io['actions_10'][index]).abs().max() < 1e-5
    assert (actions[PrefixMask.CAUSAL_PROMPT] - actions[PrefixMask.BIDIRECTIONAL]).abs().max() > 1e-3
