"""What the model promises beyond equality with its peers."""
import dataclasses
import json

import pytest
import torch

from golden import DATA, TINY, cache, pi05_io, pi05_tiny
from oxygen_ros.model.attention import attend
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.model.pi05 import Pi05, expected_tensors
from oxygen_ros.model.tensors import HEAD, fill_random, save_pairs
from oxygen_ros.model.training import TrainingBatch, training_forward
from oxygen_ros.profile.profile import PrefixMask


def first_sample():
    io = pi05_io()
    return torch.stack([io['image.0'][0], io['image.1'][0]]), io['tokens'][0][io['token_mask'][0]], io['noise'][0]


@torch.no_grad()
def run(model, images, prompt, noise, mask=PrefixMask.BIDIRECTIONAL, steps=10):
    kv = cache(model)
    hidden = model.prefill(model.embed_images(images), prompt, kv, mask)
    length = len(images) * model.config.image_tokens + len(prompt)
    return model.logits(hidden)[0], model.denoise(noise, kv, length, model.prepare(steps)), kv, length


def test_full_size_names_and_shapes_are_those_of_the_published_files():
    keys = json.loads((DATA / 'pi05_full_keys.json').read_text())
    published = {name.removeprefix('model.'): tuple(shape) for name, (shape, _) in keys.items()}
    dead = 'paligemma_with_expert.gemma_expert.lm_head.weight'
    optional = {name for name in published if name in (HEAD, dead)}
    expected = expected_tensors(CONFIGS['pi05'])
    assert {name: shape for name, shape in published.items() if name not in optional} == {
        name: shape for name, shape in expected.items() if name in published}
    assert set(expected) - set(published) <= {
        'paligemma_with_expert.paligemma.model.language_model.embed_tokens.weight'}
    assert sum(torch.Size(shape).numel() for shape in expected.values()) == 3_353_433_872


@pytest.mark.parametrize('change, sentence', [
    (lambda p: p[1:], '1 of .* tensors are missing'),
    (lambda p: p + p[:1], 'comes twice'),
    (lambda p: p + [('spare.weight', torch.zeros(2))], 'spare.weight .* does not belong'),
    (lambda p: [(p[0][0], torch.zeros(3, 3))] + p[1:], r'is \(3, 3\), the model needs'),
    (lambda p: [(p[0][0], p[0][1].int())] + p[1:], 'need a floating-point one'),
])
def test_wrong_weights_are_refused_in_a_sentence(change, sentence):
    pairs = list(save_pairs(pi05_tiny('openpi')))
    with pytest.raises(ValueError, match=sentence):
        Pi05(TINY, max_positions=256).load_tensors(change(pairs))


def test_more_than_one_key_head_is_refused():
    with pytest.raises(ValueError, match='kv_heads must be 1'):
        dataclasses.replace(TINY, kv_heads=2)


def test_saved_pairs_load_into_the_same_model():
    model = pi05_tiny('lerobot')
    other = Pi05(TINY, max_positions=256)
    other.load_tensors(save_pairs(model))
    for got, wanted in zip(run(other, *first_sample())[:2], run(model, *first_sample())[:2]):
        assert torch.equal(got, wanted)


def test_a_head_of_its_own_is_used_for_text_only():
    model, other = pi05_tiny('lerobot'), Pi05(TINY, max_positions=256)
    head = torch.randn(TINY.vocabulary, TINY.trunk_width)
    other.load_tensors([*save_pairs(model), (HEAD, head)])
    logits, actions, _, _ = run(other, *first_sample())
    tied, same, _, _ = run(model, *first_sample())
    assert torch.equal(actions, same) and (logits - tied).abs().max() > 0.1


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
def test_packed_weights_give_the_same_numbers(dtype):
    plain, packed = pi05_tiny('lerobot', dtype), pi05_tiny('lerobot', dtype)
    packed.prepare(10, pack=True)
    assert packed.packed and packed.trunk.layers[0].qkv.weight is None
    tolerance = 1e-5 if dtype is torch.float32 else 0.05
    for got, wanted in zip(run(packed, *first_sample())[:2], run(plain, *first_sample())[:2]):
        assert (got - wanted).abs().max() < tolerance
    with pytest.raises(ValueError, match='before the weights are packed'):
        packed.prepare(7)


def test_bfloat16_stays_near_float32():
    logits, actions, _, _ = run(pi05_tiny('lerobot', torch.bfloat16), *first_sample())
    exact_logits, exact, _, _ = run(pi05_tiny('lerobot'), *first_sample())
    assert 0 < (actions - exact).abs().max() < 0.05
    assert 0 < (logits.float() - exact_logits).abs().max() < 0.1


def test_causal_prompt_changes_actions_and_hides_later_words():
    model = pi05_tiny('lerobot')
    images, prompt, noise = first_sample()
    _, both, _, _ = run(model, images, prompt, noise)
    _, causal, kv, length = run(model, images, prompt, noise, PrefixMask.CAUSAL_PROMPT)
    assert (both - causal).abs().max() > 1e-3
    changed = prompt.clone()
    changed[-1] += 1
    _, _, other, _ = run(model, images, changed, noise, PrefixMask.CAUSAL_PROMPT)
    assert torch.equal(kv[:, :, :length - 1], other[:, :, :length - 1])
    assert not torch.equal(kv[:, :, length - 1], other[:, :, length - 1])


@pytest.mark.parametrize('mask', list(PrefixMask))
@torch.no_grad()
def test_training_forward_equals_cached_inference(mask):
    model = pi05_tiny('lerobot')
    images, prompt, noise = first_sample()
    answer, actions, time = torch.tensor([5, 80, 300, 7]), torch.randn(6, 32), torch.tensor([0.37])
    yes = torch.ones(1, 4, dtype=torch.bool)
    padded = torch.cat((prompt, torch.zeros(3, dtype=torch.long)))[None]
    out = training_forward(model, TrainingBatch(
        torch.cat((images, images[:1]))[None], torch.tensor([[True, True, False]]), padded,
        torch.arange(padded.shape[1])[None] < len(prompt), answer[None], yes, yes, actions[None], noise[None], time),
        mask)

    kv = cache(model)
    hidden = model.prefill(model.embed_images(images), prompt, kv, mask)
    length = 32 + len(prompt)
    noisy = time * noise + (1 - time) * actions
    velocity = model.velocity(noisy, kv, length, model.expert.step_table(time[0]))
    assert (velocity - out.velocity[0]).abs().max() < 1e-5

    def over_all(layer, q, k, v):
        kv[layer, 0, length:length + 4], kv[layer, 1, length:length + 4] = k, v
        bias = torch.full((4, length + 4), -1e30).triu_(length + 1)
        return attend(q, kv[layer, 0, :length + 4], kv[layer, 1, :length + 4], bias)

    rows = torch.cat((hidden, model.extend(answer, torch.arange(length, length + 4), over_all)[:-1]))
    assert (model.logits(rows) - out.logits[0]).abs().max() < 1e-5


@torch.no_grad()
def test_texts_and_draws_on_one_prefix_equal_their_own_samples():
    model = pi05_tiny('lerobot')
    images, prompt, noise = first_sample()
    texts, random = ([5, 80, 300], [7, 9], [11, 12, 13, 14]), torch.Generator().manual_seed(2)
    actions, noises = torch.randn(6, 32, generator=random), torch.stack((noise, noise.flip(0)))
    times = torch.tensor([0.37, 0.8])

    def forward(answer, part, noise, time, few):
        yes = torch.ones(1, len(answer), dtype=torch.bool)
        return training_forward(model, TrainingBatch(
            images[None], torch.ones(1, len(images), dtype=torch.bool), prompt[None],
            torch.ones(1, len(prompt), dtype=torch.bool), torch.tensor(answer, dtype=torch.long)[None], yes, yes,
            actions[None], noise, time, part), text_rows_only=few)

    part = torch.tensor([[i for i, text in enumerate(texts) for _ in text]])
    for few in (False, True):
        both = forward(sum(texts, []), part, noises, times, few)
        alone = [forward(text, None, noises[:1], times[:1], few) for text in texts]
        logits = torch.cat([out.logits[0] for out in alone])
        assert (both.logits[0] - logits).abs().max() < 1e-5
        second = forward([], None, noises[1:], times[1:], few)
        assert (both.velocity - torch.cat((alone[0].velocity, second.velocity))).abs().max() < 1e-5


@pytest.mark.parametrize('name', ['nano'])
def test_random_weights_listen_to_every_input(name):
    config = dataclasses.replace(CONFIGS[name], horizon=4)
    model = Pi05.random(config, 3)
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(2, 3, config.image_size, config.image_size, generator=generator) * 2 - 1
    prompt = torch.randint(3, config.vocabulary, (12,), generator=generator)
    noise = torch.randn(4, config.action_dim, generator=generator)

    def outputs(images, prompt):
        kv = torch.zeros(config.depth, 2, 800, config.head_dim)
        with torch.no_grad():
            hidden = model.prefill(model.embed_images(images), prompt, kv)
            return model.logits(hidden)[0], model.denoise(
                noise, kv, len(images) * config.image_tokens + len(prompt), model.prepare(4))

    logits, actions = outputs(images, prompt)
    word = prompt.clone()
    word[5] = (word[5] + 1) % config.vocabulary
    for changed in (outputs(images, word), outputs(images.flip(-1), prompt)):
        assert (changed[0] - logits).abs().max() > 0.05 * logits.std()
        assert (changed[1] - actions).abs().max() > 1e-3


def test_random_weights_are_those_of_the_seed():
    one, same, other = (Pi05.random(TINY, seed, max_positions=8) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters()))
    assert not torch.equal(one.embedding, other.embedding)
    bf16 = Pi05(TINY, torch.bfloat16, max_positions=8)
    fill_random(bf16, 1)
    assert torch.equal(bf16.embedding, one.embedding.bfloat16())
