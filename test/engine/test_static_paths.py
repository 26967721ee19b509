"""The fixed-shape paths give what the plain ones give; on a GPU they are captured, here they are called."""
import warnings

import numpy as np
import pytest
import torch

from oxygen_ros.engine import static_paths
from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.guidance import Guidance
from oxygen_ros.engine.replay import Captures, Replay
from oxygen_ros.engine.request import FinishReason
from oxygen_ros.profile.profile import PrefixMask
from tiny_engine import Log, TinyProcessor, TwoLevels, ask, engine, model, observation

TRAFFIC = [('pick', 2, [ask(6), ask(4, suffix='why')]), ('place it there', 1, []), ('go', 3, [ask(9)]),
           ('pick', 2, [ask(3), ask(3), ask(3)]), ('pick', 2, [])]


def run(made, frames=12):
    log = Log()
    for i in range(frames):
        instruction, views, requests = TRAFFIC[i] if i < len(TRAFFIC) else TRAFFIC[-1]
        made.run_frame(observation(i, instruction, views), requests, log.chunk, log.token)
    return log


@pytest.mark.parametrize('mask', list(PrefixMask))
@pytest.mark.parametrize('options', [{}, {'ride': True}, {'draft_tokens': 3}, {'mode': 'shared'}, {'mode': 'isolated'}])
def test_fixed_shapes_change_neither_actions_nor_texts(mask, options):
    options = {'slots': 6, 'decode_rounds': 2, **options}
    plain, static = (engine(TinyProcessor(mask=mask), static=on, **options) for on in (False, True))
    for made in (plain, static):
        made.warm_up()
    wanted, got = run(plain), run(static)
    for a, b in zip(wanted.chunks, got.chunks, strict=True):
        assert np.abs(a.data - b.data).max() < 1e-5
    assert [got.tokens(i) for i in range(1, 7)] == [wanted.tokens(i) for i in range(1, 7)]
    assert len(got.tokens(1)) == 6 and len(got.tokens(3)) == 9
    assert static.counters.captures > 10 and static.counters.eager_runs == 0
    assert static.counters.prefills == plain.counters.prefills
    assert static.counters.blocks_used == static.counters.slots_used == 0


VARIED = [('pick', 2, [ask(6), ask(4, suffix='why')]), ('place it there', 1, [ask(9, suffix='which one')]),
          ('go', 3, [ask(9)] * 6), ('pick', 2, [ask(3, suffix='where?'), ask(3, suffix='x'), ask(24)]), ('pick', 2, [])]


def varied(made, frames=14):
    """Prompts of several lengths, many streams on a prefix, suffixes, drafts."""
    log = Log()
    for i in range(frames):
        instruction, views, requests = VARIED[i % len(VARIED)]
        made.run_frame(observation(i, instruction, views), requests, log.chunk, log.token)
    return log


class Poisoned(Replay):
    """On a GPU all computations share one memory: when one runs, what the others returned is gone."""

    returned = []

    def __call__(self):
        for tensor in Poisoned.returned:
            tensor.fill_(torch.nan)
        found = super().__call__()
        Poisoned.returned = [x for x in (found if isinstance(found, tuple) else (found,)) if x is not None]
        return found


@pytest.mark.parametrize('options', [{}, {'ride': True}, {'draft_tokens': 3}, {'mode': 'shared'}, {'mode': 'isolated'}])
def test_nothing_is_read_of_a_computation_after_another_one_has_run(monkeypatch, options):
    options = {'slots': 9, 'max_suffix_tokens': 9, 'decode_rounds': 2, **options}
    wanted = varied(engine(**options))
    monkeypatch.setattr(static_paths, 'Replay', Poisoned)
    made = engine(static=True, **options)
    made.warm_up()
    got = varied(made)
    for a, b in zip(wanted.chunks, got.chunks, strict=True):
        assert np.abs(a.data - b.data).max() < 1e-5
    assert [got.tokens(i) for i in range(1, 20)] == [wanted.tokens(i) for i in range(1, 20)]


def unprepared(made, monkeypatch):
    """A list that gets the name of each part of the model that runs outside every prepared computation."""
    inside, found = [], []
    call = Replay.__call__

    def run(replay):
        inside.append(replay)
        try:
            return call(replay)
        finally:
            inside.pop()

    monkeypatch.setattr(Replay, '__call__', run)

    def note(name):
        if not inside:
            found.append(name)

    parts = {'vision': made.model.vision, 'trunk': made.model.trunk, 'expert': made.model.expert.layers[0]}
    for name, part in parts.items():
        part.register_forward_pre_hook(lambda m, i, name=name: note(name))
    for name in ('logits', 'embed_tokens', 'denoise'):
        original = getattr(made.model, name)
        monkeypatch.setattr(made.model, name,
                            lambda *a, name=name, original=original: (note(name), original(*a))[1])
    return found


@pytest.mark.parametrize('options', [{}, {'ride': True}, {'ride': 'auto', 'draft_tokens': 3}, {'draft_tokens': 12},
                                     {'mode': 'shared'}, {'mode': 'isolated'}, {'prefix_blocks': 15}])
def test_after_warm_up_everything_is_prepared_and_nothing_more_gets_prepared(monkeypatch, options):
    made = engine(static=True, slots=9, max_suffix_tokens=9, **{'decode_rounds': 2, **options})
    made.warm_up()
    outside, captures = unprepared(made, monkeypatch), made.counters.captures
    log = varied(made, 25)
    assert len(log.end(1)) == 1 and made.counters.streams_started > 20
    assert outside == [] and made.counters.eager_runs == 0
    assert made.counters.captures == captures
    assert captures == len(made.static.rounds) + len(made.static.prefills) + len(made.static.denoises) + \
        len(made.static.first)


def test_each_computation_counts_when_it_is_prepared():
    captures = Captures('cpu')
    for count in (1, 2):
        Replay(lambda: None, 'cpu', captures)
        assert captures.count == count


def test_the_prompt_for_a_subtask_is_prepared_too(monkeypatch):
    made, log = engine(TwoLevels(), static=True, slots=3, decode_rounds=1), Log()
    made.warm_up()
    outside = unprepared(made, monkeypatch)
    for i in range(4):
        made.run_frame(observation(i), [ask(5)] if i == 0 else [], log.chunk, log.token)
    assert len(log.tokens(1)) == 5 and outside == [] and made.counters.prefills == 5


def test_a_prompt_for_a_subtask_that_no_block_holds_is_refused_with_numbers():
    processor = TwoLevels()
    processor.high_level_prompt = lambda instruction: list(range(41))
    for static in (False, True):
        made, log = engine(processor, static=static), Log()
        made.warm_up()
        report = made.run_frame(observation(1), [ask(5)], log.chunk, log.token)
        assert [r.reason for r in report.refused] == ['the prompt for the subtask has 41 tokens, the engine holds 40']
        assert log.end(1) == [FinishReason.REFUSED] and made.counters.blocks_used == 0


def test_what_cannot_be_prepared_runs_all_the_same_and_is_counted(monkeypatch):
    monkeypatch.setattr(static_paths, 'MOST_SUFFIX', 4)
    plain, made = (engine(slots=3, decode_rounds=1, static=static) for static in (False, True))
    logs = []
    for one in (plain, made):
        one.warm_up()
        logs.append(Log())
        for i in range(3):
            asked = [ask(3), ask(3, suffix='eight ch'), ask(3, suffix='four')] if i == 0 else []
            one.run_frame(observation(i), asked, logs[-1].chunk, logs[-1].token)
    assert made.counters.eager_runs == 1 and plain.counters.eager_runs == 0
    assert [logs[1].tokens(i) for i in (1, 2, 3)] == [logs[0].tokens(i) for i in (1, 2, 3)]
    nothing = torch.zeros(made.model.config.horizon, made.model.config.action_dim)
    made.guide = lambda observation: Guidance(nothing, nothing)
    made.run_frame(observation(3), [], logs[1].chunk, logs[1].token)
    assert made.counters.eager_runs == 2


def test_few_streams_read_few_blocks_and_slots():
    made, log = engine(static=True, slots=16, decode_rounds=1), Log()
    made.warm_up()
    chosen = []
    extent = made.static.extent
    made.static.extent = lambda *a: chosen.append(extent(*a)) or chosen[-1]
    for i in range(2):
        made.run_frame(observation(i), [ask(24)], log.chunk, log.token)
    assert [(e.rows, e.blocks, e.slots) for e in chosen] == [(1, 2, 1), (2, 3, 2)]
    for i in range(8):
        made.run_frame(observation(i), [ask(24)], log.chunk, log.token)
    for request_id in range(1, 10):
        made.cancel(request_id)
    made.run_frame(observation(1), [], log.chunk, log.token)
    assert chosen[-1].slots >= 10  # the last one has slot 9


@torch.inference_mode()
def test_the_prefix_of_a_frame_is_copied_to_one_scratch_no_farther_than_it_reaches():
    made = engine(static=True)
    made.warm_up()
    assert made.counters.pool_bytes == made.pool.bytes + made.static.bytes
    c, own = made.model.config, made.pool.block(0).numel() * 4
    assert made.static.bytes == own
    made.pool.prefix.fill_(3.0)
    made.static.scratch.fill_(7.0)
    words = made.static.bucket(5)
    made.static.denoises[1, words](torch.zeros(c.horizon, c.action_dim), 1, c.image_tokens + 5)
    positions = c.image_tokens + words
    assert (made.static.scratch[:, :, :, :positions] == 3).all()
    assert (made.static.scratch[:, :, :, positions + c.horizon:] == 7).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a CUDA GPU')
@pytest.mark.parametrize('options', [{}, {'ride': True}, {'draft_tokens': 3}])
def test_cuda_graphs_give_what_the_plain_calls_give_and_are_captured_once(options):
    logs = []
    for device, static in (('cuda', False), ('cuda', True)):
        config = EngineConfig(max_prompt_tokens=40, max_suffix_tokens=8, max_new_tokens=24, eos=False, slots=6,
                              decode_rounds=2, device=device, static=static, **options)
        made = Engine(model().to_device(device), TinyProcessor(), config)
        made.warm_up()
        captures = made.counters.captures
        logs.append(run(made))
        assert made.counters.captures == captures
    for a, b in zip(logs[0].chunks, logs[1].chunks, strict=True):
        assert np.abs(a.data - b.data).max() < 1e-4
    assert [logs[1].tokens(i) for i in range(1, 7)] == [logs[0].tokens(i) for i in range(1, 7)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a CUDA GPU')
def test_cuda_a_frame_waits_for_the_gpu_for_its_chunk_its_first_tokens_and_each_round():
    config = EngineConfig(max_prompt_tokens=40, max_suffix_tokens=8, max_new_tokens=24, eos=False, slots=6,
                          decode_rounds=2, device='cuda', static=True)
    made, log = Engine(model().to_device('cuda'), TinyProcessor(), config), Log()
    made.warm_up()
    for i in range(2):
        made.run_frame(observation(i), [ask(9), ask(9)], log.chunk, log.token)
    torch.cuda.set_sync_debug_mode('warn')
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            made.run_frame(observation(2), [ask(9), ask(9)], log.chunk, log.token)
    finally:
        torch.cuda.set_sync_debug_mode('default')
    assert len([w for w in seen if 'synchroniz' in str(w.message)]) == 1 + 1 + 2
