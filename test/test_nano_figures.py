"""The tables of docs/nano are those of the files beside it."""
import importlib.util
from pathlib import Path
import sys

import pytest

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
