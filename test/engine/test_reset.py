import numpy as np
import pytest
from tiny_engine import engine, Log, observation, TinyProcessor

from oxygen_ros.engine.fake import FakeEngine


def run(made, count):
    log = Log()
    for _ in range(count):
        made.run_frame(observation(1), [], log.chunk, log.token)
    return log.chunks


def test_a_run_that_begins_again_at_a_frame_number_is_the_same_and_counters_go_on():
    made = engine(TinyProcessor())
    first = run(made, 3)
    made.reset(frame_id=1)
    again = run(made, 2)
    assert [chunk.frame_id for chunk in again] == [1, 2]
    for one, other in zip(first[1:], again):
        assert (one.data == other.data).all() and np.isfinite(one.data).all()
    assert made.counters.frames == made.counters.prefills == made.counters.chunks == 5
    made.close()


@pytest.mark.parametrize('number', [0, 7])
def test_the_fake_engine_numbers_its_frames_alike(number):
    made = FakeEngine(('a', 'b', 'c'))
    run(made, 2)
    made.reset(frame_id=number)
    assert run(made, 1)[0].frame_id == number
    assert made.counters.frames == 3
