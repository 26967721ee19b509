"""The parameter table: defaults pass their own checks, ints do for doubles, refusals are sentences with the numbers."""
import math

import pytest

from oxygen_ros import params
from oxygen_ros.params import CONFIGURE, LIVE, Parameter, START, TABLE


@pytest.mark.parametrize('row', TABLE, ids=lambda row: row.name)
def test_every_row_is_described_and_its_default_passes_its_own_check(row):
    assert row.check(row.default) == (() if row.default == ('',) else row.default)
    assert row.description.endswith('.') and len(row.description) < 100
    assert row.change in (LIVE, CONFIGURE, START)
    assert row.kind.removesuffix('[]') in params.TYPES
    assert (row.minimum is None) == (row.maximum is None)


def test_an_int_will_do_for_a_double_but_not_the_other_way():
    rate = next(row for row in TABLE if row.name == 'control_rate_hz')
    assert rate.check(60) == 60.0 and isinstance(rate.check(60), float)
    with pytest.raises(ValueError, match='engine.slots must be a int, got 4.5'):
        next(row for row in TABLE if row.name == 'engine.slots').check(4.5)


@pytest.mark.parametrize('value', [0, 200.1, math.nan, math.inf, True, '60', None, [60]])
def test_wrong_values_are_refused_with_the_name_and_the_value(value):
    rate = next(row for row in TABLE if row.name == 'control_rate_hz')
    with pytest.raises(ValueError, match='control_rate_hz'):
        rate.check(value)


def test_choices_are_listed():
    with pytest.raises(ValueError, match="'fast'.*oxygen, shared, isolated"):
        next(row for row in TABLE if row.name == 'engine.mode').check('fast')


def test_a_list_of_one_empty_string_is_none():
    views = next(row for row in TABLE if row.name == 'views')
    assert views.check(['']) == ()
    with pytest.raises(ValueError, match='list of string'):
        views.check('base_0_rgb')
    with pytest.raises(ValueError, match='must be a string, got 3'):
        views.check([3])


def test_placeholders_are_filled_in():
    rows = params.rows(view=('a', 'b'), task=('t',))
    assert {'image.a.topic', 'image.b.topic', 'language.t.max_tokens'} <= set(rows)
    assert not [name for name in rows if '<' in name or name.startswith('limits.')]
    assert 'limits.elbow.lower' in params.rows(joint=('elbow',))


def test_a_value_that_may_be_unset():
    row = Parameter('x', 'double', None, 'd.', 0, 1)
    assert row.check(None) is None and row.check(1) == 1.0
