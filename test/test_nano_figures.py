"""The tables of docs/nano are those of the files beside it."""
import importlib.util
from pathlib import Path
import sys
import threading
import time

import pytest

from oxygen_ros.rollout.load import delay_s

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / 'docs' / 'nano' / 'README.md').read_text()
specification = importlib.util.spec_from_file_location('nano_figures', ROOT / 'tools' / 'nano_figures.py')
nano_figures = importlib.util.module_from_spec(specification)
specification.loader.exec_module(nano_figures)
tables = sys.modules['tables']


@pytest.mark.parametrize('name', nano_figures.TABLES)
def test_a_table_is_that_of_the_files(name):
    written = PAGE[tables.block(PAGE, name)]
    assert written == nano_figures.TABLES[name](), 'run: python tools/nano_figures.py'


def test_timings_run_first_and_alone_and_other_steps_side_by_side(monkeypatch):
    began, running, both = [], set(), threading.Barrier(2)

    def run(step):
        began.append((step, len(running)))
        running.add(step)
        if step not in nano_figures.ALONE:
            both.wait(60)  # comes back only where two of them run at once
        running.remove(step)

    monkeypatch.setattr(nano_figures, 'run', run)
    nano_figures.measure(['topics', 'wall', 'equal', 'late', 'load', 'later'], jobs=2)
    assert began[:2] == [('wall', 0), ('load', 0)]
    assert sorted(step for step, _ in began[2:]) == ['equal', 'late', 'later', 'topics']
    assert {beside for _, beside in began[2:]} <= {0, 1}


def test_a_step_that_fails_is_told_and_ends_the_rest(monkeypatch):
    began = []

    def run(step):
        began.append(step)
        if step == 'topics':
            raise RuntimeError('topics failed')
        time.sleep(1)

    monkeypatch.setattr(nano_figures, 'run', run)
    with pytest.raises(RuntimeError, match='topics failed'):
        nano_figures.measure(['topics', 'equal', 'late', 'later', 'delayed'], jobs=1)
    assert began[0] == 'topics' and 'delayed' not in began


def test_runs_of_the_same_kind_are_counted_together():
    def table(right, asked):
        return {'episodes': 10, 'success': 0.9, 'wrong_goal': 0.1, 'text_accuracy': right / asked,
                'by_kind': {kind: {'success': 0.5 if kind == 'touch' else 1.0, 'episodes': 2}
                            for kind in ('pick', 'touch', 'push_front', 'push_back', 'home')},
                'by_question': {'where': {'right': right / asked, 'asked': asked}}}

    found = nano_figures.together([table(6, 7), table(2, 5)])
    assert found['success, all kinds'] == (18, 20) and found['touch'] == (2, 4) and found['pick'] == (4, 4)
    assert found['another block done'] == (2, 20) and found['where'] == found['answers right'] == (8, 12)


def test_every_run_of_the_page_is_a_step_that_writes_its_file():
    files = {file for file, _ in nano_figures.STEPS.values()}
    assert {path.name for path in nano_figures.FOLDER.glob('*.json')} == files
    for step, (file, arguments) in nano_figures.STEPS.items():
        line = ' '.join(nano_figures.command(step))
        assert line.endswith(f'--json docs/nano/{file}') and f'rollout {arguments} ' in line


def test_the_delays_of_the_page_are_those_of_its_load():
    assert '--measured docs/nano/load.json' in nano_figures.STEPS['delayed'][1]
    load = nano_figures.read('load')
    for mode, run in nano_figures.read('delayed')['modes'].items():
        assert run['delay_s'] == pytest.approx(delay_s(load, mode)), mode
