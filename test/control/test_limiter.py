from hypothesis import given, settings, strategies as st
import numpy as np
from oxygen_ros.control.limiter import MotionLimiter
from oxygen_ros.control.limits import JointLimits
from oxygen_ros.control.watchdog import Watchdog
import pytest


def limiter(rate_hz=60.0, lower=-1.0, upper=1.0, velocity=1.0, acceleration=5.0):
    limits = JointLimits.from_table(('a',), {'a': {
        'lower': lower, 'upper': upper, 'velocity': velocity, 'acceleration': acceleration}})
    return MotionLimiter(limits, 1 / rate_hz)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), velocity=st.floats(0.05, 10), acceleration=st.floats(0.1, 200),
       rate_hz=st.sampled_from([1.0, 20.0, 60.0, 200.0]))
def test_range_speed_and_acceleration_hold_together_for_any_target(seed, velocity, acceleration, rate_hz):
    random = np.random.default_rng(seed)
    moving = limiter(rate_hz, velocity=velocity, acceleration=acceleration)
    moving.start([random.uniform(-1, 1)])
    path = [moving.position[0]]
    target, slope = 0.0, 0.0
    for _ in range(150):
        if random.random() < 0.1:
            target, slope = random.uniform(-3, 3), random.uniform(-20, 20) * (random.random() < 0.5)
        if random.random() < 0.1:
            moving.brake()
        else:
            moving.follow(np.array([target]), np.array([slope]))
        path.append(moving.position[0])
    speed = np.diff(path) * rate_hz
    change = np.diff(speed, prepend=0.0) * rate_hz
    assert min(path) >= -1 - 1e-9 and max(path) <= 1 + 1e-9
    assert np.abs(speed).max() <= velocity * (1 + 1e-6)
    assert np.abs(change).max() <= acceleration * (1 + 1e-6) + 1e-7 * rate_hz**2


def test_a_standing_target_is_reached_without_overshoot():
    moving = limiter()
    moving.start([0.0])
    path = []
    for _ in range(120):
        moving.follow(np.array([0.7]), np.zeros(1))
        path.append(moving.position[0])
    assert max(path) <= 0.7 + 1e-9 and path[-1] == pytest.approx(0.7, abs=1e-9)
    assert (np.diff(path) >= -1e-12).all()


def test_a_moving_target_is_followed_without_lag():
    moving = limiter(velocity=2.0, acceleration=50.0)
    moving.start([0.0])
    for i in range(1, 60):
        clamped = moving.follow(np.array([0.8 * i / 60]), np.array([0.8]))
    assert clamped == 0 and moving.position[0] == pytest.approx(0.8 * 59 / 60, abs=1e-9)


def test_from_outside_the_range_only_the_way_back_is_free():
    moving = limiter()
    moving.start([1.3])
    path = []
    for _ in range(200):
        moving.follow(np.array([2.0]), np.zeros(1))
        path.append(moving.position[0])
    assert max(path) <= 1.3 + 1e-12
    for _ in range(200):
        moving.follow(np.array([0.0]), np.zeros(1))
    assert moving.position[0] == pytest.approx(0.0, abs=1e-9)


def test_a_position_that_reads_a_little_outside_starts_at_the_end_of_the_range():
    moving = limiter()
    moving.start([1.01])  # one step at 1 rad/s and 60 Hz is 0.017 rad
    assert moving.position[0] == 1.0
    moving.start([-1.02])
    assert moving.position[0] == -1.02


def test_a_joint_without_an_end_of_range_moves_freely():
    moving = limiter(lower=-np.inf, upper=np.inf)
    moving.start([0.0])
    for _ in range(600):
        moving.follow(np.array([5.0]), np.zeros(1))
    assert moving.position[0] == pytest.approx(5.0, abs=1e-6)


def test_a_watchdog_expires_after_its_time_and_needs_to_be_fed():
    dog = Watchdog(0.5)
    assert dog.expired(0)
    dog.feed(1_000)
    assert not dog.expired(500_001_000) and dog.expired(500_001_001)
    dog.set(1.0)
    assert not dog.expired(500_001_001)
    off = Watchdog(0.0)
    off.feed(0)
    assert not off.expired(10**18)
    with pytest.raises(ValueError, match='0 s or more'):
        Watchdog(-1)
