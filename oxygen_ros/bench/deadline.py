"""Suite `deadline`: chunks on time under more language than fits, and how much language gets through."""
from dataclasses import replace

import numpy as np

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.stages import Stages

SLOTS = 32
LENGTHS = (5, 200)
PER_FRAME = (1, 4)
PARTS = 10
ISOLATED_FRAMES = 3


class Loop:
    """Frames back to back, in parts; `intervals_s` from chunk to chunk within a part."""

    def __init__(self, runner):
        self.runner, self.intervals_s = runner, []
        self.before = vars(runner.engine.counters).copy()

    def run(self, frames):
        left = []
        for _ in range(frames + 1):  # the first one's interval reaches back into another loop's turn
            self.runner.frame()
            left.append(self.runner.engine.chunk_left_s)
        self.intervals_s.extend(np.diff(left).tolist())

    def done(self, name):
        """What the engine has counted since the loop was made."""
        return getattr(self.runner.engine.counters, name) - self.before[name]

    def misses(self, period_s):
        """Chunks that left later than `period_s` after the one before."""
        return sum(taken > period_s for taken in self.intervals_s)

    def misses_per_1000(self, period_s):
        return 1000 * self.misses(period_s) / len(self.intervals_s)

    def report(self, period_s):
        taken, horizon = np.array(self.intervals_s), self.runner.shapes.horizon
        return {'deadline_ms': period_s * 1e3, 'interval_ms': float(np.median(taken)) * 1e3,
                'interval_ms_p99': float(np.percentile(taken, 99)) * 1e3, 'interval_ms_mean': taken.mean() * 1e3,
                'misses': self.misses(period_s), 'misses_per_1000': self.misses_per_1000(period_s),
                'action_hz': horizon / float(np.median(taken)), 'chunk_horizon': horizon}


def deadline(options, progress):
    """
    The deadline is 1.2 times the 99th percentile of the action-only frame; `rounds` frames of each kind, in turns.

    With one and with four requests a frame of 5 and of 200 tokens each, on 32 slots; what does not fit is refused and
    counted. With one request a frame the deadline also leaves room for a round of all slots. `limit_tokens_per_s` is
    what the full batch could say in the time that the action part leaves. `action_only_misses_per_1000` holds the
    action-only loop to the deadline of each kind: the machine's own share of the misses.
    """
    quiet = replace(options.shapes, per_frame=0, tokens=max(LENGTHS))
    progress('building the model')
    bench = Bench(options, quiet)
    slots = {'slots': SLOTS, 'max_new_tokens': max(LENGTHS)}
    alone = bench.runner(bench.engine('oxygen', **slots))
    progress('action only, to set the deadline')
    alone.fill(2, 1)
    learning = Loop(alone)
    learning.run(max(20, options.rounds // 4))
    stages = Stages(bench.engine('oxygen', **slots), replace(quiet, per_frame=1))
    stages.warm_up([SLOTS])
    full_round = stages.calls([SLOTS])[f'decode_{SLOTS}']
    for _ in range(10):
        full_round()
    action_s = float(np.percentile(learning.intervals_s, 99))
    round_s = float(np.percentile(stages.samples.values[f'decode_{SLOTS}'], 90)) / 1e3
    periods = {4: 1.2 * action_s, 1: max(1.2 * action_s, 1.1 * (action_s + round_s))}

    loops = {'action only': Loop(alone)}
    for per_frame in PER_FRAME:
        for tokens in LENGTHS:
            shapes = replace(options.shapes, per_frame=per_frame, tokens=tokens)
            runner = bench.runner(bench.engine('oxygen', shapes, decode_rounds=10_000,
                                               deadline_s=periods[per_frame], **slots))
            progress(f'filling {per_frame} a frame, N={tokens}')
            runner.fill(min(SLOTS, tokens) // per_frame, max(1, tokens * per_frame // SLOTS))
            loops[per_frame, tokens] = Loop(runner)
    for part in range(PARTS):
        for name, loop in loops.items():
            progress(f'part {part + 1} of {PARTS}: {name}')
            loop.run((part + 1) * options.rounds // PARTS - part * options.rounds // PARTS)
        full_round()

    result, action_only = bench.header('deadline'), loops.pop('action only')
    result.update(deadline_ms=periods[4] * 1e3, rounds=options.rounds, slots=SLOTS,
                  action_only=action_only.report(periods[4]), runs=[])
    result['round_of_all_slots_ms'] = stages.samples.median(f'decode_{SLOTS}')
    for (per_frame, tokens), loop in loops.items():
        one = loop.report(periods[per_frame])
        free = max(0.0, 1 - result['action_only']['interval_ms_mean'] / one['interval_ms_mean'])
        spent = loop.runner.samples
        one.update(requests_per_frame=per_frame, tokens_per_answer=tokens, live=spent.median('live'),
                   action_only_misses_per_1000=action_only.misses_per_1000(periods[per_frame]),
                   tokens_per_s=loop.done('tokens') / (sum(spent.values['frame_ms']) / 1e3),
                   limit_tokens_per_s=SLOTS / result['round_of_all_slots_ms'] * 1e3 * free,
                   **{name: loop.done(name) for name in ('decode_rounds', 'streams_started', 'streams_refused')})
        result['runs'].append(one)
    result['isolated'] = [isolated(bench, options, tokens, progress) for tokens in LENGTHS]
    return result


def isolated(bench, options, tokens, progress):
    """One request a frame of `tokens` tokens in mode isolated: its frame, which has no deadline."""
    shapes = replace(options.shapes, tokens=tokens)
    runner = bench.runner(bench.engine('isolated', shapes, max_new_tokens=tokens))
    runner.fill()
    for number in range(ISOLATED_FRAMES):
        progress(f'isolated, N={tokens}: frame {number + 1} of {ISOLATED_FRAMES}')
        runner.frame()
    return {'tokens_per_answer': tokens, 'chunk_horizon': shapes.horizon, **runner.samples.summary()}
