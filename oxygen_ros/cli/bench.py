"""Measure the engine against its baselines and the machine's limits."""
import argparse
import importlib.util
import json
from pathlib import Path
import sys

SUITES = ('headline', 'ablation', 'scaling', 'deadline', 'drafting', 'memory')
MODES = ('reference', 'isolated', 'shared', 'oxygen')
OUTPUTS = ('json', 'plot')  # where figures go changes none of them


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'must be at least 1, got {text}')
    return value


def add_arguments(parser):
    parser.add_argument('--model', choices=('nano', 'mini', 'pi05'), default='mini', help='size, with random weights')
    parser.add_argument('--suite', choices=SUITES, default='headline')
    parser.add_argument('--device', default='cpu', help='cpu or cuda')
    parser.add_argument('--dtype', choices=('bfloat16', 'float32'), default='bfloat16')
    parser.add_argument('--rounds', type=positive, default=7,
                        help='interleaved rounds, of whose figures medians are given; suite deadline: frames')
    parser.add_argument('--threads', type=int, default=0, help='CPU threads; 0: as many as torch takes')
    parser.add_argument('--clock', choices=('wall', 'cpu'), default='wall',
                        help='cpu: processor time of this process, for a busy machine; use it with --threads 1')
    parser.add_argument('--tokens', type=positive, default=30,
                        help='N, tokens of an answer; suites scaling and deadline have their own')
    parser.add_argument('--views', type=int, choices=(2, 3), default=2, help='real cameras of the three slots')
    parser.add_argument('--modes', nargs='+', choices=MODES, default=list(MODES),
                        help='suites headline, scaling and memory: only these')
    parser.add_argument('--no-memory', action='store_true', help='suite headline: do not measure memory')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.add_argument('--plot', type=Path, metavar='PNG', help='suite scaling: draw action rate against N')


def usual():
    """`{name: value}` of all arguments that figures depend on, where none is given."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return {name: value for name, value in vars(parser.parse_args([])).items() if name not in OUTPUTS}


def recorded(arguments):
    """The same of this run, as they are written beside its figures."""
    return {name: getattr(arguments, name) for name in usual()}


def command(record):
    """The command line that gives these recorded arguments: the model, and what is not as usual."""
    words = ['bench', '--model', record['model']]
    for name, value in usual().items():
        mine = record.get(name, value)
        if name != 'model' and mine != value:
            words.append('--' + name.replace('_', '-'))
            words += [] if mine is True else [str(x) for x in mine] if isinstance(mine, (list, tuple)) else [str(mine)]
    return ' '.join(words)


def run(arguments):
    for path in (arguments.json, arguments.plot):
        if path and not path.resolve().parent.is_dir():
            print(f'bench: cannot write {path}: its folder does not exist', file=sys.stderr)
            return 2
    if arguments.plot and arguments.suite != 'scaling':
        print('bench: --plot belongs to --suite scaling', file=sys.stderr)
        return 2
    import torch
    if arguments.device.startswith('cuda') and not torch.cuda.is_available():
        print('bench: no CUDA GPU is usable from this torch; install a CUDA build of torch or use --device cpu',
              file=sys.stderr)
        return 1
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.plot and importlib.util.find_spec('matplotlib') is None:
        print("bench: --plot needs matplotlib; install it with pip install 'oxygen-ros[bench]'", file=sys.stderr)
        return 1
    from oxygen_ros.bench.bench import Options
    suite = getattr(importlib.import_module(f'oxygen_ros.bench.{arguments.suite}'), arguments.suite)

    reached = ''

    def progress(text):
        nonlocal reached
        reached = text
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)

    options = Options(arguments.model, arguments.dtype, arguments.device, arguments.rounds, arguments.clock,
                      arguments.tokens, not arguments.no_memory, arguments.views, tuple(arguments.modes))
    try:
        with torch.inference_mode():
            result = suite(options, progress)
    except KeyboardInterrupt:
        print(f'\nbench: interrupted ({reached}); nothing was written', file=sys.stderr)
        return 130
    print(file=sys.stderr)
    result['arguments'] = recorded(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + '\n')
    if arguments.plot:
        from oxygen_ros.bench.plot import plot_scaling
        plot_scaling(result, arguments.plot)
    print(json.dumps(result, indent=1))
    return 0
