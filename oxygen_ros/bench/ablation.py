"""Suite `ablation`: the headline's frame with each idea switched off in turn."""
import copy
from dataclasses import replace

from oxygen_ros.bench import ablated
from oxygen_ros.bench.bench import Bench
from oxygen_ros.bench.measure import interleave

WHOLE = 'oxygen'
EAGER = 'without CUDA graphs'
TASKS = 'four tasks a frame'
EXTRA_FORWARD = 'with the unused last forward'


def engines_of(bench, shapes, static=None):
    """
    `{what is different: (engine, name of the row that it changes)}`, the whole one first.

    With `static` (None: on a GPU) stages run in fixed shapes: what their captured code does not contain is switched off
    in the eager engine, and packed weights, which are a CPU's, are not listed. A last forward whose token nobody reads
    costs what one more token costs, and is measured that way.
    """
    static = bench.options.device.startswith('cuda') if static is None else static
    plain = bench.copy_of_the_model()

    def oxygen(*arguments, **options):
        return bench.engine('oxygen', *arguments, **{'static': static, **options})

    def eager(model=None, **options):
        return oxygen(model=model, static=False, **options), EAGER if static else WHOLE

    whole = oxygen()
    four = replace(shapes, per_frame=4, tokens=max(2, shapes.tokens // 4))  # as many streams as the whole has
    found = {
        WHOLE: (whole, WHOLE),
        'rows ride in the prefill': (oxygen(ride=True), WHOLE),
        'drafts from earlier answers': (oxygen(draft_tokens=4), WHOLE),
        'without batching over frames': (bench.engine('shared', static=static), WHOLE),
        'without sharing the prefix': (bench.engine('isolated', static=static), WHOLE),
        TASKS: (oxygen(four), WHOLE),
        'four tasks a frame, each with a prefix of its own': (ablated.with_a_prefix_each(oxygen(four)), TASKS),
        'without fusing Q, K and V': (
            oxygen(model=ablated.with_qkv_apart(copy.deepcopy(plain), shapes.steps)), WHOLE),
        'with log-softmax': (oxygen(model=ablated.with_log_softmax(bench.model)), WHOLE),
        EXTRA_FORWARD: (oxygen(replace(shapes, tokens=shapes.tokens + 1)), WHOLE),
    }
    if static:
        found[EAGER] = eager()[0], WHOLE
    found.update({
        'without trimming the prompt': eager(ablated.with_padding(bench.model, words=shapes.padded_prompt)),
        'without folding the times': eager(fold_times=False),
        'without trimming the last layer': eager(trim_last_layer=False),
        'with logits of every position': eager(ablated.with_logits_everywhere(bench.model)),
    })
    if shapes.views < 3:
        found['without skipping the absent view'] = eager(ablated.with_padding(bench.model, pictures=3 - shapes.views))
    if whole.model.trunk.layers[0].gate is None:
        found['without fusing gate and up'] = oxygen(model=ablated.with_gate_and_up_apart(plain)), WHOLE
    else:  # packed
        products, one = copy.deepcopy(plain), copy.deepcopy(plain)
        found['without packed weights'] = oxygen(model=plain, pack=False), WHOLE
        found['without GELU and sums inside products'] = oxygen(model=products), WHOLE
        ablated.with_plain_products(products)
        found['with gate and up in one product'] = oxygen(model=one), WHOLE
        ablated.with_gate_and_up_in_one(one)
    return found


def ablation(options, progress):
    """N = 30 by default, one request and one decode round a frame; `frame_ratio` is to the row `compared_with`."""
    shapes = options.shapes
    progress('building the models')
    bench = Bench(options, shapes)
    rows = engines_of(bench, shapes)
    runners = {name: bench.runner(engine) for name, (engine, _) in rows.items()}
    for name, runner in runners.items():
        progress(f'filling {name}')
        runner.fill()
    interleave({name: runner.frame for name, runner in runners.items()}, options.rounds, progress)
    result = bench.header('ablation')
    result['rounds'], result['modes'] = options.rounds, {}
    frame_ms = {name: runner.samples.median('frame_ms') for name, runner in runners.items()}
    for name, (_, base) in rows.items():
        result['modes'][name] = {**runners[name].samples.summary(), 'chunk_horizon': shapes.horizon,
                                 'compared_with': base, 'frame_ratio': frame_ms[name] / frame_ms[base]}
    for key in ('tokens_per_s', 'tokens_per_s_p99'):  # the last of them is thrown away
        result['modes'][EXTRA_FORWARD][key] *= shapes.tokens / (shapes.tokens + 1)
    return result
