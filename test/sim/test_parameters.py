from pathlib import Path

import pytest
import yaml

from oxygen_ros.sim.parameters import Parameter, TABLE

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'sim.yaml'


def test_every_default_passes_its_own_check_and_is_described():
    for row in TABLE:
        assert row.checked(row.default) == row.default
        assert row.description.endswith('.')
    assert len({row.name for row in TABLE}) == len(TABLE)


def test_the_shipped_file_sets_only_parameters_that_exist_to_values_that_will_do():
    rows = {row.name: row for row in TABLE}
    (name, section), = yaml.safe_load(CONFIG.read_text()).items()
    assert name == '/**/robot' and section['ros__parameters']
    for key, value in section['ros__parameters'].items():
        rows[key].checked(value)


def test_an_int_will_do_for_a_double_and_nothing_else_for_another_type():
    rate = Parameter('rate', 30.0, 'A rate.', 1, 100)
    assert rate.checked(50) == 50.0 and type(rate.checked(50)) is float
    for wrong in (True, '50', [50.0], None):
        with pytest.raises(ValueError, match='parameter rate is .*; its type must be double'):
            rate.checked(wrong)
    for outside in (0.5, 101.0, float('nan')):
        with pytest.raises(ValueError, match='parameter rate is .*; it must be 1 to 100'):
            rate.checked(outside)
    names = Parameter('names', [''], 'Names.')
    assert names.checked(('a', 'b')) == ['a', 'b']
    with pytest.raises(ValueError, match=r'its type must be string\[\]'):
        names.checked('top')
