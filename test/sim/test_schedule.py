from hypothesis import given, strategies as st
import pytest

from oxygen_ros.sim.schedule import NS, Pace, Schedule


@given(st.floats(0.5, 500), st.floats(0.5, 500), st.integers(0, 10**15))
def test_each_rate_keeps_its_own_times_without_drift(first_hz, second_hz, origin_ns):
    schedule = Schedule({'first': first_hz, 'second': second_hz}, origin_ns)
    seen = {'first': [], 'second': []}
    last = origin_ns
    for _ in range(200):
        moment, names = schedule.next()
        assert moment >= last and names
        last = moment
        for name in names:
            seen[name].append(moment)
    for name, rate in (('first', first_hz), ('second', second_hz)):
        assert seen[name] == [origin_ns + round(k * NS / rate) for k in range(len(seen[name]))]


def test_thirty_hertz_is_thirty_a_second():
    schedule = Schedule({'pictures': 30.0, 'joints': 100.0})
    pictures, (moment, names) = 0, schedule.next()
    while moment < 10 * NS:
        pictures += 'pictures' in names
        moment, names = schedule.next()
    assert pictures == 300


def test_names_due_together_come_in_the_order_given():
    schedule = Schedule({'joints': 100.0, 'pictures': 50.0, 'control': 50.0})
    assert schedule.next() == (0, ['joints', 'pictures', 'control'])
    assert schedule.next() == (NS // 100, ['joints'])
    assert schedule.next() == (NS // 50, ['joints', 'pictures', 'control'])


@pytest.mark.parametrize('factor', [0.5, 1.0, 4.0])
def test_simulated_time_keeps_to_the_wall_by_the_factor(factor):
    pace, wall = Pace(factor), 12345
    assert pace.wait_ns(NS, wall) == 0
    assert pace.wait_ns(3 * NS, wall) == pytest.approx(2 * NS / factor)
    assert pace.wait_ns(3 * NS, wall + int(2 * NS / factor) + 10) == 0
    assert pace.slips == 0


def test_lost_time_is_let_go_and_counted():
    pace = Pace(1.0, patience_ns=100)
    assert pace.wait_ns(0, 0) == 0
    assert pace.wait_ns(1000, 1101) == 0
    assert (pace.slips, pace.slipped_ns) == (1, 101)
    assert pace.wait_ns(2000, 1101) == 1000


def test_factor_zero_never_waits():
    pace = Pace(0.0)
    assert [pace.wait_ns(moment, 0) for moment in (0, NS, 1000 * NS)] == [0, 0, 0]
