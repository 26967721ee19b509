"""The control loop: posted calls first, then a tick, on a schedule that does not drift."""
from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros import control_loop
from oxygen_ros.control.stops import Stops
from oxygen_ros.control_loop import ControlLoop, Durations


class Recorder:
    """Stands for the controller: remembers the calls."""

    moving = False

    def __init__(self):
        self.calls = []

    def tick(self, now_ns):
        self.calls.append(('tick', now_ns))
        command = None if len(self.calls) % 2 else np.array([1.0])
        return SimpleNamespace(command=command, source='fresh', reason='')

    def offer(self, chunk, now_ns):
        self.calls.append(('offer', chunk, now_ns))
        return 'too old'

    def stop(self, reason):
        self.calls.append(('stop', reason))


def loop_of(rate_hz=60.0, **options):
    timeline = SimpleNamespace(now_ns=lambda: 42)
    return ControlLoop(Recorder(), timeline, rate_hz, **options)


def test_posted_calls_are_made_before_the_tick_in_order_and_answered():
    loop, answers = loop_of(), []
    loop.post('offer', 'chunk', 7, then=answers.append)
    loop.post('stop', 'because')
    loop.tick()
    assert loop.controller.calls == [('offer', 'chunk', 7), ('stop', 'because'), ('tick', 42)]
    assert answers == ['too old']
    loop.tick()
    assert len(loop.controller.calls) == 4


def test_however_long_the_thread_stands_still_no_stop_is_lost_and_little_is_kept():
    loop = loop_of()
    loop.controller.measured = lambda position, now_ns: loop.controller.calls.append('measured')
    loop.post('stop', 'before')
    for _ in range(5 * loop.MAX_POSTED):
        loop.post('measured', [0.0], 1)
    loop.post('stop', 'after')
    assert not loop.resting
    loop.tick()
    stops = [call for call in loop.controller.calls if call[0] == 'stop']
    assert stops == [('stop', 'before'), ('stop', 'after')]
    assert len(loop.controller.calls) <= loop.MAX_POSTED + 2


def test_no_tick_goes_by_without_a_stop_while_there_is_a_reason_whatever_is_posted():
    stops = Stops()
    loop = loop_of(stops=stops)
    loop.controller.reset = lambda now_ns: loop.controller.calls.append(('reset', now_ns))
    stops.stop('person')
    for _ in range(2):
        loop.post('reset', 7)
        loop.tick()
    assert loop.controller.calls == [('reset', 7), ('stop', 'person'), ('tick', 42)] * 2
    stops.resume()
    loop.tick()
    assert loop.controller.calls[6:] == [('tick', 42)]


class Braking(Recorder):
    """Needs ten ticks to come to rest."""

    moving = property(lambda self: len(self.calls) < 10)


@pytest.mark.parametrize('threaded', [False, True])
def test_it_comes_to_rest_before_it_ends_with_a_thread_and_without(threaded):
    published = []
    loop = loop_of(200.0, publish=published.append)
    loop.controller = Braking()
    if threaded:
        loop.start()
    loop.come_to_rest(20.0)
    assert loop.resting and not loop.running and loop.failure is None
    assert len(loop.controller.calls) in ((10,) if not threaded else range(10, 1000)) and published


def test_coming_to_rest_ends_where_a_tick_fails_or_never_rests():
    loop = loop_of(200.0)
    loop.controller = Braking()
    loop.controller.tick = None
    loop.come_to_rest(20.0)
    assert isinstance(loop.failure, TypeError)
    loop = loop_of(200.0)
    loop.controller.moving = True
    loop.come_to_rest(0.05)
    assert loop.ticks == 10


def test_a_step_that_failed_is_told_once_and_not_repeated():
    told = []
    loop = loop_of()
    loop.on_failure = lambda: told.append(1)
    loop.controller.tick = None
    loop.step()
    loop.step()
    assert told == [1] and isinstance(loop.failure, TypeError)


def test_only_ticks_that_command_are_published():
    published = []
    loop = loop_of(publish=published.append)
    for _ in range(4):
        loop.tick()
    assert len(published) == 2 and loop.ticks == 4


class FakeTime:
    """A steady clock for the loop's thread: sleeping moves it, and now and then the sleeper wakes late."""

    def __init__(self, loop, ticks, late_ns=lambda number: 0):
        self.now, self.loop, self.ticks, self.late_ns = 1_000_000_000, loop, ticks, late_ns
        self.at = []

    def monotonic_ns(self):
        return self.now

    def sleep(self, seconds):
        self.now += round(seconds * 1e9) + self.late_ns(len(self.at))
        self.at.append(self.now)
        if len(self.at) >= self.ticks:
            self.loop._stopping.set()


def run(monkeypatch, rate_hz, ticks, late_ns=lambda number: 0):
    loop = loop_of(rate_hz)
    clock = FakeTime(loop, ticks, late_ns)
    monkeypatch.setattr(control_loop, 'time', clock)
    loop._run()
    assert loop.failure is None
    return loop, clock


def test_the_period_is_exact_for_rates_that_are_no_whole_milliseconds(monkeypatch):
    for rate_hz in (50.0, 60.0, 70.0, 1.0, 200.0, 33.3):
        loop, clock = run(monkeypatch, rate_hz, 1000)
        mean_s = (clock.at[-1] - clock.at[0]) / 999 / 1e9
        assert abs(mean_s * rate_hz - 1) < 1e-6
        assert loop.lost == 0 and loop.ticks == 1000


def test_a_late_tick_does_not_move_the_others(monkeypatch):
    loop, clock = run(monkeypatch, 50.0, 100, lambda number: 5_000_000 if number == 10 else 0)
    assert clock.at[10] - clock.at[9] == 25_000_000 and clock.at[11] - clock.at[10] == 15_000_000
    assert loop.lost == 0
    assert loop.late.percentile(100) == 5.0 and loop.late.percentile(50) == 0.0


def test_periods_that_passed_without_a_tick_are_counted_and_not_made_up_for(monkeypatch):
    loop, clock = run(monkeypatch, 50.0, 20, lambda number: 65_000_000 if number == 10 else 0)
    assert loop.lost == 3 and loop.ticks == 20
    assert clock.at[11] - clock.at[10] == 15_000_000


def test_an_exception_in_a_tick_ends_the_loop_is_kept_and_told():
    loop, told = loop_of(200.0), []
    loop.on_failure = lambda: told.append(1)
    loop.controller.tick = None
    loop.start()
    loop._thread.join(5)
    assert isinstance(loop.failure, TypeError) and not loop.running and told == [1]


def test_a_thread_that_does_not_tick_for_several_periods_is_told_from_one_that_does(monkeypatch):
    loop, clock = loop_of(50.0), SimpleNamespace(now=0, monotonic_ns=lambda: clock.now)
    monkeypatch.setattr(control_loop, 'time', clock)
    clock.now = 10**10
    assert loop.stalled() == ''  # not started
    loop._thread, loop._ticked_ns = object(), clock.now
    clock.now += 240_000_000
    assert loop.stalled() == ''
    clock.now += 60_000_000
    assert loop.stalled() == 'the control thread has not ticked for 0.3 s'
    loop.tick()
    assert loop.stalled() == ''
    loop.rate_hz = 1.0
    clock.now += 4_900_000_000
    assert loop.stalled() == ''  # five periods of that timer


def test_durations_are_bounded():
    late = Durations(size=10)
    assert late.percentile(99) == 0.0
    for i in range(100):
        late.add(i * 1e6)
    assert late.percentile(0) == 90.0 and late.percentile(100) == 99.0 and late.percentile(50) == 95.0
