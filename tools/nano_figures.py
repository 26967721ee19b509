#!/usr/bin/env python3
"""
Measure the figures of docs/nano again, and write its tables from them: `python tools/nano_figures.py [STEP ...]`.

Without a step the tables alone are written from the files that are there. `all` runs every step, a quarter of an hour
on two quiet cores; `load` and `wall` are timings, for a machine that does nothing else.
"""
import argparse
import hashlib
import json
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools'))

from tables import rewrite  # noqa: E402

FOLDER = ROOT / 'docs' / 'nano'
WEIGHTS = ROOT / 'oxygen_ros' / 'model' / 'nano.safetensors'
LOGS = ROOT / 'build' / 'rollouts'  # finished episodes, so that what was stopped goes on

# step: (file, the command's arguments); `load` comes before `delayed`, which reads its file.
STEPS = {
    'load': ('load.json', '--load 30 --seconds 40'),
    'wall': ('wall_time.json', '--topics wall --episodes 15 --seed 13'),
    'topics': ('lockstep.json', '--topics --episodes 50 --seed 60'),
    'swapped': ('swapped_colour.json', '--swap-colour --kinds pick touch push_front push_back --episodes 32 --seed 40'),
    'equal': ('modes_equal.json', '--compare oxygen isolated --episodes 50 --seed 20'),
    'shared': ('shared.json', '--mode shared --episodes 50 --seed 20'),
    'drafting': ('drafting.json', '--drafting --episodes 50 --seed 20'),
    'late': ('late.json', '--delay-s 0.2 --episodes 50 --seed 20'),
    'later': ('later.json', '--delay-s 0.4 --episodes 50 --seed 20'),
    'delayed': ('modes_delayed.json', '--compare oxygen isolated --measured docs/nano/load.json --episodes 200 '
                                      '--seed 50'),
}


def command(step):
    file, arguments = STEPS[step]
    depends_on = [WEIGHTS, FOLDER / 'load.json'] if step == 'delayed' else [WEIGHTS]
    run = hashlib.sha256(arguments.encode() + b''.join(path.read_bytes() for path in depends_on)).hexdigest()[:8]
    logged = [] if step in ('load', 'wall') else ['--log', str((LOGS / f'{step}_{run}').relative_to(ROOT))]
    return [sys.executable, '-m', 'oxygen_ros', 'rollout', *arguments.split(), *logged, '--json', f'docs/nano/{file}']


def read(step):
    return json.loads((FOLDER / STEPS[step][0]).read_text())


def share(run):
    low, high = run['success_ci95']
    return f'{round(run["success"] * run["episodes"])} of {run["episodes"]} ({100 * low:.0f}-{100 * high:.0f} %)'


def runs():
    """One row a run: what was asked, how often it succeeded, what was said, how it moved."""
    rows = ['| `rollout` with | success (95 % interval) | another block done | answers right '
            '| location words miss by (median) | chunks a second | commands a second | jerk [rad/s^3] |',
            '|---|---|---|---|---|---|---|---|']
    for step, (_, arguments) in STEPS.items():
        table = {} if step == 'load' else read(step)
        for mode, run in (table['modes'] if 'modes' in table else {'': table} if table else {}).items():
            asked = sum(kind['asked'] for kind in run['by_question'].values())
            name = f'`{arguments}`' + (f': `{mode}`, {1e3 * run["delay_s"]:.0f} ms' if mode else '')
            rows.append(f'| {name} | {share(run)} | {round(run["wrong_goal"] * run["episodes"])} '
                        f'| {round(run["text_accuracy"] * asked)} of {asked} | {run["place_error_mm_median"]:.1f} mm '
                        f'| {run["chunk_rate_hz"]:.1f} | {run["command_rate_hz"]:.2f} | {run["jerk_rms"]:.0f} |')
    old = [step for step in STEPS if step != 'load' and weights_of(read(step)) != weights()]
    if old:
        rows += ['', f'Measured with weights that came before the shipped ones: {", ".join(old)}.']
    return '\n'.join(rows) + '\n'


def weights():
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:16]


def weights_of(table):
    return next(iter(table['modes'].values()))['weights'] if 'modes' in table else table['weights']


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


TABLES = {'runs': runs, 'kinds': kinds, 'pairs': pairs, 'load': load}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    parser.add_argument('steps', nargs='*', metavar='STEP', help=f'all, or of: {", ".join(STEPS)}')
    steps = parser.parse_args().steps
    unknown = [step for step in steps if step not in STEPS and step != 'all']
    if unknown:
        parser.error(f'unknown steps {unknown}; known are: all, {", ".join(STEPS)}')
    for step in STEPS if 'all' in steps else steps:
        line = command(step)
        print(' '.join(['python', *line[1:]]), flush=True)
        subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    rewrite(FOLDER / 'README.md', TABLES)


if __name__ == '__main__':
    main()
