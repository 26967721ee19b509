"""Promise: a result names the code that it was measured with, where that can be told."""
import subprocess

import pytest

from oxygen_ros.bench.bench import Options
from oxygen_ros.bench.header import commit, header


def git(folder, *words):
    subprocess.run(['git', '-C', str(folder), '-c', 'user.name=a', '-c', 'user.email=a@b', *words], check=True,
                   capture_output=True)


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / 'package'
    folder.mkdir()
    (folder / '__init__.py').write_text('')
    return folder


def test_a_checkout_names_its_commit_and_whether_its_code_was_changed(package):
    root = package.parent
    git(root, 'init', '-q')
    git(root, 'add', '.')
    git(root, 'commit', '-q', '-m', 'first')
    name = subprocess.run(['git', '-C', str(root), 'rev-parse', 'HEAD'], check=True, capture_output=True,
                          text=True).stdout.strip()
    assert commit(package) == name
    (root / 'result.json').write_text('{}')
    git(root, 'add', 'result.json')
    assert commit(package) == name  # a new result is no other code
    (package / '__init__.py').write_text('x = 1\n')
    assert commit(package) == name + '-dirty'


def test_an_installed_copy_has_none_even_inside_the_checkout_of_something_else(package):
    git(package.parent, 'init', '-q')
    assert commit(package) == ''


def test_without_git_there_is_none(package, monkeypatch):
    monkeypatch.setenv('PATH', str(package))
    assert commit(package) == ''


def test_a_header_without_a_commit_is_complete(monkeypatch):
    monkeypatch.setattr('oxygen_ros.bench.header.commit', lambda: '')
    options = Options('nano', 'float32', 'cpu', 1, 'cpu')
    assert set(header(options, 'scaling')) == {'suite', 'model', 'dtype', 'clock', 'host'}
    monkeypatch.setattr('oxygen_ros.bench.header.commit', lambda: 'abc')
    assert header(options, 'scaling')['commit'] == 'abc'
