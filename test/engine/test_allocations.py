"""
Promise: steady traffic allocates nothing that lasts, and copies no keys or values from frame to frame.

Every allocation and release of torch's CPU allocator is counted, those inside its kernels too: whatever a frame
allocates it has released at its end, no single allocation is as large as the keys and values of one prefix, no frame
needs more of them than the frames before it did, and the pools stay where they are. Only the fixed shapes, which are
for GPUs, read a frame's own prefix into a scratch once; captured in a graph that allocates nothing either.
"""
import dataclasses
import gc

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import tiny_engine
from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.model.pi05 import Pi05
from tiny_engine import TinyProcessor, ask, observation

CONFIG = dataclasses.replace(tiny_engine.CONFIG, depth=6)  # a prefix outweighs all activations, as in the real model


def made(**options):
    config = EngineConfig(max_prompt_tokens=40, max_suffix_tokens=8, max_new_tokens=24, eos=False, slots=6,
                          decode_rounds=2, **options)
    return Engine(Pi05.random(CONFIG, 3, max_positions=128), TinyProcessor(), config)


def frame(engine, number):
    engine.run_frame(observation(number % 3), [ask(9)], lambda chunk: None, lambda event: None)


def allocations(call):
    """Bytes of each allocation (positive) and release (negative) of torch's CPU allocator during `call`."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        call()
    events = seen.profiler.kineto_results.events()
    return [event.nbytes() for event in events if event.name() == '[memory]']


@pytest.mark.parametrize('options', [{}, {'ride': True}, {'draft_tokens': 2}, {'static': True}])
def test_a_frame_in_steady_traffic_allocates_nothing_that_lasts(options):
    engine = made(**options)
    engine.warm_up()
    pools = engine.pool.prefix, engine.pool.slots
    addresses = [pool.data_ptr() for pool in pools]
    for number in range(30):  # the batch has its steady size, every block and slot has been in use
        frame(engine, number)
    first, second = ([allocations(lambda n=n: frame(engine, n)) for n in range(i, i + 12)] for i in (30, 42))
    for sizes in first + second:
        assert sum(sizes) == 0
        assert len(sizes) > 100  # the counting counts
    block = engine.pool.block(0).numel() * 4
    assert max(max(sizes) for sizes in first + second) < block
    assert max(len(sizes) for sizes in second) <= max(len(sizes) for sizes in first)
    assert [pool.data_ptr() for pool in pools] == addresses


def test_what_lasts_and_what_is_copied_is_seen():
    engine = made()
    frame(engine, 0)
    kept = []
    sizes = allocations(lambda: kept.append(engine.pool.block(0).clone()))
    assert sum(sizes) == max(sizes) >= engine.pool.block(0).numel() * 4
    assert torch.equal(kept[0], engine.pool.block(0))
