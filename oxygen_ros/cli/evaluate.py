"""Run the engine over recorded bags and print how good, how fast and how smooth it was."""
import json
from pathlib import Path
import sys


def add_arguments(parser):
    parser.add_argument('bags', nargs='+', metavar='BAG', help='folders of bags, or .mcap or .db3 files')
    parser.add_argument('--config', type=Path, help="the node's parameter file; default: the shipped config/aloha.yaml")
    parser.add_argument('--report', type=Path, metavar='DIR',
                        help='write report.html and texts.json there, and keep finished parts to resume from')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.add_argument('--mode', nargs='+', default=['oxygen'], choices=('oxygen', 'shared', 'isolated'),
                        help='engine modes to run, side by side; the first is the one reported at the top')
    parser.add_argument('--seed', type=int, default=0, help='seed of the action noise')
    parser.add_argument('--delay-ms', type=float, default=100.0, metavar='MS',
                        help='time a frame takes in bag time; given, so that two runs are the same')
    parser.add_argument('--reference', type=Path, metavar='FILE', help="texts.json of an earlier run to compare with")
    parser.add_argument('--set', nargs='+', default=[], metavar='NAME:=VALUE', help='override parameters of the file')
    parser.add_argument('--workers', type=int, default=1, help='processes to spread the work over')
    parser.add_argument('--threads', type=int, default=1, help='torch threads of each; results depend on it')
    parser.add_argument('--ray', metavar='ADDRESS', help='spread over this Ray cluster: auto, ray://... or local')
    parser.add_argument('--part', type=float, default=60.0, metavar='S',
                        help='bag seconds that are run in one piece; smaller pieces resume and spread better')


def run(arguments):
    from tqdm import tqdm

    from oxygen_ros import share
    from oxygen_ros.evaluate.evaluate import evaluate, runs_of, table_of
    from oxygen_ros.evaluate.plan import Settings, Store
    try:
        config = arguments.config or share.config_file('aloha.yaml')
        settings = Settings(str(config), tuple(arguments.mode), arguments.seed, arguments.delay_ms, arguments.part,
                            arguments.threads, overrides(arguments.set), curves=arguments.report is not None)
        if arguments.workers < 1:
            raise ValueError(f'--workers must be at least 1, got {arguments.workers}')
        reference = read_texts(arguments.reference) if arguments.reference else None
        if arguments.json and not arguments.json.resolve().parent.is_dir():
            raise ValueError(f'cannot write {arguments.json}: its folder does not exist')
        store = Store(arguments.report and arguments.report / 'parts')
        with tqdm(unit='s', disable=None, bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} s of bag {elapsed}<{remaining}',
                  total=1) as bar:
            outcome = evaluate(arguments.bags, settings, store, arguments.workers, arguments.ray, bar.update,
                               lambda total: bar.reset(total=total))
        table = table_of(outcome, settings, arguments.bags, reference)
    except (ValueError, OSError, RuntimeError) as error:
        print(f'evaluate: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('evaluate: interrupted' + ('; the same command goes on from here' if arguments.report else ''),
              file=sys.stderr)
        return 130
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1, allow_nan=False) + '\n')
    if arguments.report:
        from oxygen_ros.report.build import build_report
        page = build_report(arguments.report / 'report.html', runs_of(outcome), table, 'Evaluation of recorded runs',
                            f'{len(arguments.bags)} bag{"s"[:len(arguments.bags) > 1]}, seed {settings.seed}, '
                            f'inference delay {settings.delay_ms:g} ms')
        write_texts(arguments.report / 'texts.json', outcome, settings.modes[0])
    store.clear(outcome.results)
    print(screen(table))
    if arguments.report:
        print(f'report: {page}')
    return 1 if outcome.errors else 0


def overrides(texts):
    """Pairs of `name:=value`, values as YAML reads them; ValueError with a sentence."""
    import yaml
    pairs = []
    for text in texts:
        name, separator, value = text.partition(':=')
        if not (separator and name):
            raise ValueError(f'--set wants name:=value, got {text!r}')
        try:
            value = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ValueError(f'--set {name}: {value!r} is no YAML value') from None
        pairs.append((name, tuple(value) if isinstance(value, list) else value))
    return tuple(pairs)


def write_texts(path, outcome, mode):
    from oxygen_ros.evaluate.collect import texts_of
    path.write_text(json.dumps([[*place, text] for place, text in sorted(texts_of(outcome.of(mode)).items())],
                               ensure_ascii=False, indent=0) + '\n', encoding='utf-8')


def read_texts(path):
    """Texts of an earlier run by (bag, part, frame, task); ValueError where the file is none."""
    try:
        return {(bag, part, frame, task): text
                for bag, part, frame, task, text in json.loads(path.read_text(encoding='utf-8'))}
    except (TypeError, ValueError):
        raise ValueError(f'{path} is no texts.json of an earlier evaluation') from None


def screen(table):
    """The figures for a person."""
    from oxygen_ros.evaluate.collect import timing_of

    def number(value):
        return '-' if value is None else f'{value:.4g}' if isinstance(value, float) else str(value)

    failed = [f'FAILED {bag["path"]}: {bag["error"]}' for bag in table['bags'] if 'error' in bag]
    names = list(table['modes'])
    if not names:
        return '\n'.join(failed)
    lines = [f'{"":34}' + ''.join(f'{name:>14}' for name in names)]

    def row(name, pick):
        lines.append(f'{name:34}' + ''.join(f'{number(pick(table["modes"][mode])):>14}' for mode in names))

    row('frames', lambda m: m['frames'])
    row('pictures skipped', lambda m: sum(m['skipped'].values()))
    row('action MSE', lambda m: m['action_mse'])
    row('action MAE', lambda m: m['action_mae'])
    row('largest jump between chunks', lambda m: m['boundary_jump_max'])
    row('clamped joint values', lambda m: m['clamps'])
    row('chunks rejected', lambda m: sum(m['rejected'].values()))
    row('texts', lambda m: m['texts'])
    row('texts equal to the reference', lambda m: m['text']['exact_match'])
    timings = {mode: timing_of(table, mode) for mode in names}
    for stage, key in (('prefill', 'p50'), ('denoise', 'p50'), ('decode', 'p50'), ('chunk_ready', 'p50'),
                       ('frame', 'p50'), ('frame', 'p99')):
        lines.append(f'{f"{stage} {key} [ms]":34}' + ''.join(
            f'{number(timings[mode].get(stage, {}).get(key)):>14}' for mode in names))
    lines += failed
    lines.append('Open loop: the recorded robot did not follow these actions; a small error does not prove success.')
    return '\n'.join(lines)
