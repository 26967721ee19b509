"""Suite `headline`: all modes beside each other at the paper's main shapes, and each stage alone."""
from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.limits import bandwidth_gb_s
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.memory import peak_bytes
from oxygen_ros.bench.runners import EngineRunner
from oxygen_ros.bench.stages import Stages
from oxygen_ros.bench.workload import Shapes


def predicted_ms(mode, stages, shapes, rows):
    """Sum of the stages of one frame, each timed alone."""
    stage = stages.samples.median
    once = stage('prefill') + (stage('vision') if stages.static is None else 0.0)
    if mode == 'isolated':
        return once * (1 + shapes.per_frame) + stage('denoise') + shapes.per_frame * shapes.tokens * stage('decode_1')
    if mode == 'shared':
        return once + stage('denoise') + shapes.per_frame * (shapes.tokens - 1) * stage('decode_1')
    return once + stage('denoise') + stage(f'decode_{rows}')


MODES = ('reference', 'isolated', 'shared', 'oxygen')


def headline(options, progress, modes=MODES):
    """One request of N tokens and one decode round a frame, EOS off: all modes interleaved, and each stage alone."""
    shapes = Shapes(tokens=options.tokens)
    bench = Bench(options, shapes)
    runners = {'reference': bench.reference()} if 'reference' in modes else {}
    bandwidth = bandwidth_gb_s(options.device, options.clock)
    for mode in modes:
        if mode != 'reference':
            runners[mode] = EngineRunner(bench.engine(mode), shapes)
    rows = shapes.tokens - 1
    counts = sorted({1, min(16, rows), rows})
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
    result['stages']['decode_round'] = result['stages'][f'decode_{min(16, rows)}']
    result['limits'] = {'gemm_gflops': max(s['gemm_gflops'] for s in result['stages'].values()),
                        'bandwidth_gb_s': bandwidth}
    result['modes'] = {}
    for mode, runner in runners.items():
        figures = runner.samples.summary()
        figures['chunk_horizon'] = shapes.horizon
        if options.memory:
            figures.update(peak_bytes(options, mode))
        if mode != 'reference':
            figures['predicted_frame_ms'] = predicted_ms(mode, stages, shapes, rows)
        result['modes'][mode] = figures
    return result
