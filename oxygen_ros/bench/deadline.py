"""Suite `deadline`: chunks on time under more language than fits, and how much language gets through."""
from dataclasses import replace

import numpy as np

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.runners import EngineRunner
from oxygen_ros.bench.stages import Stages
from oxygen_ros.bench.workload import Shapes

SLOTS = 32
LENGTHS = (5, 200)


def intervals_s(runner, frames, clock, progress, name):
    """Times from chunk to chunk of `frames` frames."""
    left = []
    for number in range(frames):
        runner.frame()
        left.append(runner.engine.chunk_left_s)
        if number % 10 == 0:
            progress(f'{name}: frame {number} of {frames}')
    return np.diff(left)


def deadline(options, progress, requests=4):
    """
    The deadline is 1.2 times the 99th percentile of the action-only frame; `rounds` frames of each kind.

    With `requests` a frame of N tokens each on 32 slots, what does not fit is refused and counted. `limit_tokens_per_s`
    is what the full batch could say in the time that the action part leaves.
    """
    quiet = replace(Shapes(), per_frame=0, tokens=max(LENGTHS))
    bench = Bench(options, quiet)
    slots = {'slots': SLOTS, 'max_new_tokens': max(LENGTHS)}
    alone = EngineRunner(bench.engine('oxygen', **slots), quiet)
    alone.engine.warm_up()
    alone.measuring = True
    learned = intervals_s(alone, max(10, options.rounds // 4), bench.clock, progress, 'action only')
    period = 1.2 * float(np.percentile(learned, 99))
    result = bench.header('deadline')
    result.update(deadline_ms=period * 1e3, frames=options.rounds, slots=SLOTS, requests_per_frame=requests)
    only = intervals_s(alone, options.rounds, bench.clock, progress, 'action only')
    result['action_only'] = {'interval_ms': float(np.median(only)) * 1e3, 'misses': int((only > period).sum()),
                             'interval_ms_p99': float(np.percentile(only, 99)) * 1e3}
    stages = Stages(bench.engine('oxygen', **slots), replace(Shapes(), tokens=max(LENGTHS)))
    call = stages.calls([SLOTS])[f'decode_{SLOTS}']
    for _ in range(5):
        call()
    full_round_s = stages.samples.median(f'decode_{SLOTS}') / 1e3
    result['runs'] = []
    for tokens in LENGTHS:
        shapes = replace(Shapes(), per_frame=requests, tokens=tokens)
        runner = EngineRunner(bench.engine('oxygen', shapes, decode_rounds=10_000, deadline_s=period, **slots), shapes)
        runner.engine.warm_up()
        runner.measuring = True
        took = intervals_s(runner, options.rounds, bench.clock, progress, f'N={tokens}')
        counters, spent = runner.engine.counters, float(took.sum())
        free = max(0.0, 1 - float(np.median(only)) / float(np.median(took)))
        result['runs'].append({
            'tokens_per_answer': tokens, 'interval_ms': float(np.median(took)) * 1e3,
            'interval_ms_p99': float(np.percentile(took, 99)) * 1e3, 'misses': int((took > period).sum()),
            'action_hz': 10 / float(np.median(took)), 'chunk_horizon': 10, 'tokens_per_s': counters.tokens / spent,
            'limit_tokens_per_s': SLOTS / full_round_s * free, 'decode_rounds': counters.decode_rounds,
            'streams_started': counters.streams_started, 'streams_refused': counters.streams_refused})
    return result
