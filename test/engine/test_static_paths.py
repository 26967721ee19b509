"""The fixed-shape paths give what the plain ones give; on a GPU they are captured, here they are called."""
import numpy as np
import pytest
import torch

from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.profile.profile import PrefixMask
from tiny_engine import Log, TinyProcessor, ask, engine, model, observation

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
    captures = static.counters.captures
    wanted, got = run(plain), run(static)
    for a, b in zip(wanted.chunks, got.chunks, strict=True):
        assert np.abs(a.data - b.data).max() < 1e-5
    assert [got.tokens(i) for i in range(1, 7)] == [wanted.tokens(i) for i in range(1, 7)]
    assert len(got.tokens(1)) == 6 and len(got.tokens(3)) == 9
    assert static.counters.captures == captures > 10
    assert static.counters.prefills == plain.counters.prefills
    assert static.counters.blocks_used == static.counters.slots_used == 0


def test_what_fits_no_bucket_is_run_all_the_same_and_counted():
    made = engine(slots=2, static=True)
    made.warm_up()
    log = Log()
    made.run_frame(observation(1), [ask(3, suffix='eight ch')], log.chunk, log.token)
    assert made.counters.eager_rounds == 1 and len(log.tokens(1)) == 1


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
