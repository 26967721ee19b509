import threading

import numpy as np
import pytest

from oxygen_ros.sim.command import Motion
from oxygen_ros.sim.joints import JOINTS, START
from oxygen_ros.sim.loop import Loop, START_NS
from oxygen_ros.sim.replay import FollowingArms
from oxygen_ros.sim.schedule import NS, Pace


def moved_to(value):
    return Motion(np.zeros(1), (START + value)[None])


class Recorder:
    """An output that notes what it sees and may act on the loop at a given call."""

    def __init__(self):
        self.moments, self.states, self.actions, self.loop = [], [], {}, None

    def __call__(self, moment_ns):
        self.moments.append(moment_ns - START_NS)
        self.states.append(self.loop.body.positions())
        self.actions.pop(len(self.moments), lambda: None)()


def fast_loop(rate_hz=50.0, **options):
    recorder = Recorder()
    recorder.loop = Loop(FollowingArms(), {'state': rate_hz}, {'state': recorder}, Pace(0.0), **options)
    return recorder.loop, recorder


def test_outputs_come_at_their_simulated_times_and_the_body_has_reached_them():
    loop, recorder = fast_loop()
    recorder.actions[11] = loop.stop
    loop.run()
    assert recorder.moments == [k * NS // 50 for k in range(11)]
    assert loop.now_ns - START_NS == recorder.moments[-1]


def test_without_lockstep_the_newest_command_counts():
    loop, recorder = fast_loop()
    recorder.actions[1] = lambda: (loop.command(moved_to(0.5)), loop.command(moved_to(0.01)))
    recorder.actions[60] = loop.stop
    loop.run()
    assert recorder.states[0] == pytest.approx(START)
    assert recorder.states[-1] == pytest.approx(np.clip(START + 0.01, loop.body.lower, loop.body.upper), abs=1e-6)


def test_a_trajectory_is_followed_in_simulated_time():
    loop, recorder = fast_loop()
    ramp = Motion(np.array([0.0, 1.0]), np.array([START, START + 0.1]))
    recorder.actions[1] = lambda: loop.command(ramp)
    recorder.actions[80] = loop.stop
    loop.run()
    travelled = np.array([state[0] for state in recorder.states])
    assert 0 < travelled[10] < travelled[25] < travelled[50] < 0.1 and travelled[79] == pytest.approx(0.1, abs=1e-4)


def run_lockstep(values, timeout_s=5.0):
    """Feed one command for each period from another thread; the states at each period."""
    loop, recorder = fast_loop(lockstep_hz=50.0, lockstep_timeout_s=timeout_s)
    thread = threading.Thread(target=loop.run)
    recorder.actions[len(values) + 1] = loop.stop
    thread.start()
    for value in values:
        loop.command(moved_to(value))
    thread.join(20)
    assert not thread.is_alive()
    return loop, recorder


def test_lockstep_gives_each_period_one_command_and_repeats_exactly():
    values = np.random.default_rng(0).uniform(-0.3, 0.3, 40)
    (loop, first), (_, again) = run_lockstep(values), run_lockstep(values)
    assert loop.counters.lockstep_timeouts == 0
    np.testing.assert_array_equal(first.states, again.states)
    body, expected = FollowingArms(), [START]
    for value in values:
        body.command(START + value)
        body.advance(10)
        expected.append(body.positions())
    np.testing.assert_array_equal(first.states, expected)


def test_lockstep_holds_the_last_command_when_none_comes_in_time():
    loop, recorder = fast_loop(lockstep_hz=50.0, lockstep_timeout_s=0.01)
    recorder.actions[2] = lambda: loop.command(moved_to(0.1))
    recorder.actions[30] = loop.stop
    loop.run()
    commanded, at_the_stop = 1, 1
    assert loop.counters.lockstep_timeouts == loop.counters.lockstep_periods - commanded - at_the_stop
    assert recorder.states[-1][0] == pytest.approx(0.1, abs=1e-3)


def test_a_reset_starts_the_scene_again_while_time_goes_on():
    loop, recorder = fast_loop()
    done = []
    recorder.actions[1] = lambda: loop.command(moved_to(0.1))
    recorder.actions[30] = lambda: threading.Thread(target=lambda: done.append(loop.reset(7))).start()
    recorder.actions[10_000] = loop.stop
    loop.run()
    assert done == [True] and loop.counters.resets == 1
    assert recorder.moments == sorted(recorder.moments)
    back = [i for i, state in enumerate(recorder.states) if np.array_equal(state, START)]
    assert back[0] == 0 and len(back) > 9000  # the command from before the reset is forgotten


def test_a_reset_ends_the_wait_of_lockstep():
    loop, recorder = fast_loop(lockstep_hz=50.0, lockstep_timeout_s=60.0)
    thread = threading.Thread(target=loop.run)
    thread.start()
    assert loop.reset(1, timeout_s=10.0)
    loop.stop()
    thread.join(10)
    assert not thread.is_alive() and loop.counters.resets == 1


def test_a_reset_without_a_running_loop_says_so():
    loop, _ = fast_loop()
    assert not loop.reset(1, timeout_s=0.01)


def test_commands_beyond_the_queue_of_lockstep_are_counted():
    loop, _ = fast_loop(lockstep_hz=50.0)
    for _ in range(105):
        loop.command(moved_to(0.0))
    assert loop.counters.commands_overflowed == 5


def test_the_following_arms_stay_within_their_limits():
    body = FollowingArms()
    body.command(np.full(len(JOINTS), 99.0))
    body.advance(1000)
    np.testing.assert_allclose(body.positions(), body.upper)
