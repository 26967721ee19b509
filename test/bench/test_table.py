"""Promise: tables show what was measured, captions the command that measures it again."""
import argparse
import importlib.util
import json
from pathlib import Path
import shlex

import pytest

from oxygen_ros.bench import table
from oxygen_ros.cli import bench as cli

RESULTS = Path(__file__).resolve().parent.parent.parent / 'results'
BASE = {'suite': 'headline', 'model': 'mini', 'dtype': 'bfloat16', 'clock': 'wall', 'host': 'a machine, load 3',
        'rounds': 200}


def parsed(words):
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize('words', [
    '', '--rounds 3', '--threads 1 --clock cpu', '--dtype float32 --model nano --suite ablation', '--no-memory',
    '--device cuda:1 --views 3 --tokens 12', '--modes reference oxygen --rounds 1 --no-memory', '--suite memory'])
def test_the_command_of_a_caption_gives_the_recorded_arguments(words):
    arguments = parsed(shlex.split(words))
    record = json.loads(json.dumps(cli.recorded(arguments)))  # as it comes back from a file
    program, *again = shlex.split(cli.command(record))
    assert program == 'bench' and cli.recorded(parsed(again)) == record
    for word in shlex.split(words):
        assert word in again
    caption = table.caption({**BASE, 'suite': record['suite'], 'arguments': record})
    assert caption.startswith(f'`{cli.command(record)}`, bfloat16, a machine, wall time')


def test_where_figures_were_written_to_is_no_part_of_the_record():
    arguments = parsed(['--json', 'a.json', '--plot', 'a.png', '--suite', 'scaling'])
    assert set(cli.recorded(arguments)) & {'json', 'plot'} == set()
    assert cli.command(cli.recorded(arguments)) == 'bench --model mini --suite scaling'


def test_an_option_newer_than_the_record_is_taken_as_usual():
    record = cli.recorded(parsed(['--rounds', '3']))
    del record['views']
    assert cli.command(record) == 'bench --model mini --rounds 3'


def test_a_caption_says_that_the_p99_of_few_rounds_is_their_slowest():
    assert table.caption({**BASE, 'rounds': 3}) == (
        '`bench --model mini --rounds 3`, bfloat16, a machine, wall time; over 3 rounds a p99 is the slowest of them.'
        '\n\n')
    assert 'over 1 round a p99' in table.caption({**BASE, 'rounds': 1, 'suite': 'ablation'})
    assert 'p99' not in table.caption({**BASE, 'rounds': 100})
    assert 'p99' not in table.caption({**BASE, 'rounds': 3, 'suite': 'scaling'})


def test_results_from_before_arguments_were_recorded_still_have_tables():
    paths = [path for path in sorted(RESULTS.glob('*-cpu.json')) if hasattr(table, path.name.partition('-')[0])]
    assert paths
    for path in paths:
        result = json.loads(path.read_text())
        result.pop('arguments', None)
        assert table.caption({**result, 'suite': path.name.partition('-')[0]}).startswith('`bench --model ')
        for name in {result['suite'], 'stages' if result['suite'] == 'headline' else result['suite']}:
            draw = table.modes if name == 'headline' else getattr(table, name)
            lines = draw(result).splitlines()
            assert len(lines) > 2 and {line.count('|') for line in lines if line.startswith('|')} == {
                lines[0].count('|')}


def kind(**figures):
    return {'deadline_ms': 30.0, 'interval_ms': 20.0, 'interval_ms_p99': 25.0, 'misses': 2, 'misses_per_1000': 4.0,
            'action_hz': 500.0, 'chunk_horizon': 10, 'requests_per_frame': 1, 'tokens_per_answer': 5, 'live': 32.0,
            'tokens_per_s': 450.0, 'limit_tokens_per_s': 1000.0, 'streams_started': 3, 'streams_refused': 1,
            'action_only_misses_per_1000': 6.0, **figures}


def deadline_cells(**figures):
    result = {'model': 'nano', 'rounds': 500, 'slots': 32, 'action_only': kind(), 'runs': [kind(**figures)],
              'isolated': []}
    head, _, _, row = table.deadline(result).splitlines()
    return dict(zip((cell.strip() for cell in head.split('|')), (cell.strip() for cell in row.split('|'))))


@pytest.mark.parametrize('figures, share', [
    ({'tokens_per_answer': 5}, '45%'), ({'tokens_per_answer': 30}, '45%'), ({'tokens_per_answer': 200}, '45%'),
    ({'tokens_per_answer': 200, 'live': 31.0}, ''),  # the limit is that of a full batch
    ({'limit_tokens_per_s': 0.0}, ''),  # a busy machine, where the action part left no time
])
def test_the_share_of_the_limit_is_shown_wherever_the_batch_was_full(figures, share):
    assert deadline_cells(**figures)['of the 32-slot limit'] == share


def test_misses_stand_beside_those_of_the_action_only_loop():
    cells = deadline_cells()
    assert cells['misses'] == '2 of 500' and cells['actions only, of 1000'] == '6'


@pytest.fixture
def readme_tables(monkeypatch, tmp_path):
    path = Path(__file__).resolve().parent.parent.parent / 'tools' / 'readme_tables.py'
    specification = importlib.util.spec_from_file_location('readme_tables_of_bench', path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, 'ROOT', tmp_path)
    (tmp_path / 'results').mkdir()
    return module


def test_three_real_views_and_memory_of_the_full_size_are_shown_once_measured(readme_tables, tmp_path):
    tables, folder = readme_tables.TABLES, tmp_path / 'results'
    assert tables['benchmark three views']() == '' and tables['benchmark memory']() == 'Not measured yet.\n'
    headline = json.loads((RESULTS / 'headline-mini-bfloat16-cpu.json').read_text())
    headline['arguments'] = cli.recorded(parsed(['--views', '3']))
    (folder / 'headline-mini-views3-bfloat16-cpu.json').write_text(json.dumps(headline))
    shown = tables['benchmark three views']()
    assert '`bench --model mini --views 3`' in shown and '| oxygen |' in shown
    assert 'Not measured' in tables['benchmark modes']()  # that of two views is another file
    small = json.loads((RESULTS / 'memory-mini-bfloat16-cpu.json').read_text())
    for name in ('mini', 'pi05'):
        small.update(model=name, arguments=cli.recorded(parsed(['--model', name, '--suite', 'memory'])))
        (folder / f'memory-{name}-bfloat16-cpu.json').write_text(json.dumps(small))
        shown = tables['benchmark memory']()
        assert f'| {name} bfloat16 | oxygen |' in shown and f'`bench --model {name} --suite memory`' in shown
    assert shown.count('| mode |') == 1 and '| mini bfloat16 | oxygen |' in shown
