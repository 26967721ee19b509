"""One clock that never steps by itself, whatever the system clock does."""
from oxygen_ros.timeline import Timeline


class Clocks:
    def __init__(self):
        self.ros, self.steady = 10**18, 5_000

    def advance(self, ns):
        self.ros += ns
        self.steady += ns


def of(clocks, simulated=False):
    return Timeline(lambda: clocks.ros, lambda: clocks.steady, simulated)


def test_it_shows_ros_time_at_the_pace_of_the_steady_clock():
    clocks = Clocks()
    timeline = of(clocks)
    assert timeline.now_ns() == clocks.ros
    clocks.advance(123_456)
    assert timeline.now_ns() == clocks.ros and timeline.stepped() == 0.0


def test_a_step_of_the_system_clock_is_seen_once_and_only_when_asked():
    clocks = Clocks()
    timeline = of(clocks)
    clocks.ros -= 3600 * 10**9
    before = timeline.now_ns()
    assert before == 10**18  # not stepped by itself
    assert timeline.stepped() == -3600.0
    assert timeline.now_ns() == clocks.ros and timeline.stepped() == 0.0


def test_slewing_is_no_step():
    clocks = Clocks()
    timeline = of(clocks)
    for _ in range(100):
        clocks.advance(10_000_000)
        clocks.ros += 100_000
        assert timeline.stepped() == 0.0 or clocks.ros - 10**18 > 50_000_000


def test_simulated_time_is_taken_as_it_is_and_going_back_is_a_step():
    clocks = Clocks()
    clocks.ros = 0
    timeline = of(clocks, simulated=True)
    assert not timeline.started
    clocks.ros = 5 * 10**9
    assert timeline.started and timeline.now_ns() == 5 * 10**9 and timeline.stepped() == 0.0
    clocks.ros = 10**9
    assert timeline.stepped() == -4.0 and timeline.stepped() == 0.0
    clocks.ros = 100 * 10**9  # a fast clock is no step
    assert timeline.stepped() == 0.0


def test_being_interrupted_between_reading_two_clocks_is_no_step():
    clocks = Clocks()
    slow = iter([0, 80_000_000])  # the first reading of a pair was interrupted for 80 ms
    timeline = of(clocks)

    def ros():
        clocks.advance(next(slow, 0))
        return clocks.ros
    timeline._ros_ns = ros
    assert timeline.stepped() == 0.0
