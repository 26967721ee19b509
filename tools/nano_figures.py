#!/usr/bin/env python3
"""
Measure the figures of docs/nano again, and write its tables from them: `python tools/nano_figures.py [STEP ...]`.

Without a step the tables alone are written from the files that are there. `all` runs every step, `--jobs 2` two of them
side by side; `load` and `wall` are timings, for a machine that does nothing else, and come first, one by one.
"""
import argparse
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
import hashlib
import json
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = str(ROOT), str(ROOT / 'tools')

from oxygen_ros.rollout.scores import wilson  # noqa: E402
from tables import rewrite  # noqa: E402

FOLDER = ROOT / 'docs' / 'nano'
WEIGHTS = ROOT / 'oxygen_ros' / 'model' / 'nano.safetensors'
LOGS = ROOT / 'build' / 'rollouts'  # finished episodes, so that what was stopped goes on

# step: (file, the command's arguments); `load` comes before `delayed`, which reads its file.
STEPS = {
    'load': ('load.json', '--load 30 --seconds 40'),
    'wall': ('wall_time.json', '--topics wall --episodes 15 --seed 13'),
    'seed70': ('rollout_seed70.json', '--episodes 100 --seed 70 --longest-s 10'),
    'seed71': ('rollout_seed71.json', '--episodes 100 --seed 71 --longest-s 10'),
    'seed72': ('rollout_seed72.json', '--episodes 100 --seed 72 --longest-s 10'),
    'seed73': ('rollout_seed73.json', '--episodes 100 --seed 73 --longest-s 10'),
    'topics': ('lockstep.json', '--topics --episodes 50 --seed 60'),
    'swapped': ('swapped_colour.json', '--swap-colour --kinds pick touch push_front push_back --episodes 32 --seed 40'),
    'equal': ('modes_equal.json', '--compare oxygen isolated --episodes 50 --seed 20'),
    'shared': ('shared.json', '--mode shared --episodes 50 --seed 20'),
    'drafting': ('drafting.json', '--drafting --episodes 50 --seed 20'),
    'late': ('late.json', '--delay-s 0.2 --episodes 50 --seed 20'),
    'later': ('later.json', '--delay-s 0.4 --episodes 50 --seed 20'),
    'delayed': ('modes_delayed.json', '--compare oxygen isolated --measured docs/nano/load.json --episodes 200 '
                                      '--seed 80'),
}
ALONE = ('load', 'wall')
MAIN = ('seed70', 'seed71', 'seed72', 'seed73')  # the same on other scenes: counted together

# What was asked for, in percent: of all kinds, of a kind, and of the answers.
ASKED_FOR = {'success, all kinds': 90, 'pick': 95, 'touch': 80, 'push_front': 80, 'push_back': 80, 'home': 80,
             'answers right': 95}


def command(step):
    file, arguments = STEPS[step]
    depends_on = [WEIGHTS, FOLDER / 'load.json'] if step == 'delayed' else [WEIGHTS]
    run = hashlib.sha256(arguments.encode() + b''.join(path.read_bytes() for path in depends_on)).hexdigest()[:8]
    logged = [] if step in ALONE else ['--log', str((LOGS / f'{step}_{run}').relative_to(ROOT))]
    return [sys.executable, '-m', 'oxygen_ros', 'rollout', *arguments.split(), *logged, '--json', f'docs/nano/{file}']


def run(step):
    line = command(step)
    print(' '.join(['python', *line[1:]]), flush=True)
    subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def measure(steps, jobs):
    """Run steps: the timings first, each alone, then up to `jobs` others side by side; the first failure ends it."""
    for step in steps:
        if step in ALONE:
            run(step)
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(run, step) for step in steps if step not in ALONE]
        done, others = wait(running, return_when=FIRST_EXCEPTION)
        for other in others:
            other.cancel()
        for one in done:
            one.result()


def read(step):
    return json.loads((FOLDER / STEPS[step][0]).read_text())


def share(run):
    low, high = run['success_ci95']
    return f'{round(run["success"] * run["episodes"])} of {run["episodes"]} ({100 * low:.0f}-{100 * high:.0f} %)'


def counts(table):
    """What is counted in a run: {row: (how many, of how many)}."""
    kinds, questions = table['by_kind'], table['by_question']
    asked = sum(question['asked'] for question in questions.values())
    return {'success, all kinds': (round(table['success'] * table['episodes']), table['episodes']),
            **{kind: (round(kinds[kind]['success'] * kinds[kind]['episodes']), kinds[kind]['episodes'])
               for kind in ('pick', 'touch', 'push_front', 'push_back', 'home')},
            'another block done': (round(table['wrong_goal'] * table['episodes']), table['episodes']),
            'answers right': (round(table['text_accuracy'] * asked), asked),
            **{kind: (round(question['right'] * question['asked']), question['asked'])
               for kind, question in questions.items()}}


def together(tables):
    """The counts of several runs of the same kind, row by row."""
    found = {}
    for table in tables:
        for name, pair in counts(table).items():
            found[name] = tuple(map(sum, zip(found.get(name, (0, 0)), pair)))
    return found


def main_figures():
    """Success and answers on scenes never seen, by run and together, these with Wilson's 95 % intervals."""
    tables = [read(step) for step in MAIN]
    seeds, both = [counts(table) for table in tables], together(tables)

    def cell(many, total):
        low, high = wilson(many, total)
        return f'{many} of {total} ({100 * low:.1f}-{100 * high:.1f} %)'

    rows = [f'One column each: {", ".join(f"`rollout {STEPS[step][1]}`" for step in MAIN)}.', '',
            f'| | {" | ".join(MAIN)} | together | asked for |', f'|{"---|" * (len(MAIN) + 3)}']
    for name, pair in both.items():
        wanted = f'{ASKED_FOR[name]} %' if name in ASKED_FOR else ''
        cells = ['{} of {}'.format(*seed[name]) if name in seed else '' for seed in seeds]
        rows.append(f'| {name} | {" | ".join(cells)} | {100 * pair[0] / pair[1]:.1f} %: {cell(*pair)} | {wanted} |')
    misses = ' | '.join(f'{table["place_error_mm_median"]:.1f} mm' for table in tables)
    rows.append(f'| location words miss the named block by (median) | {misses} | | |')
    return '\n'.join(rows + other_weights(MAIN)) + '\n'


def other_weights(steps):
    """Lines that name the steps which the shipped weights did not make, if any."""
    old = [step for step in steps if weights_of(read(step)) != weights()]
    return ['', f'Not measured with the shipped weights, as far as the files tell: {", ".join(old)}.'] if old else []


def runs():
    """One row a run: what was asked, how often it succeeded, what was said, how it moved."""
    rows = ['| `rollout` with | success (95 % interval) | another block done | answers right '
            '| location words miss by (median) | chunks a second | commands a second | jerk [rad/s^3] |',
            '|---|---|---|---|---|---|---|---|']
    steps = [step for step in STEPS if step != 'load' and step not in MAIN]
    for step in steps:
        table, arguments = read(step), STEPS[step][1]
        for mode, run in (table['modes'] if 'modes' in table else {'': table}).items():
            asked = sum(kind['asked'] for kind in run['by_question'].values())
            name = f'`{arguments}`' + (f': `{mode}`, {1e3 * run["delay_s"]:.0f} ms' if mode else '')
            rows.append(f'| {name} | {share(run)} | {round(run["wrong_goal"] * run["episodes"])} '
                        f'| {round(run["text_accuracy"] * asked)} of {asked} | {run["place_error_mm_median"]:.1f} mm '
                        f'| {run["chunk_rate_hz"]:.1f} | {run["command_rate_hz"]:.2f} | {run["jerk_rms"]:.0f} |')
    return '\n'.join(rows + other_weights(steps)) + '\n'


def weights():
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:16]


def weights_of(table):
    """Digest of the weights that a run was made with; None where its file is older than the digests."""
    return next(iter(table['modes'].values()))['weights'] if 'modes' in table else table.get('weights')


def kinds():
    """Success by kind of instruction, over topics and of the longest run."""
    found = {'topics': read('topics'), 'delayed': read('delayed')['modes']['oxygen']}
    names = sorted(found['topics']['by_kind'])
    rows = [f'| {" | ".join(["`rollout` with", *names])} |', f'|{"---|" * (len(names) + 1)}']
    for step, run in found.items():
        cells = [f'{round(k["success"] * k["episodes"])} of {k["episodes"]}' for k in map(run['by_kind'].get, names)]
        rows.append(f'| `{STEPS[step][1]}` | {" | ".join(cells)} |')
    return '\n'.join(rows) + '\n'


def pairs():
    """The paired comparisons."""
    rows = ['| `rollout` with | pairs | both | `oxygen` alone | `isolated` alone | neither '
            '| difference (95 % interval) [points] | same commands to the last bit |',
            '|---|---|---|---|---|---|---|---|']
    for step in ('equal', 'delayed'):
        table = read(step)
        low, high = table['difference_ci95']
        rows.append(f'| `{STEPS[step][1]}` | {table["episodes"]} | {table["both"]} | {table["only_first"]} '
                    f'| {table["only_second"]} | {table["neither"]} '
                    f'| {100 * table["difference"]:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) '
                    f'| {table["same_trajectory"]} |')
    return '\n'.join(rows) + '\n'


def load():
    """Wall time under a text a frame."""
    table = read('load')
    rows = ['| mode | chunks a second | came too late | least time left on the old chunk [ms] '
            '| age of a chunk, median and 95 % [ms] | commands a second | tokens a second |',
            '|---|---|---|---|---|---|---|']
    for mode, run in table['modes'].items():
        rows.append(f'| {mode} | {run["chunk_rate_hz"]:.1f} | {run["expired"]} of {run["chunks"]} '
                    f'| {run["margin_min_ms"]:.0f} | {run["chunk_age_p50_ms"]:.0f}, {run["chunk_age_p95_ms"]:.0f} '
                    f'| {run["command_rate_hz"]:.2f} of 60 | {run["tokens_per_s"]:.0f} |')
    rows.append('')
    rows.append(f'The camera gave {table["camera_hz"]:g} pictures a second; `isolated` made '
                f'{100 * table["chunk_rate_ratio"]:.0f} % of the chunks of `oxygen`.')
    return '\n'.join(rows) + '\n'


TABLES = {'main': main_figures, 'runs': runs, 'kinds': kinds, 'pairs': pairs, 'load': load}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    parser.add_argument('steps', nargs='*', metavar='STEP', help=f'all, or of: {", ".join(STEPS)}')
    parser.add_argument('--jobs', type=int, default=1, help='steps side by side (default %(default)s)')
    arguments = parser.parse_args()
    steps = arguments.steps
    unknown = [step for step in steps if step not in STEPS and step != 'all']
    if unknown:
        parser.error(f'unknown steps {unknown}; known are: all, {", ".join(STEPS)}')
    if arguments.jobs < 1:
        parser.error(f'--jobs must be at least 1, got {arguments.jobs}')
    measure(list(STEPS) if 'all' in steps else steps, arguments.jobs)
    rewrite(FOLDER / 'README.md', TABLES)


if __name__ == '__main__':
    main()
