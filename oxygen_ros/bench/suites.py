"""The suites of `bench`: what runs beside what, and the figures they give."""
from dataclasses import dataclass, replace
import time

import torch

from oxygen_ros.bench.limits import bandwidth_gb_s, host
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.reference import Reference
from oxygen_ros.bench.runners import EngineRunner, ReferenceRunner
from oxygen_ros.bench.stages import Stages
from oxygen_ros.bench.workload import BenchProcessor, Shapes, sized
from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.model.pi05 import Pi05


@dataclass(frozen=True)
class Options:
    """What the command line chose; `clock` is wall time or the processor time of this process."""

    model: str
    dtype: str
    device: str
    rounds: int
    clock_name: str

    @property
    def clock(self):
        return time.process_time if self.clock_name == 'cpu' else time.perf_counter


class Bench:
    """Models and engines of one run, all on the same weights."""

    def __init__(self, options, shapes, seed=0):
        self.options, self.shapes, self.clock = options, shapes, options.clock
        self.dtype = getattr(torch, options.dtype)
        self.config = sized(options.model, shapes)
        self.processor = BenchProcessor(self.config, shapes)
        self.model = Pi05.random(self.config, seed, self.dtype, options.device)

    def reference(self):
        """The reference keeps its own plain copy of the weights: ask for it before the first engine packs them."""
        return ReferenceRunner(Reference(self.model), self.processor, self.shapes, self.clock)

    def engine(self, mode, shapes=None, rounds=1, **options):
        shapes = shapes or self.shapes
        options = {'slots': shapes.tokens // rounds * shapes.per_frame + 2, 'max_prompt_tokens': shapes.padded_prompt,
                   'max_new_tokens': shapes.tokens, 'decode_rounds': rounds, 'denoise_steps': shapes.steps,
                   'eos': False, 'dtype': self.options.dtype, 'device': self.options.device, **options}
        return Engine(self.model, self.processor, EngineConfig(mode=mode, **options), self.clock)

    def header(self, suite):
        return {'suite': suite, 'model': self.options.model, 'dtype': self.options.dtype,
                'clock': self.options.clock_name, 'host': host()}


def predicted_ms(mode, stage, shapes, rows):
    """Sum of the stages of one frame, each timed alone; `stage` gives its median in ms."""
    once = stage('vision') + stage('prefill')
    if mode == 'isolated':
        return once * (1 + shapes.per_frame) + stage('denoise') + shapes.per_frame * shapes.tokens * stage('decode_1')
    if mode == 'shared':
        return once + stage('denoise') + shapes.per_frame * (shapes.tokens - 1) * stage('decode_1')
    return once + stage('denoise') + stage(f'decode_{rows}')


MODES = ('reference', 'isolated', 'shared', 'oxygen')


def headline(options, progress, shapes=Shapes(), modes=MODES):
    """N = 30, one request and one decode round a frame, EOS off: all modes interleaved, and each stage alone."""
    bench = Bench(options, shapes)
    runners = {'reference': bench.reference()} if 'reference' in modes else {}
    bandwidth = bandwidth_gb_s(options.device, options.clock)
    for mode in modes:
        if mode != 'reference':
            runners[mode] = EngineRunner(bench.engine(mode), shapes)
    rows = shapes.tokens - 1
    counts = sorted({1, 16, rows})
    stages = Stages(bench.engine('oxygen'), shapes)
    for mode, runner in runners.items():
        progress(f'filling {mode}')
        runner.fill()
    turns = {mode: runner.frame for mode, runner in runners.items()}
    turns.update(stages.calls(counts))
    interleave(turns, options.rounds, progress)
    result = bench.header('headline')
    result['shapes'] = vars(shapes)
    result['stages'] = stages.report(counts, bandwidth)
    result['stages']['decode_round'] = result['stages'][f'decode_{16 if 16 in counts else rows}']
    result['limits'] = {'gemm_gflops': max(s['gemm_gflops'] for s in result['stages'].values()),
                        'bandwidth_gb_s': bandwidth}
    result['modes'] = {}
    for mode, runner in runners.items():
        figures = runner.samples.summary()
        figures['chunk_horizon'] = shapes.horizon
        if mode != 'reference':
            figures['predicted_frame_ms'] = predicted_ms(mode, stages.samples.median, shapes, rows)
        result['modes'][mode] = figures
    return result


def scaling(options, progress, lengths=(5, 10, 15, 20, 30), decode_rounds=(1, 5, 10)):
    """Action rate against N; `oxygen` at several decode rounds a frame."""
    bench = Bench(options, Shapes())
    reference = bench.reference()
    result = bench.header('scaling')
    result['points'] = []
    for tokens in lengths:
        shapes = replace(Shapes(), tokens=tokens)
        runners = {'reference': ReferenceRunner(reference.reference, bench.processor, shapes, bench.clock)}
        runners.update({mode: EngineRunner(bench.engine(mode, shapes), shapes) for mode in ('isolated', 'shared')})
        runners.update({f'oxygen_{k}': EngineRunner(bench.engine('oxygen', shapes, k), shapes)
                        for k in decode_rounds if k <= tokens})
        for runner in runners.values():
            runner.fill()
        interleave({mode: runner.frame for mode, runner in runners.items()}, options.rounds,
                   lambda text: progress(f'N={tokens} {text}'))
        for mode, runner in runners.items():
            result['points'].append({'mode': mode, 'tokens': tokens, 'chunk_horizon': shapes.horizon,
                                     **runner.samples.summary()})
    return result
