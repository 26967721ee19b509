from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
from oxygen_ros.control.chunk_buffer import ChunkBuffer, PositionPath, VelocityPath
from oxygen_ros.engine.chunk import ActionChunk, ActionKind
import pytest

S = 1_000_000_000


def chunk(data, stamp_ns=0, dt_s=0.1, kind=ActionKind.JOINT_POSITION):
    data = np.asarray(data, float)
    return ActionChunk(0, stamp_ns, 1, kind, tuple(f'j{i}' for i in range(data.shape[1])), dt_s, data)


def sampled(path, times_ns, joints):
    values, slopes = np.zeros((len(times_ns), joints)), np.zeros((len(times_ns), joints))
    for i, time in enumerate(times_ns):
        path.sample(time, values[i], slopes[i])
    return values, slopes


@settings(max_examples=60, deadline=None)
@given(arrays(float, st.tuples(st.integers(1, 12), st.just(2)), elements=st.floats(-3, 3)))
def test_the_curve_goes_through_the_rows_and_never_beyond_two_neighbours(rows):
    path = PositionPath(chunk(rows))
    at_rows, _ = sampled(path, [i * S // 10 for i in range(len(rows))], 2)
    assert np.allclose(at_rows, rows, atol=1e-9)
    for i in range(len(rows) - 1):
        values, _ = sampled(path, np.linspace(i * S // 10, (i + 1) * S // 10, 17), 2)
        low, high = np.minimum(rows[i], rows[i + 1]), np.maximum(rows[i], rows[i + 1])
        assert (values >= low - 1e-9).all() and (values <= high + 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(arrays(float, st.tuples(st.integers(2, 8), st.just(1)), elements=st.floats(-3, 3)))
def test_the_slope_is_the_derivative_and_has_no_steps(rows):
    path = PositionPath(chunk(rows))
    times = np.arange(1, (len(rows) - 1) * 1000) * S // 10_000
    values, slopes = sampled(path, times, 1)
    assert np.allclose(np.gradient(values[:, 0], 1e-4)[1:-1], slopes[1:-1, 0], atol=0.2)
    # no step: neighbouring samples differ by no more than the largest curvature allows
    assert np.abs(np.diff(slopes[:, 0])).max() <= 1e-4 * 12 * np.ptp(rows) / 0.1 ** 2 + 1e-9


def test_nothing_is_extrapolated():
    path = PositionPath(chunk([[0.0], [1.0], [2.0]]))
    values, slopes = sampled(path, [-S, 0, 2 * S // 10, S], 1)
    assert values[:, 0].tolist() == [0, 0, 2, 2] and not slopes.any()


def test_a_straight_line_stays_straight():
    values, slopes = sampled(PositionPath(chunk(np.arange(5)[:, None])), [S // 20, 15 * S // 100, 33 * S // 100], 1)
    assert np.allclose(values[:, 0], [0.5, 1.5, 3.3]) and np.allclose(slopes, 10)


def test_one_row_stands_still():
    values, slopes = sampled(PositionPath(chunk([[0.7]])), [-S, 0, S], 1)
    assert (values == 0.7).all() and not slopes.any()


def test_velocities_are_held_and_end():
    path = VelocityPath(chunk([[1.0], [2.0]], kind=ActionKind.JOINT_VELOCITY))
    values, _ = sampled(path, [-1, 0, S // 10 - 1, S // 10, 2 * S // 10 - 1, 2 * S // 10], 1)
    assert values[:, 0].tolist() == [0, 1, 1, 2, 2, 0]


def test_a_fade_begins_at_the_old_plan_and_ends_at_the_new_one_without_a_step_in_speed():
    buffer = ChunkBuffer(1, ActionKind.JOINT_POSITION, 0.2)
    buffer.start_from([0.0])
    buffer.push(chunk(np.arange(20)[:, None] * 0.1), 0, 0)
    buffer.push(chunk(1.0 + np.arange(20)[:, None] * 0.05, stamp_ns=S // 2), S // 2)
    times = np.arange(3 * S // 10, S, S // 1000)
    values = np.array([buffer.sample(time)[0][0] for time in times])
    slopes = np.array([buffer.sample(time)[1][0] for time in times])
    assert values[200] == pytest.approx(0.5, abs=1e-6) and values[400] == pytest.approx(1.1, abs=1e-6)
    assert np.abs(np.diff(values)).max() < 0.02 and np.abs(np.diff(slopes)).max() < 0.3
    assert np.allclose(np.gradient(values, 1e-3)[2:-2], slopes[2:-2], atol=0.05)


def test_many_chunks_at_once_keep_a_bounded_number_of_layers():
    buffer = ChunkBuffer(1, ActionKind.JOINT_POSITION, 1.0)
    buffer.start_from([0.0])
    for i in range(100):
        buffer.push(chunk(np.full((20, 1), i), stamp_ns=i), i)
    assert len(buffer._layers) <= 8 and np.isfinite(buffer.sample(S // 2)[0]).all()


def test_deltas_have_no_buffer():
    with pytest.raises(ValueError, match='DeltaQueue'):
        ChunkBuffer(1, ActionKind.EEF_DELTA, 0.1)
