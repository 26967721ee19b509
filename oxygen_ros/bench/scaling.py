"""Suite `scaling`: action rate against the length of the answers."""
from dataclasses import replace

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.runners import EngineRunner, ReferenceRunner
from oxygen_ros.bench.workload import Shapes


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
