import unicodedata

from hypothesis import given, strategies as st
from oxygen_ros.convert.instruction import Change, clean, Instruction
import pytest


@pytest.mark.parametrize('raw, expected', [
    ('Räum die Tasse weg', 'Räum die Tasse weg'),
    (unicodedata.normalize('NFD', 'Räum die Tasse weg'), 'Räum die Tasse weg'),
    ('把红色的杯子拿起来', '把红色的杯子拿起来'),
    ('pick up the 🍎', 'pick up the 🍎'),
    ('  pick\tup\n\nthe\r\ncup  ', 'pick up the cup'),
    ('zero\u200bwidth\ufeff', 'zerowidth'),
    ('nul\x00 bell\x07', 'nul bell'),
    ('no\u00a0break', 'no break'),
    ('surrogate \udcff', 'surrogate'),
    (b'bad \xff bytes', 'bad bytes'),
    ('put_the_cup', 'put_the_cup'),
    (' \t\n\u200b', ''),
    ('', ''),
])
def test_text_is_made_fit_for_the_prompt(raw, expected):
    assert clean(raw) == expected


def test_a_novel_is_refused():
    with pytest.raises(ValueError, match='5000 characters: at most 2000'):
        clean('x' * 5000)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_clean_text_is_clean_whatever_came(raw):
    text = clean(raw)
    assert clean(text) == text and text == text.strip() and '  ' not in text
    assert not any(unicodedata.category(c).startswith('C') for c in text)
    text.encode()


def test_equal_text_changes_nothing_but_its_age():
    first, change = Instruction().receive('pick up the cup', 1)
    assert (change, first.instruction_id) == (Change.NEW, 1)
    for time in range(2, 50):
        again, change = first.receive(' pick  up the cup\n', time)
        assert (change, again.instruction_id, again.received_ns) == (Change.REPEATED, 1, time)


def test_other_text_counts_up_and_empty_means_hold():
    now, change = Instruction().receive('a', 1)
    now, change = now.receive('b', 2)
    assert (change, now.instruction_id, now.text) == (Change.NEW, 2, 'b')
    now, change = now.receive('  ', 3)
    assert (change, now.instruction_id, now.text) == (Change.CLEARED, 3, '')
    now, change = now.receive('', 4)
    assert (change, now.instruction_id) == (Change.CLEARED, 3)
    now, change = now.receive('b', 5)
    assert (change, now.instruction_id) == (Change.NEW, 4)


def test_nothing_expires_unless_asked():
    now, _ = Instruction().receive('a', 0)
    assert not now.expired(10**18, 0.0) and now.expired(2_000_000_001, 2.0) and not now.expired(2_000_000_000, 2.0)
