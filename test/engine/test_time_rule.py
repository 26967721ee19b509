from types import SimpleNamespace

import numpy as np
import pytest
from tiny_engine import Log, TinyProcessor, engine, model, observation
import torch

from oxygen_ros.engine.noise import action_noise


@torch.inference_mode()
@pytest.mark.parametrize('rule, other', [('openpi', 'lerobot'), ('lerobot', 'openpi')])
def test_the_profile_chooses_whose_times_the_steps_use(rule, other):
    processor = TinyProcessor()
    processor.profile = SimpleNamespace(prefix_mask=processor.mask, time_rule=rule)
    made, log, seen = engine(processor), Log(), observation(1)
    made.run_frame(seen, [], log.chunk, log.token)
    net, inputs = model(), processor.inputs(seen)
    kv = torch.zeros(net.config.depth, 2, 128, net.config.head_dim)
    images = net.embed_images(torch.from_numpy(inputs.images))
    net.prefill(images, torch.from_numpy(inputs.prompt_tokens), kv)
    noise = action_noise(made.config.seed, 0, net.config.horizon, net.config.action_dim)
    errors = {}
    for name in (rule, other):
        wanted = net.denoise(noise, kv, len(images) + len(inputs.prompt_tokens), net.prepare(10, name))
        errors[name] = np.abs(log.chunks[0].data - wanted[:, :3].numpy()).max()
    made.close()
    assert errors[rule] < 2e-6 < errors[other]
