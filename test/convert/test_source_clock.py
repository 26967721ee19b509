"""Dates by stamps: what ages is late for ever, what stands still is silence, and another clock is found and told."""
from hypothesis import example, given, settings, strategies as st
import pytest

from oxygen_ros.convert.source_clock import ClockKind, SourceClock

S = 10**9
NOW = 1_000_000 * S
FRESH_NS = S // 2
PERIOD_NS = S // 30


def run(clock, now_ns, count, offset_ns=0, period_ns=PERIOD_NS):
    """A live source of a clock `offset_ns` ahead: (now, dates)."""
    dates = []
    for _ in range(count):
        now_ns += period_ns
        dates.append(clock.date(now_ns + offset_ns, now_ns))
    return now_ns, dates


@pytest.mark.parametrize('ahead_s', [-3600, -10.5, 0.2, 15, 10**6])
def test_a_foreign_clock_must_be_seen_to_run_before_the_arrival_counts(ahead_s):
    clock = SourceClock()
    now_ns, dates = run(clock, NOW, 5, round(ahead_s * S))
    assert dates == [None, *range(NOW + 2 * PERIOD_NS, now_ns + 1, PERIOD_NS)]
    assert clock.kind is ClockKind.FOREIGN and clock.wrong_stamps == 4
    assert f'{abs(ahead_s):.2f} s {"ahead of" if ahead_s > 0 else "behind"} this one' in clock.warning


def test_a_stamp_a_little_ahead_is_not_in_the_future_of_this_node():
    clock = SourceClock()
    assert clock.date(NOW + 50_000_000, NOW) == NOW
    assert clock.kind is ClockKind.SHARED and clock.warning == ''


def test_a_source_without_stamps_is_dated_by_arrival():
    clock = SourceClock()
    assert [clock.date(0, NOW + i) for i in range(3)] == [NOW, NOW + 1, NOW + 2]
    assert clock.kind is ClockKind.NONE and 'not stamped' in clock.warning


def test_who_asks_for_the_arrival_gets_it_without_a_warning():
    clock = SourceClock('receive')
    assert [clock.date(stamp, NOW) for stamp in (NOW - S, NOW - 3600 * S, 0)] == [NOW] * 3
    assert clock.date(5, NOW) == NOW and clock.date(5, NOW) is None  # still, the same again is silence
    assert clock.warning == '' and clock.wrong_stamps == 0


@pytest.mark.parametrize('back_s', [3, 20, 7200])
def test_a_clock_that_jumps_back_is_judged_anew(back_s):
    clock = SourceClock()
    now_ns, _ = run(clock, NOW, 5)
    now_ns, dates = run(clock, now_ns, 5, -back_s * S)
    if back_s > 10:  # a driver that restarted with another clock
        assert dates[0] is None and dates[-1] == now_ns and clock.changes == 1
        assert f'{back_s}.00 s behind' in clock.warning
    else:  # it may as well lag: late, with the age in the sentence
        assert dates[-1] == now_ns - back_s * S and clock.changes == 0
    now_ns, dates = run(clock, now_ns, 5)
    assert dates[-1] == now_ns and clock.kind is ClockKind.SHARED and clock.warning == ''


def test_a_clock_that_jumps_ahead_is_judged_anew_and_again_when_it_comes_back():
    clock = SourceClock()
    now_ns, _ = run(clock, NOW, 5)
    now_ns, dates = run(clock, now_ns, 5, 10 * S)
    assert dates[0] is None and dates[-1] == now_ns and clock.kind is ClockKind.FOREIGN
    now_ns, dates = run(clock, now_ns, 1)
    assert dates == [now_ns] and clock.kind is ClockKind.SHARED


def test_a_clock_that_was_set_right_tells_ages_again():
    clock = SourceClock()
    now_ns, _ = run(clock, NOW, 5, -3600 * S)
    now_ns, dates = run(clock, now_ns, 3, -S // 20)
    assert dates == [now_ns - S // 20 - 2 * PERIOD_NS, now_ns - S // 20 - PERIOD_NS, now_ns - S // 20]


def test_one_wrong_stamp_among_good_ones_costs_one_message():
    for wrong_ns in (NOW - 10**5 * S, 4 * 10**18, -5, NOW + 12 * S):
        clock = SourceClock()
        now_ns, _ = run(clock, NOW, 5)
        assert clock.date(wrong_ns, now_ns) is None
        now_ns, dates = run(clock, now_ns, 2)
        assert None not in dates and clock.kind is ClockKind.SHARED


def test_a_message_that_was_overtaken_is_no_news():
    clock = SourceClock()
    now_ns, _ = run(clock, NOW, 5)
    assert clock.date(now_ns - S // 5, now_ns) is None and clock.overtaken == 1


@pytest.mark.parametrize('per_s', [-0.001, 0.001])
def test_a_clock_that_drifts_is_late_or_by_arrival_but_never_fresher_than_it_is(per_s):
    clock, now_ns = SourceClock(), NOW
    for step in range(20_000):
        now_ns += S // 10
        date = clock.date(now_ns + round(per_s * step * S / 10), now_ns)
        assert date is None or date <= now_ns
    if per_s < 0:
        assert date == now_ns + round(per_s * step * S / 10) and clock.warning == ''  # two seconds old, and late
    else:
        assert date == now_ns and clock.kind is ClockKind.FOREIGN


def test_nothing_is_judged_before_simulated_time_begins():
    clock = SourceClock()
    assert clock.date(500 * S, 0) == 0 and clock.kind is ClockKind.UNKNOWN
    assert clock.date(501 * S, 501 * S) == 501 * S and clock.kind is ClockKind.SHARED


# What happens between two messages: (time that passes, how much of it the source stands still or lags more)
delays = st.lists(st.tuples(st.floats(0, 40), st.floats(0, 1)), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(delays, st.floats(0, 9.9))
@example([(0.1, 1.0)] * 300, 0.0)
@example([(0.02, 0.9)] * 900, 0.0)
@example([(12.0, 0.99), (0.02, 0.0)], 0.0)
def test_of_one_clock_nothing_is_ever_dated_later_than_it_was_made(steps, lag_s):
    """Pictures in their order, by a right clock, that come as late as one likes, or again and again."""
    clock, now_ns, made_ns = SourceClock(), NOW, NOW - round(lag_s * S)
    newest_ns = clock.date(made_ns, now_ns)
    for passed_s, stood in steps:
        now_ns += round(passed_s * S)
        made_ns = min(now_ns, made_ns + round(passed_s * S * (1 - stood)))
        newest_ns = clock.date(made_ns, now_ns) or newest_ns
        assert newest_ns == made_ns
    assert clock.wrong_stamps == 0 and clock.warning == ''


anything = st.lists(st.tuples(st.floats(0, 5), st.one_of(
    st.just('same'), st.just('zero'), st.just('live'), st.floats(-1e5, 1e5), st.integers(-10**18, 4 * 10**18))),
    max_size=40)


def after(clock, history):
    """Whatever a source did before: (now, its last stamp)."""
    now_ns, stamp_ns = NOW, 0
    for passed_s, what in history:
        now_ns += round(passed_s * S)
        if what == 'zero':
            stamp_ns = 0
        elif what == 'live':
            stamp_ns = now_ns
        elif isinstance(what, float):
            stamp_ns = now_ns + round(what * S)
        elif what != 'same':
            stamp_ns = what
        date = clock.date(stamp_ns, now_ns)
        assert date is None or date <= now_ns
    return now_ns, stamp_ns


@settings(max_examples=150, deadline=None)
@given(anything, st.one_of(st.floats(-1e6, -10.1), st.floats(-0.4, 1e6)))
def test_whatever_came_before_a_source_that_runs_is_fresh_within_two_seconds(history, ahead_s):
    clock = SourceClock()
    now_ns, _ = after(clock, history)
    now_ns, dates = run(clock, now_ns, 60, round(ahead_s * S))
    assert now_ns - (dates[-1] or 0) <= FRESH_NS


@settings(max_examples=150, deadline=None)
@given(anything, st.integers(1, 2 * 10**15), st.integers(1, 2 * 10**15))
def test_whatever_came_before_stamps_that_stand_still_are_silence(history, first_ns, second_ns):
    """One message for ever, or two in turn, as of two drivers that both hang."""
    clock = SourceClock()
    now_ns, _ = after(clock, history)
    dates = []
    for step in range(120):
        now_ns += PERIOD_NS
        dates.append(clock.date(second_ns if step % 2 else first_ns, now_ns))
    assert all(date is None or now_ns - date > FRESH_NS for date in dates[30:-30])
