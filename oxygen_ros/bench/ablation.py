"""Suite `ablation`: the headline's frame with each idea switched off in turn."""
from dataclasses import replace

from oxygen_ros.bench import ablated
from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave

EXTRA_FORWARD = 'with the unused last forward'


def engines_of(bench, shapes):
    """
    `{what is missing: engine}`, the whole one first.

    An absent view that is not skipped, padding that is not trimmed and a last forward whose token nobody reads cost
    what a present view, real words and one more token cost, so these three are measured that way.
    """
    plain, apart, products = (bench.copy_of_the_model() for _ in range(3))

    def oxygen(*arguments, **options):
        return bench.engine('oxygen', *arguments, **options)

    found = {
        'oxygen': oxygen(),
        'rows ride in the prefill': oxygen(ride=True),
        'without batching over frames': bench.engine('shared'),
        'without sharing the prefix': bench.engine('isolated'),
        'without packed weights': oxygen(model=plain, pack=False),
        'without skipping the absent view': oxygen(replace(shapes, views=3)),
        'without trimming the prompt': oxygen(replace(shapes, prompt=shapes.padded_prompt)),
        'without folding the times': oxygen(fold_times=False),
        'without fusing Q, K and V': oxygen(model=ablated.with_qkv_apart(apart, shapes.steps)),
        'without GELU and sums inside products': oxygen(model=products),
        'without trimming the last layer': oxygen(trim_last_layer=False),
        'with logits of every position': oxygen(model=ablated.with_logits_everywhere(bench.model)),
        'with log-softmax': oxygen(model=ablated.with_log_softmax(bench.model)),
        EXTRA_FORWARD: oxygen(replace(shapes, tokens=shapes.tokens + 1)),
    }
    ablated.with_plain_products(products)
    return found


def ablation(options, progress):
    """N = 30 by default, one request and one decode round a frame; `frame_ratio` is to the whole engine's frame."""
    shapes = options.shapes
    progress('building the models')
    bench = Bench(options, shapes)
    runners = {name: bench.runner(engine) for name, engine in engines_of(bench, shapes).items()}
    for name, runner in runners.items():
        progress(f'filling {name}')
        runner.fill()
    interleave({name: runner.frame for name, runner in runners.items()}, options.rounds, progress)
    result = bench.header('ablation')
    result['rounds'], result['modes'] = options.rounds, {}
    base = runners['oxygen'].samples.median('frame_ms')
    for name, runner in runners.items():
        result['modes'][name] = {**runner.samples.summary(), 'chunk_horizon': shapes.horizon,
                                 'frame_ratio': runner.samples.median('frame_ms') / base}
    for key in ('tokens_per_s', 'tokens_per_s_p99'):  # the last of them is thrown away
        result['modes'][EXTRA_FORWARD][key] *= shapes.tokens / (shapes.tokens + 1)
    return result
