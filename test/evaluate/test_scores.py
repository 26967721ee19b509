"""Figures against arithmetic done by hand."""
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from oxygen_ros.engine.chunk import ActionChunk, ActionKind
from oxygen_ros.evaluate.scores import ActionScore, Jumps
from oxygen_ros.evaluate.skips import BUSY, reason_of, Skips
from oxygen_ros.evaluate.texts import compare, edit_distance

MS = 1_000_000


def chunk(stamp_ms, rows, dt_s=0.1, instruction_id=1):
    rows = np.array(rows, float).reshape(len(rows), -1)
    return ActionChunk(0, stamp_ms * MS, instruction_id, ActionKind.JOINT_POSITION,
                       tuple('ab'[:rows.shape[1]]), dt_s, rows)


def test_each_row_is_compared_with_the_command_in_force_at_its_time():
    score = ActionScore(3, 1)
    score.add_chunk(chunk(1000, [0.0, 1.0, 5.0]))
    for time_ms, value in ((990, 0.5), (1095, 1.5), (1101, 9.0), (1199, 3.0), (1400, 7.0)):
        score.add_reference(time_ms * MS, [value])
    assert score.absolute.ravel().tolist() == [0.5, 0.5, 2.0] and score.count.ravel().tolist() == [1, 1, 1]
    assert score.squared.ravel().tolist() == [0.25, 0.25, 4.0]


def test_rows_without_a_command_close_before_them_do_not_count():
    score = ActionScore(3, 1)
    score.add_chunk(chunk(1000, [0.0, 1.0, 5.0]))
    score.add_reference(1050 * MS, [1.0])   # after the first row, 50 ms before the second
    score.add_reference(1260 * MS, [8.0])
    score.add_chunk(chunk(2000, [0.0]))     # behind the end of the recording
    score.close()
    assert score.count.ravel().tolist() == [0, 1, 1] and score.absolute.ravel().tolist() == [0, 0, 4]


def test_a_reference_that_is_not_a_number_does_not_count():
    score = ActionScore(1, 2)
    score.add_chunk(chunk(0, [[1.0, 2.0]]))
    score.add_reference(0, [np.nan, 2.5])
    score.close()
    assert score.count.tolist() == [[0, 1]] and score.absolute.tolist() == [[0, 0.5]]


@settings(max_examples=60, deadline=None)
@given(stamps=st.lists(st.integers(0, 5000), min_size=1, max_size=12), gap_ms=st.integers(5, 120),
       seed=st.integers(0, 99))
def test_streaming_gives_what_looking_at_everything_at_once_gives(stamps, gap_ms, seed):
    random = np.random.default_rng(seed)
    times = np.arange(0, 7000, gap_ms)
    values = random.normal(size=len(times))
    chunks = [chunk(stamp, random.normal(size=5), 0.04) for stamp in sorted(stamps)]
    score, todo = ActionScore(5, 1), list(chunks)
    for time_ms, value in zip(times, values):
        while todo and todo[0].stamp_ns <= time_ms * MS:
            score.add_chunk(todo.pop(0))
        score.add_reference(int(time_ms) * MS, [value])
    score.close()
    total, count = np.zeros(5), np.zeros(5)
    for one in chunks:
        if one in todo:
            continue
        for i in range(5):
            before = np.flatnonzero(times * MS <= one.stamp_ns + i * 40 * MS)[-1]
            total[i] += abs(one.data[i, 0] - values[before])
            count[i] += 1
    assert score.count.ravel().tolist() == count.tolist()
    assert score.absolute.ravel() == pytest.approx(total)


def test_memory_of_the_reference_is_bounded_by_the_open_chunks():
    score = ActionScore(5, 1)
    for i in range(20000):
        if i % 10 == 0:
            score.add_chunk(chunk(i * 10, np.zeros(5)))
        score.add_reference(i * 10 * MS, [0.0])
    assert len(score.reference._rows) < 400 and len(score._open) < 10


def test_a_jump_is_the_distance_of_old_and_new_at_the_moment_of_change():
    jumps = Jumps(ActionKind.JOINT_POSITION)
    jumps.change(chunk(0, [[0.0, 0.0], [1.0, 0.0]]), 20 * MS)
    jumps.change(chunk(40, [[0.6, 0.1], [1.6, 0.1]]), 60 * MS)  # old 0.6, new 0.8 at 60 ms
    assert (jumps.count, jumps.joint) == (1, 'a') and jumps.largest == pytest.approx(0.2)


@pytest.mark.parametrize('second, when_ms', [
    (dict(stamp_ms=500), 510),                      # the old one has ended
    (dict(stamp_ms=50, instruction_id=2), 60),      # another task
    (dict(stamp_ms=50), 400)])                      # the new one has ended too
def test_what_does_not_follow_on_is_no_boundary(second, when_ms):
    jumps = Jumps(ActionKind.JOINT_POSITION)
    jumps.change(chunk(0, [0.0, 1.0]), 0)
    jumps.change(chunk(rows=[5.0, 6.0], **second), when_ms * MS)
    assert jumps.count == 0 and jumps.largest is None


@pytest.mark.parametrize('a, b, distance', [('', '', 0), ('abc', '', 3), ('kitten', 'sitting', 3), ('ab', 'ba', 2)])
def test_edit_distance(a, b, distance):
    assert edit_distance(a, b) == edit_distance(b, a) == distance


def test_texts_are_compared_place_by_place():
    assert compare({1: 'go', 2: 'left', 3: 'x'}, {1: 'go', 2: 'lift', 4: 'y'}) == {
        'exact_match': 0.5, 'edit_distance': 0.5, 'compared': 2, 'missing': 2}
    assert compare({}, {1: 'a'})['exact_match'] is None


@pytest.mark.parametrize('sentence, key', [
    ('no base_0_rgb yet on /top/image_raw', 'no base_0_rgb yet'), ('no instruction yet', 'no instruction'),
    ('joint_states on /joint_states is 0.61 s old, the limit is 0.5 s', 'joint_states too old'),
    ('images lie 0.200 s apart (a is behind b), the limit is 0.1 s', 'images too far apart'),
    ('the instruction is empty: the arm holds', 'instruction empty or expired'), ('', BUSY),
    ('base_0_rgb on /top/image_raw refused: image encoding 16UC1 is depth', 'base_0_rgb refused')])
def test_a_reason_carries_no_numbers_of_the_moment(sentence, key):
    assert reason_of(sentence) == key


def test_every_picture_is_used_or_skipped_once():
    skips = Skips()
    skips.arrived()
    skips.used()
    skips.arrived()
    skips.arrived()
    skips.delayed('no instruction yet')
    skips.end()
    assert skips.counts == {BUSY: 1, 'no instruction': 1}
