import math

import numpy as np
from oxygen_ros.engine.guidance import Frozen, Guidance, guidance_weight, prefix_weights, Schedule
from oxygen_ros.model.config import Pi05Config
from oxygen_ros.model.pi05 import Pi05
import pytest
import torch

CONFIG = Pi05Config(
    vision_width=16, vision_depth=1, vision_mlp=16, vision_heads=2, trunk_width=16, trunk_mlp=16, expert_width=32,
    expert_mlp=64, depth=2, heads=2, head_dim=8, vocabulary=32, image_size=28, action_dim=8, horizon=10)


@pytest.fixture(autouse=True, scope='module')
def one_thread():
    """Two threads cost more than they gain at this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope='module')
def model():
    return Pi05.random(CONFIG, seed=1)


def world(model, seed=0):
    """A prefix in a cache, and noise, as the engine has them."""
    random = torch.Generator().manual_seed(seed)
    c = model.config
    kv = torch.zeros(c.depth, 2, 64 + c.horizon, c.head_dim)
    kv[:, :, :64] = torch.randn(c.depth, 2, 64, c.head_dim, generator=random)
    return kv, 64, torch.randn(c.horizon, c.action_dim, generator=random)


@pytest.mark.parametrize('schedule, expected', [
    ('ones', [1, 1, 1, 1, 1, 0, 0]),
    ('zeros', [1, 1, 0, 0, 0, 0, 0]),
    ('linear', [1, 1, 3 / 4, 2 / 4, 1 / 4, 0, 0]),
    ('exp', [1, 1] + [w * math.expm1(w) / (math.e - 1) for w in (3 / 4, 2 / 4, 1 / 4)] + [0, 0]),
])
def test_weights_fall_from_the_frozen_rows_to_the_free_ones(schedule, expected):
    assert np.allclose(prefix_weights(2, 5, 7, Schedule(schedule)), expected, atol=1e-6)


def test_frozen_rows_end_where_the_old_chunk_ends():
    assert prefix_weights(9, 3, 6, Schedule.EXP).tolist() == [1, 1, 1, 0, 0, 0]
    assert prefix_weights(2, 0, 4, Schedule.EXP).tolist() == [0] * 4


def test_the_strength_is_that_of_the_paper_and_bounded():
    for tau in (0.1, 0.25, 0.5, 0.9):
        r2 = (1 - tau) ** 2 / (tau ** 2 + (1 - tau) ** 2)
        assert guidance_weight(1 - tau, 1e9) == pytest.approx((1 - tau) / (tau * r2), rel=1e-6)
    assert guidance_weight(1.0, 5.0) == 5.0 and guidance_weight(0.95, 5.0) == 5.0 and guidance_weight(0.0, 5.0) == 0.0


def test_the_correction_of_a_linear_flow_is_the_transposed_jacobian_times_the_error():
    random = torch.Generator().manual_seed(0)
    matrix = torch.randn(6, 6, generator=random)
    x, target = torch.randn(4, 6, generator=random), torch.randn(4, 6, generator=random)
    weights = torch.rand(4, 6, generator=random)

    def flow(a):
        return a @ matrix

    time = 0.6
    estimate = x - time * flow(x)
    error = (target - estimate) * weights
    jacobian = torch.eye(6) - time * matrix  # of a row: estimate = x J
    expected = flow(x) - guidance_weight(time, 5.0) * error @ jacobian.T
    assert torch.allclose(Guidance(target, weights).velocity(x, time, flow, flow), expected, atol=1e-5)
    # LeRobot computes the velocity before it asks for derivatives, which leaves the identity
    expected = flow(x) - guidance_weight(time, 5.0) * error
    assert torch.allclose(Guidance(target, weights, jacobian=False).velocity(x, time, flow, flow), expected, atol=1e-6)


def test_the_differentiable_velocity_equals_the_one_of_the_cache(model):
    kv, length, noise = world(model)
    table, = model.prepare(1)
    before = kv.clone()
    with torch.no_grad():
        free = model.free_velocity(noise, kv, length, table)
        assert torch.equal(kv, before)
        assert torch.allclose(free, model.velocity(noise, kv, length, table), atol=1e-6)


@pytest.mark.parametrize('jacobian', [True, False])
@pytest.mark.parametrize('pack', [True, False])
def test_a_guided_chunk_begins_as_the_running_one_goes_on(jacobian, pack):
    model = Pi05.random(CONFIG, seed=1)
    tables = model.prepare(10, pack=pack)
    kv, length, noise = world(model)
    other_kv, _, other_noise = world(model, seed=5)
    horizon = CONFIG.horizon
    with torch.inference_mode():
        running = model.denoise(other_noise, other_kv, length, tables)
        free = model.denoise(noise, kv, length, tables)
        weights = prefix_weights(3, horizon, horizon)[:, None].expand_as(running).contiguous()
        guided = model.denoise(noise, kv, length, tables, Guidance(running, weights, jacobian=jacobian))

    def gap(chunk):
        return (chunk - running)[:3].abs().mean().item()
    assert torch.isfinite(guided).all() and gap(guided) < 0.5 * gap(free)


def test_packed_and_plain_weights_give_the_same_guided_velocity():
    kv, length, noise = world(Pi05.random(CONFIG, seed=1))
    velocities = []
    for pack in (True, False):
        model = Pi05.random(CONFIG, seed=1)
        table = model.prepare(4, pack=pack)[0]
        guidance = Guidance(torch.zeros_like(noise), torch.ones_like(noise))
        with torch.inference_mode():
            velocities.append(guidance.velocity(
                noise, 0.5, None, lambda x: model.free_velocity(x, kv, length, table)))
    assert torch.allclose(*velocities, atol=1e-4, rtol=1e-4)


def test_no_weight_is_no_guidance(model):
    kv, length, noise = world(model)
    tables = model.prepare(4)
    with torch.inference_mode():
        free = model.denoise(noise, kv, length, tables)
        for jacobian in (True, False):
            guidance = Guidance(torch.ones_like(noise), torch.zeros_like(noise), jacobian=jacobian)
            assert torch.allclose(model.denoise(noise, kv, length, tables, guidance), free, atol=1e-5)


def test_a_target_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match='not finite'):
        Guidance(torch.full((2, 2), torch.nan), torch.ones(2, 2))
    with pytest.raises(ValueError, match=r'\(2, 3\)'):
        Guidance(torch.zeros(2, 3), torch.ones(2, 2))


def test_a_time_by_row_equals_the_time_of_the_step_where_all_rows_have_it(model):
    kv, length, noise = world(model)
    with torch.no_grad():
        for step, table in enumerate(model.prepare(4)):
            times = torch.full((len(noise),), 1 - step / 4)
            by_row = model.velocity_by_row(noise, kv, length, times)
            assert torch.allclose(by_row, model.velocity(noise, kv, length, table), atol=1e-4)
            times[0] = 0.0
            assert not torch.allclose(model.velocity_by_row(noise, kv, length, times), by_row, atol=1e-3)


def test_frozen_rows_come_out_as_they_went_in_and_the_others_react(model):
    kv, length, noise = world(model)
    tables, columns = model.prepare(10), torch.arange(noise.shape[1]) < 6
    with torch.inference_mode():
        free = model.denoise(noise, kv, length, tables)
        chunks = [model.denoise(noise, kv, length, tables, Frozen(torch.full_like(noise, value), 3, columns))
                  for value in (0.5, -0.5)]
        none = model.denoise(noise, kv, length, tables, Frozen(noise, 0, columns))
    for chunk, value in zip(chunks, (0.5, -0.5)):
        assert torch.allclose(chunk[:3, :6], torch.tensor(value), atol=1e-5)
        assert not torch.allclose(chunk[:3, 6:], torch.tensor(value), atol=1e-3)
    assert not torch.allclose(chunks[0][3:], chunks[1][3:], atol=1e-3) and torch.equal(none, free)


def test_frozen_rows_that_do_not_fit_are_refused():
    for target, rows, columns in ((torch.zeros(2, 3), 3, torch.ones(3)), (torch.zeros(2, 3), 1, torch.ones(2)),
                                  (torch.full((2, 3), torch.inf), 1, torch.ones(3))):
        with pytest.raises(ValueError):
            Frozen(target, rows, columns)
