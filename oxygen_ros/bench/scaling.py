"""Suite `scaling`: action rate against the length of the answers."""
from dataclasses import replace

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.runners import ReferenceRunner


def scaling(options, progress, lengths=(5, 10, 15, 20, 30), decode_rounds=(1, 5, 10)):
    """Action rate against N; `oxygen` at several decode rounds a frame."""
    bench = Bench(options, options.shapes)
    reference = bench.reference().reference if 'reference' in options.modes else None
    result = bench.header('scaling')
    result['rounds'] = options.rounds
    result['points'] = []
    for tokens in lengths:
        shapes, runners = replace(options.shapes, tokens=tokens), {}
        for mode in options.modes:
            if mode == 'reference':
                runners[mode] = ReferenceRunner(reference, bench.processor, shapes, bench.clock, bench.energy)
            elif mode == 'oxygen':
                runners.update({f'oxygen_{k}': bench.runner(bench.engine(mode, shapes, k))
                                for k in decode_rounds if k <= tokens})
            else:
                runners[mode] = bench.runner(bench.engine(mode, shapes))
        for mode, runner in runners.items():
            progress(f'N={tokens} filling {mode}')
            runner.fill()
        interleave({mode: runner.frame for mode, runner in runners.items()}, options.rounds,
                   lambda text: progress(f'N={tokens} {text}'))
        for mode, runner in runners.items():
            result['points'].append({'mode': mode, 'tokens': tokens, 'chunk_horizon': shapes.horizon,
                                     **runner.samples.summary()})
    return result
