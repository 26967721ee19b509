"""The model against tensors written by LeRobot 0.6.1 (pi0.5) and HF transformers (PaliGemma), float32."""
import pytest
import torch

from golden import cache, greedy, paligemma_io, paligemma_tiny, pi05_io, pi05_tiny
from oxygen_ros.model.time_condition import TimeRule
from oxygen_ros.model.training import TrainingBatch, training_forward

TOLERANCE = 1e-5


@pytest.fixture(scope='module', params=['lerobot', 'openpi'])
def model(request):
    return pi05_tiny(request.param)


@pytest.fixture(scope='module')
def io():
    return pi05_io()


def sample(io, index):
    """Present views and trimmed prompt of one sample of the peer's padded batch."""
    views = [v for v in range(3) if io[f'image_mask.{v}'][index]]
    images = torch.stack([io[f'image.{v}'][index] for v in views])
    return images, io['tokens'][index][io['token_mask'][index]]


def near(got, wanted, tolerance=TOLERANCE):
    error = (got - wanted).abs().max().item()
    assert error < tolerance, f'largest error {error:.2e}, allowed {tolerance:.0e}'


@torch.no_grad()
@pytest.mark.parametrize('index', [0, 1])
def test_every_stage_equals_lerobot(model, io, index):
    images, prompt = sample(io, index)
    tokens = model.embed_images(images)
    near(tokens[:16], io['img0_features'][index])
    kv = cache(model)
    hidden = model.prefill(tokens, prompt, kv, rows=slice(None))
    pad = io['prefix_pad'][index]
    near(hidden, io['prefix_out'][index][pad])
    near(model.logits(hidden), io['lm_logits'][index][pad])
    length = len(hidden)
    near(model.expert.condition(torch.tensor(1.0)), io['adarms_cond_t1'][index])
    noise = io['noise'][index]
    near(model.velocity(noise, kv, length, model.prepare(10)[0]), io['velocity_t1'][index])
    for steps in (3, 10):
        near(model.denoise(noise, kv, length, model.prepare(steps)), io[f'actions_{steps}'][index])


@torch.no_grad()
@pytest.mark.parametrize('index', [0, 1])
def test_openpi_time_rule_stays_close_and_differs(model, io, index):
    images, prompt = sample(io, index)
    kv = cache(model)
    model.prefill(model.embed_images(images), prompt, kv)
    length = 16 * len(images) + len(prompt)
    actions = model.denoise(io['noise'][index], kv, length, model.prepare(10, TimeRule.OPENPI))
    near(actions, io['actions_10'][index], 1e-4)
    assert not torch.equal(actions, model.denoise(io['noise'][index], kv, length, model.prepare(10)))


def test_joint_training_forward_equals_lerobot_and_has_gradients(model, io):
    batch = TrainingBatch(
        images=torch.stack([io[f'image.{v}'] for v in range(3)], 1),
        view_mask=torch.stack([io[f'image_mask.{v}'] for v in range(3)], 1),
        prompt=io['tokens'], prompt_mask=io['token_mask'], answer=torch.tensor([[5, 7, 1], [9, 1, 0]]),
        answer_mask=torch.tensor([[True] * 3, [True, True, False]]),
        answer_wanted=torch.tensor([[True] * 3, [True, True, False]]),
        actions=io['train_actions'], noise=io['noise'], time=io['train_time'])
    out = training_forward(model, batch)
    near(out.action_loss, io['train_loss'])
    last = io['token_mask'].sum(1) - 1 + 48
    near(out.logits[:, 0], io['lm_logits'][torch.arange(2), last])
    few = training_forward(model, batch, text_rows_only=True)
    near(few.logits, out.logits), near(few.text_loss, out.text_loss), near(few.action_loss, out.action_loss)
    (out.action_loss.mean() + out.text_loss.sum()).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []
    model.zero_grad()


@torch.no_grad()
@pytest.mark.parametrize('case', [0, 1])
def test_language_equals_transformers(case):
    model, io = paligemma_tiny(), paligemma_io()
    kv = cache(model)
    text = io[f'{case}.text'][0]
    hidden = model.prefill(model.embed_images(io[f'{case}.pixels']), text, kv, rows=slice(None))
    near(model.logits(hidden), io[f'{case}.logits'][0])
    tokens = greedy(model, kv, len(hidden), hidden[-1:], 12)
    assert tokens == io[f'{case}.generated'][0].tolist()
