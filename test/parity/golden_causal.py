"""Rewrite test/data/pi05_tiny/causal_fp32.safetensors: LeRobot with a causal prompt on the stored weights, inputs."""
from pathlib import Path

import peer_model
from safetensors.torch import load_file, save_file

DATA = Path(__file__).parents[1] / 'data' / 'pi05_tiny'
TINY = {'vision_width': 48, 'vision_depth': 2, 'vision_mlp': 96, 'vision_heads': 4, 'trunk_width': 64, 'trunk_mlp': 128,
        'expert_width': 32, 'expert_mlp': 64, 'depth': 2, 'heads': 8, 'head_dim': 16, 'vocabulary': 512,
        'image_size': 56, 'horizon': 6}


def main():
    io = load_file(DATA / 'io_fp32.safetensors')
    policy = peer_model.build(TINY, 20, 'float32')
    policy.load_state_dict(load_file(DATA / 'lerobot_fp32.safetensors'))
    core = policy.eval().model
    core.paligemma_with_expert.paligemma.model.language_model.config._attn_implementation = 'eager'
    peer_model.make_prompt_causal(core)
    results = {}
    for i in range(2):
        inputs = ([io[f'image.{v}'][i:i + 1] for v in range(3)], [io[f'image_mask.{v}'][i:i + 1] for v in range(3)],
                  io['tokens'][i:i + 1], io['token_mask'][i:i + 1])
        found = peer_model.stages(core, inputs, io['noise'][i:i + 1], False)
        results.update({f'{i}.{name}': found[name].contiguous() for name in ('prefix_out', 'actions_10')})
    save_file(results, DATA / 'causal_fp32.safetensors')


main()
