#!/usr/bin/env python3
"""
Write the README's tables from the code and from results/: `python tools/readme_tables.py`.

They stand between `<!-- begin NAME -->` and `<!-- end NAME -->`; a test compares them with the code.
"""
import json
from pathlib import Path
import re
import sys

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = str(ROOT), str(ROOT / 'tools')

from oxygen_ros.bench import table as bench_table  # noqa: E402
from oxygen_ros.chaos import faults  # noqa: E402
from oxygen_ros.params import TABLE  # noqa: E402
from oxygen_ros.sim.parameters import TABLE as SIM_TABLE  # noqa: E402
from tables import rewrite  # noqa: E402

CHANGE = {'live': 'any time', 'configure': 'at configure', 'start': 'at start'}


def parameters():
    """One row a parameter: name, type, default, allowed values, meaning, when it may change."""
    rows = ['| parameter | type | default | allowed | what | changes |', '|---|---|---|---|---|---|']
    for row in TABLE:
        value = list(row.default) if isinstance(row.default, tuple) else row.default
        default = '' if value in (None, '') else f'`{value}`'
        cells = f'`{row.name}`', row.kind, default, row.allowed, row.description, CHANGE[row.change]
        rows.append(f'| {" | ".join(cells)} |')
    return '\n'.join(rows) + '\n'


def sim_parameters():
    """The same of the simulated robot."""
    rows = ['| parameter | type | default | allowed | what | changes |', '|---|---|---|---|---|---|']
    for row in SIM_TABLE:
        default = '' if row.default in ('', ['']) else f'`{row.default}`'
        change = 'any time' if row.live else 'at start'
        rows.append(f'| `{row.name}` | {row.type_name} | {default} | {row.allowed} | {row.description} | {change} |')
    return '\n'.join(rows) + '\n'


def message(path):
    """One row a field of a .msg file, with the comment behind it."""
    rows = [f'`oxygen_ros/msg/{path.stem}`', '', '| field | type | what |', '|---|---|---|']
    for line in path.read_text().splitlines():
        field = re.match(r'(?P<type>[\w/\[\]]+) (?P<name>\w+)\s+# (?P<what>.*)', line)
        if field:
            rows.append(f'| `{field["name"]}` | {field["type"]} | {field["what"]} |')
    return '\n'.join(rows) + '\n'


def messages():
    return '\n'.join(message(path) for path in sorted((ROOT / 'msg').glob('*.msg')))


def results(*patterns):
    """The committed runs of the benchmark whose names fit, as far as there are any."""
    paths = [path for pattern in patterns for path in sorted((ROOT / 'results').glob(f'{pattern}.json'))]
    return [json.loads(path.read_text()) for path in dict.fromkeys(paths)]


def measured(table, *patterns, captions=True, otherwise='Not measured yet.\n'):
    """A table of committed runs with how they were made, or `otherwise` where there are none."""
    found = results(*patterns)
    if not found:
        return otherwise
    return ''.join(bench_table.caption(one) for one in found if captions) + table(*found)


def three_views():
    """The headline with three real pictures; nothing where it was not measured."""
    table = measured(bench_table.modes, 'headline-mini-views3-*', otherwise='')
    return f'Three real pictures, none absent (`--views 3`):\n\n{table}' if table else ''


def scaling():
    picture = '\n![action rate against the length of the answers](docs/pictures/scaling.png)\n'
    drawn = (ROOT / 'docs' / 'pictures' / 'scaling.png').exists()
    return measured(bench_table.scaling, 'scaling-mini-bfloat16-cpu') + picture * drawn


TABLES = {'parameters': parameters, 'messages': messages, 'sim parameters': sim_parameters,
          'faults': lambda: faults.markdown() + '\n',
          'benchmark modes': lambda: measured(bench_table.modes, 'headline-mini-bfloat16-cpu'),
          'benchmark three views': three_views,
          'benchmark stages': lambda: measured(bench_table.stages, 'headline-mini-bfloat16-cpu', captions=False),
          'benchmark full size': lambda: measured(bench_table.modes, 'headline-pi05-bfloat16-cpu'),
          'benchmark full size stages':
              lambda: measured(bench_table.stages, 'headline-pi05-bfloat16-cpu', captions=False),
          'benchmark scaling': scaling,
          'benchmark ablation': lambda: measured(bench_table.ablation, 'ablation-mini-bfloat16-cpu'),
          'benchmark deadline':
              lambda: measured(bench_table.deadline, 'deadline-nano-float32-cpu', 'deadline-mini-bfloat16-cpu'),
          'benchmark drafting': lambda: measured(bench_table.drafting, 'drafting-nano-float32-cpu'),
          'benchmark memory': lambda: measured(bench_table.memory, 'memory-mini-*', 'memory-pi05-*')}


if __name__ == '__main__':
    rewrite(ROOT / 'README.md', TABLES)
