"""Suite `headline`: all modes beside each other at the paper's main shapes, and each stage alone."""
from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.limits import bandwidth_gb_s
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.memory import memory_of, peak_of_this_process, without_memory
from oxygen_ros.bench.reference_stages import ReferenceStages
from oxygen_ros.bench.stages import Stages

TASKS = 4  # language tasks on one frame, whose round is timed on one prefix and on a prefix each


def predicted_ms(mode, stage, shapes, rows, vision_apart=True):
    """
    Sum of the stages of one frame, each timed alone: `stage(name)` is its time.

    For the reference these are its own; with `vision_apart` off vision is part of the prefill, as it is there.
    """
    once = stage('prefill')
    if mode == 'reference':
        return once * (1 + shapes.per_frame) + stage('denoise') + shapes.per_frame * shapes.tokens * stage('decode_1')
    once += stage('vision') if vision_apart else 0.0
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
    unmeasured = without_memory('not measured: --no-memory')
    progress('building the model')
    bench = Bench(options, shapes)
    runners = {'reference': bench.reference()} if 'reference' in options.modes else {}
    bandwidth = bandwidth_gb_s(options.device, options.clock)
    for mode in options.modes:
        if mode != 'reference':
            runners[mode] = bench.runner(bench.engine(mode))
    rows = max(1, shapes.tokens - 1)
    counts = [*sorted({1, min(16, rows), rows, TASKS}), (TASKS, 1)]
    stages = Stages(bench.engine('oxygen', slots=max(shapes.tokens + 2, TASKS)), shapes)
    for mode, runner in runners.items():
        progress(f'filling {mode}')
        runner.fill()
    stages.warm_up(counts)
    turns = {mode: runner.frame for mode, runner in runners.items()}
    turns.update(stages.calls(counts))
    reference_stages = None
    if 'reference' in runners:
        progress('stages of the reference')
        reference_stages = ReferenceStages(runners['reference'].reference, bench.processor, shapes, bench.clock)
        turns.update(reference_stages.calls())
    interleave(turns, options.rounds, progress)
    progress('limits of the machine')
    result = bench.header('headline')
    result['shapes'], result['rounds'] = vars(shapes), options.rounds
    result['stages'] = stages.report(counts, bandwidth)
    result['stages']['decode_round'] = result['stages'][f'decode_{min(16, rows)}']
    result['limits'] = {'gemm_gflops': max(s['gemm_gflops'] for s in result['stages'].values()),
                        'bandwidth_gb_s': bandwidth}
    if reference_stages:
        result['reference_stages'] = reference_stages.report()
    result['process_peak_bytes'] = peak_of_this_process()
    result['modes'] = {}
    for mode, runner in runners.items():
        timed = reference_stages if mode == 'reference' else stages
        result['modes'][mode] = {
            **runner.samples.summary(), 'chunk_horizon': shapes.horizon, **memory.get(mode, unmeasured),
            'predicted_frame_ms': predicted_ms(mode, timed.samples.median, shapes, rows, stages.static is None)}
    return result
