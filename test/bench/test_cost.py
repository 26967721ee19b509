"""The arithmetic of bounds: by hand for a model of a few numbers, and of the published figures."""
import dataclasses

import pytest

from oxygen_ros.bench import cost
from oxygen_ros.model.config import CONFIGS, Pi05Config

# One layer, sizes that no two products share.
C = Pi05Config(vision_width=6, vision_depth=1, vision_mlp=7, vision_heads=2, trunk_width=10, trunk_mlp=11,
               expert_width=12, expert_mlp=13, depth=1, heads=2, head_dim=4, vocabulary=17, image_size=28, horizon=5,
               action_dim=8)
LAYER = 4 * 4 * 10 + 10 * 8 + 2 * 11 * 10 + 10 * 11  # q k v, out, gate and up, down


def test_the_bound_is_the_larger_of_the_two_times():
    one = cost.Cost(flop=6e9, bytes=2e9, rows=1, shapes=())
    assert one.bound_s(gflops=3, gb_s=4) == 2.0  # arithmetic 2 s, traffic 0.5 s
    assert one.bound_s(gflops=60, gb_s=4) == 0.5  # arithmetic 0.1 s


def test_decode_by_hand():
    one = cost.decode(C, rows=3, length=20, own=2, size=2)
    attention = 4 * 2 * 4 * 22  # scores and sums of two heads over 22 keys
    assert one.flop == 3 * (2 * (LAYER + 170) + attention)
    assert one.bytes == 2 * (LAYER + 170 + 2 * 4 * (3 * 20 + 3 * 2))
    assert one.rows == 3 and one.shapes[-1] == (17, 10)


def test_streams_on_one_prefix_read_it_once():
    apart, shared = (cost.decode(C, 4, 20, 2, 2, prefixes) for prefixes in (None, 1))
    assert apart.bytes - shared.bytes == 2 * 3 * 20 * 2 * 4
    assert apart.flop == shared.flop


def test_prefill_by_hand_with_a_last_layer_of_keys_only():
    one = cost.prefill(dataclasses.replace(C, depth=2), length=20, size=2)
    keys = 2 * 4 * 10
    attention = 4 * 2 * 4 * 20 ** 2 + 4 * 2 * 4 * 20  # every row in the first layer, one in the last
    assert one.flop == 2 * 20 * LAYER + 2 * 20 * keys + 2 * (LAYER - keys) + attention
    assert one.bytes == 2 * 2 * (LAYER + 2 * 4 * 20)


def test_denoise_by_hand():
    one = cost.denoise(C, length=20, steps=3, size=2)
    layer = 4 * 4 * 12 + 12 * 8 + 2 * 13 * 12 + 12 * 13
    assert one.flop == 3 * (2 * 5 * layer + 4 * 2 * 4 * 5 * 25)
    assert one.bytes == 3 * 2 * (layer + 2 * 4 * 20)
    assert one.rows == 5


def test_vision_by_hand():
    one = cost.vision(C, views=2, size=2)
    weights = 3 * 36 + 36 + 2 * 42 + 6 * (3 * 14 ** 2 + 10)
    assert one.flop == 2 * 2 * 4 * weights + 2 * 4 * 6 * 4 ** 2
    assert one.bytes == 2 * weights and one.rows == 8


def test_counted_work_of_the_full_size_is_that_of_the_published_figures():
    c = CONFIGS['pi05']
    assert cost.vision(c, 3, 2).flop == pytest.approx(0.661e12, rel=0.01)
    assert cost.prefill(c, 868, 2).flop == pytest.approx(3.552e12 * 0.945, rel=0.01)
    assert cost.decode(c, 30, 868, 30, 2).bytes == pytest.approx(5.513e9, rel=0.01)
    assert cost.decode(c, 30, 868, 30, 2, prefixes=1).bytes == pytest.approx(5.05e9, rel=0.01)
