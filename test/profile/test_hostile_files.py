"""Whatever stands in the files beside the weights, reading them ends in a result or a sentence."""
import json
from pathlib import Path
import shutil

from hypothesis import HealthCheck, given, settings, strategies as st
import pytest

from oxygen_ros.model.safetensors_header import read_header
from oxygen_ros.profile.beside import read_facts, read_found_statistics
from oxygen_ros.profile.load import parse_profile, profile_path, read_yaml

GOLDEN = Path(__file__).parents[1] / 'data' / 'lerobot_processors'
CASES = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-10**20, 10**20), st.floats(), st.text(max_size=5),
                   st.lists(st.integers(-2, 2), max_size=3), st.dictionaries(st.text(max_size=3), st.integers(),
                                                                             max_size=2))


def places(value, path=()):
    """Every path into a nested value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(table, data):
    """A deep copy of a table with one to three places replaced by anything."""
    table = json.loads(json.dumps(table))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([p for p in places(table) if p]))
        inner = table
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = data.draw(VALUES)
    return table


def one_sentence(read):
    try:
        read()
    except (ValueError, OSError) as error:
        assert str(error) and len(str(error)) < 2000


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return Path(shutil.copytree(GOLDEN, tmp_path_factory.mktemp('policy') / 'p'))


@CASES
@given(st.data(), st.sampled_from(['config.json', 'policy_preprocessor.json', 'policy_postprocessor.json']))
def test_lerobot_files_with_anything_in_them(folder, data, name):
    original = (GOLDEN / name).read_text()
    (folder / name).write_text(json.dumps(changed(json.loads(original), data)))
    try:
        one_sentence(lambda: read_facts(folder))
        one_sentence(lambda: read_found_statistics(folder))
    finally:
        (folder / name).write_text(original)


STATS = {'norm_stats': {what: {'mean': [0.0, 1.0], 'std': [1.0, 1.0], 'q01': [-1.0, -1.0], 'q99': [1.0, 1.0]}
                        for what in ('state', 'actions')}}


@CASES
@given(st.data())
def test_norm_stats_with_anything_in_them(tmp_path, data):
    path = tmp_path / 'assets' / 'x' / 'norm_stats.json'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(changed(STATS, data)))
    one_sentence(lambda: read_found_statistics(tmp_path))


PROFILES = [read_yaml(profile_path(name)) for name in ('aloha_sim', 'so101')]


@CASES
@given(st.data(), st.sampled_from(PROFILES))
def test_profiles_with_anything_in_them(data, table):
    one_sentence(lambda: parse_profile(changed(table, data), 'x'))


@CASES
@given(st.data())
def test_safetensors_headers_with_anything_in_them(tmp_path, data):
    table = {'__metadata__': {'format': 'pt'}, 'a': {'dtype': 'F32', 'shape': [2, 2], 'data_offsets': [0, 16]},
             'b': {'dtype': 'BF16', 'shape': [4], 'data_offsets': [16, 24]}}
    text = json.dumps(changed(table, data)).encode()
    path = tmp_path / 'model.safetensors'
    path.write_bytes(len(text).to_bytes(8, 'little') + text + bytes(24))
    one_sentence(lambda: read_header(path))


@CASES
@given(st.binary(max_size=200))
def test_safetensors_files_of_any_bytes(tmp_path, content):
    path = tmp_path / 'model.safetensors'
    path.write_bytes(content)
    one_sentence(lambda: read_header(path))
