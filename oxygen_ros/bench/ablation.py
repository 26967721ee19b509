"""Suite `ablation`: the headline's frame with each idea switched off in turn."""
from dataclasses import replace

from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave
from oxygen_ros.bench.runners import EngineRunner
from oxygen_ros.bench.workload import Shapes


def ablation(options, progress):
    """
    N = 30 by default, one request and one decode round a frame.

    An absent view that is not skipped and padding that is not trimmed cost what a present view and real words cost, so
    these two are measured with three views and a prompt of full length.
    """
    shapes = Shapes(tokens=options.tokens)
    bench = Bench(options, shapes)
    plain = bench.copy_of_the_model()
    engines = {
        'oxygen': bench.engine('oxygen'),
        'rows ride in the prefill': bench.engine('oxygen', ride=True),
        'without batching over frames': bench.engine('shared'),
        'without sharing the prefix': bench.engine('isolated'),
        'without packed weights': bench.engine('oxygen', model=plain, pack=False),
        'without skipping the absent view': bench.engine('oxygen', replace(shapes, views=3)),
        'without trimming the prompt': bench.engine('oxygen', replace(shapes, prompt=shapes.padded_prompt)),
        'without folding the times': bench.engine('oxygen', fold_times=False),
        'without trimming the last layer': bench.engine('oxygen', trim_last_layer=False),
    }
    runners = {name: EngineRunner(engine, engine.processor.shapes) for name, engine in engines.items()}
    for name, runner in runners.items():
        progress(f'filling {name}')
        runner.fill()
    interleave({name: runner.frame for name, runner in runners.items()}, options.rounds, progress)
    result = bench.header('ablation')
    result['modes'] = {}
    base = runners['oxygen'].samples.median('frame_ms')
    for name, runner in runners.items():
        result['modes'][name] = {**runner.samples.summary(), 'chunk_horizon': shapes.horizon,
                                 'frame_ratio': runner.samples.median('frame_ms') / base}
    return result
