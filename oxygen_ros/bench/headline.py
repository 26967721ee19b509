"""Suite `headline`: all modes beside each other at the paper's main shapes, and each stage alone."""
from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.limits import bandwidth_gb_s
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.memory import memory_of, peak_of_this_process
from oxygen_ros.bench.stages import Stages


def predicted_ms(mode, stages, shapes, rows):
    """Sum of the stages of one frame, each timed alone."""
    stage = stages.samples.median
    once = stage('prefill') + (stage('vision') if stages.static is None else 0.0)
    if mode == 'isolated':
        return once * (1 + shapes.per_frame) + stage('denoise') + shapes.per_frame * shapes.tokens * stage('decode_1')
    if mode == 'shared':
        return once + stage('denoise') + shapes.per_frame * (shapes.tokens - 1) * stage('decode_1')
    return once + stage('denoise') + stage(f'decode_{rows}')


def headline(options, progress):
    """One request of N tokens and one decode round a frame, EOS off: all modes interleaved, and each stage alone."""
    shapes = options.shapes
    memory = {}
    for mode in options.modes if options.memory else ():  # first, while this process holds no model of its own
        progress(f'memory of {mode}')
        memory[mode] = memory_of(options, mode)
    progress('building the model')
    bench = Bench(options, shapes)
    runners = {'reference': bench.reference()} if 'reference' in options.modes else {}
    bandwidth = bandwidth_gb_s(options.device, options.clock)
    for mode in options.modes:
        if mode != 'reference':
            runners[mode] = bench.runner(bench.engine(mode))
    rows = max(1, shapes.tokens - 1)
    counts = sorted({1, min(16, rows), rows})
    stages = Stages(bench.engine('oxygen'), shapes)
    for mode, runner in runners.items():
        progress(f'filling {mode}')
        runner.fill()
    stages.warm_up(counts)
    turns = {mode: runner.frame for mode, runner in runners.items()}
    turns.update(stages.calls(counts))
    interleave(turns, options.rounds, progress)
    progress('limits of the machine')
    result = bench.header('headline')
    result['shapes'], result['rounds'] = vars(shapes), options.rounds
    result['stages'] = stages.report(counts, bandwidth)
    result['stages']['decode_round'] = result['stages'][f'decode_{min(16, rows)}']
    result['limits'] = {'gemm_gflops': max(s['gemm_gflops'] for s in result['stages'].values()),
                        'bandwidth_gb_s': bandwidth}
    result['process_peak_bytes'] = peak_of_this_process()
    result['modes'] = {}
    for mode, runner in runners.items():
        figures = {**runner.samples.summary(), 'chunk_horizon': shapes.horizon, **memory.get(mode, {})}
        if mode != 'reference':
            figures['predicted_frame_ms'] = predicted_ms(mode, stages, shapes, rows)
        result['modes'][mode] = figures
    return result
