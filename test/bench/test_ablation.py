"""Promise: every row of the ablation does other work than the row that it is compared with, and says the same."""
from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oxygen_ros.bench import table
from oxygen_ros.bench.ablation import EAGER, EXTRA_FORWARD, TASKS, WHOLE, ablation, engines_of
from oxygen_ros.bench.bench import Bench, Options
from oxygen_ros.bench.workload import Shapes

CLOSE = 1e-3  # a top-two margin below this may fall either way
TOKENS, FRAMES = 8, 8
OPTIONS = Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=TOKENS)
# Each idea that the engine is made of, by a row that leaves it out or puts it in.
COMMON = {WHOLE, 'rows ride in the prefill', 'drafts from earlier answers', 'without batching over frames',
          'without sharing the prefix', TASKS, 'four tasks a frame, each with a prefix of its own',
          'without fusing Q, K and V', 'with log-softmax', EXTRA_FORWARD, 'without trimming the prompt',
          'without folding the times', 'without trimming the last layer', 'with logits of every position',
          'without skipping the absent view'}
KINDS = {'plain': COMMON | {'without fusing gate and up'},
         'packed': COMMON | {'without packed weights', 'without GELU and sums inside products',
                             'with gate and up in one product'},
         'static': COMMON | {'without fusing gate and up', EAGER}}


class Work(TorchDispatchMode):
    """Counts operations by name and shapes."""

    def __init__(self):
        super().__init__()
        self.done = Counter()

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        shapes = tuple(tuple(x.shape) for x in arguments if isinstance(x, torch.Tensor))
        self.done[str(operation), shapes] += 1
        return operation(*arguments, **(options or {}))


def run(bench, engine):
    """Frames of its traffic -> texts, their top-two margins, chunks, and the work of a steady frame."""
    runner, margins, chunks = bench.runner(engine), {}, []
    engine.warm_up()
    runner.texts = {}
    make, greedy = engine.processor.chunk, engine.language.greedy

    def choose(streams, drafts, logits):
        best, start = logits.topk(2).values, 0
        for stream, draft in zip(streams, drafts):
            for i in range(len(draft) + 1):
                margins[stream.request_id, len(stream.tokens) + i] = float(best[start, 0] - best[start, 1])
                start += 1
        return greedy(streams, drafts, logits)

    engine.language.greedy = choose
    engine.processor.chunk = lambda actions, *rest: (chunks.append(actions), make(actions, *rest))[1]
    for _ in range(FRAMES - 1):
        runner.frame()
    with Work() as work:
        runner.frame()
    engine.processor.chunk = make
    return runner.texts, margins, np.stack(chunks), work.done


@pytest.mark.parametrize('kind', KINDS)
def test_every_switch_changes_the_work_and_no_result(kind, monkeypatch):
    if kind == 'packed':
        monkeypatch.setattr('oxygen_ros.engine.engine.PACK_FROM_BYTES', 0)
    bench = Bench(OPTIONS, Shapes(tokens=TOKENS))
    rows = engines_of(bench, bench.shapes, static=kind == 'static')
    assert set(rows) == KINDS[kind]
    found = {name: run(bench, engine) for name, (engine, _) in rows.items()}
    texts, margins, chunks, _ = found[WHOLE]
    assert len(texts[1]) == TOKENS and len(set(texts[1])) > 2 and texts[1] != texts[2]
    for name, (engine, base) in rows.items():
        mine, _, moved, work = found[name]
        assert np.abs(moved - chunks).max() < 1e-4, name
        count = engine.processor.shapes.per_frame
        for request_id, said in mine.items():
            frame = 1 + (request_id - 1) // count  # texts of a frame are alike: they have no words of their own
            for i, (token, right) in enumerate(zip(said, texts.get(frame, ()))):
                if token != right:
                    assert margins[frame, i] <= CLOSE, f'{name}: token {i} of frame {frame}'
                    break
        assert len(mine) == FRAMES * count
        assert name == WHOLE or work != found[base][3], f'{name} does the work of {base}'


def test_on_a_gpu_what_captured_stages_do_not_contain_is_compared_with_the_eager_engine():
    bench = Bench(OPTIONS, Shapes(tokens=TOKENS))
    rows = engines_of(bench, bench.shapes, static=True)
    for name, (engine, base) in rows.items():
        eager = base == EAGER or name == EAGER
        assert engine.config.in_fixed_shapes == (not eager), name
        assert base == WHOLE or base in rows


def test_with_three_real_views_there_is_no_absent_one():
    bench = Bench(OPTIONS, Shapes(views=3, tokens=TOKENS))
    assert 'without skipping the absent view' not in engines_of(bench, bench.shapes)


@torch.inference_mode()
def test_ablation_compares_every_switch_with_its_row():
    result = ablation(Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=4), lambda text: None)
    modes = result['modes']
    assert set(modes) == KINDS['plain']
    for one in modes.values():
        assert one['frame_ratio'] == pytest.approx(one['frame_ms'] / modes[one['compared_with']]['frame_ms'])
    assert modes[EXTRA_FORWARD]['advanced'] == 4 and modes[WHOLE]['advanced'] == 3
    lines = table.ablation(result).splitlines()
    assert len(lines) == 2 + len(modes)
    del modes[WHOLE]['compared_with']  # an older file
    assert table.ablation(result).splitlines() == lines
