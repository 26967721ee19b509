"""Promise: the reference computes what the engine does, masked views and prompt padding included."""
import numpy as np
import pytest
import torch

from oxygen_ros.bench.reference import Reference
from oxygen_ros.engine.noise import action_noise
from tiny_engine import CONFIG, Log, TinyProcessor, ask, engine, model, observation, oracle

CLOSE = 1e-3  # a top-two margin below this may fall either way
TOKENS = 12


def padded(seen, slots, words):
    """All slots with black pictures where there is no view, the prompt padded to `words`, and the masks."""
    inputs = TinyProcessor().inputs(seen)
    images = np.full((slots, *inputs.images.shape[1:]), -1, np.float32)
    images[:len(inputs.images)] = inputs.images
    prompt = np.zeros(words, np.int64)
    prompt[:len(inputs.prompt_tokens)] = inputs.prompt_tokens
    parts = images, np.arange(slots) < len(inputs.images), prompt, np.arange(words) < len(inputs.prompt_tokens)
    return [torch.from_numpy(part) for part in parts]


@pytest.mark.parametrize('views, slots, padding', [(2, 2, 0), (2, 3, 0), (2, 2, 17), (1, 3, 25)])
@pytest.mark.parametrize('seed', [1, 2, 3])
@torch.inference_mode()
def test_reference_gives_the_actions_and_texts_of_the_engine(views, slots, padding, seed):
    seen = observation(seed, 'pick it', views)
    inputs = padded(seen, slots, len(TinyProcessor().inputs(seen).prompt_tokens) + padding)
    reference, log = Reference(model()), Log()

    heard = []
    said = reference.text(*inputs, TOKENS, heard.append)
    wanted, margins = oracle(seen, ask(TOKENS), TOKENS)
    same = next((i for i, pair in enumerate(zip(said, wanted)) if pair[0] != pair[1]), TOKENS)
    assert same == TOKENS or margins[same] <= CLOSE, f'token {same}: {said} instead of {wanted}'
    assert same >= 5 and heard == said and len(set(said)) > 2

    made = engine()
    made.run_frame(seen, [], log.chunk, log.token)
    noise = action_noise(made.config.seed, 0, CONFIG.horizon, CONFIG.action_dim)
    actions = reference.actions(*inputs, noise, made.config.denoise_steps).numpy()
    assert np.abs(actions[:, :3] - log.chunks[0].data).max() < 1e-4
    assert np.abs(actions).max() > 0.1


@torch.inference_mode()
def test_what_is_masked_changes_nothing_and_what_is_not_does():
    seen, reference = observation(4, views=2), Reference(model())
    noise = action_noise(0, 0, CONFIG.horizon, CONFIG.action_dim)
    images, present, prompt, mask = padded(seen, 3, 30)
    wanted = reference.actions(images, present, prompt, mask, noise, 10)
    other, words = images.clone(), prompt.clone()
    other[2], words[~mask] = 0.7, 5
    assert torch.equal(reference.actions(other, present, words, mask, noise, 10), wanted)
    other[1] = 0.7
    assert (reference.actions(other, present, words, mask, noise, 10) - wanted).abs().max() > 1e-3
