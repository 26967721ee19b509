"""Rows ride where it was measured to be the shorter way."""
import numpy as np
import pytest

from oxygen_ros.engine.ride import LEAST, RETRY_EVERY, WINDOW, RideChoice
from tiny_engine import Log, ask, engine, observation


def choice(alone=100.0, riding=104.0, after=20.0, rows=4):
    made = RideChoice()
    for _ in range(LEAST):
        made.saw_prefill(2, 0, alone), made.saw_prefill(2, rows, riding), made.saw_round(rows, after)
    return made


def test_rows_ride_where_they_lengthen_the_prefill_by_less_than_a_round():
    assert choice(riding=119.0).rides(2, 4)
    assert not choice(riding=121.0).rides(2, 4)


def test_each_way_is_measured_before_they_are_compared():
    made = RideChoice()
    ways = []
    for _ in range(3 * LEAST):
        rides = made.rides(2, 4)
        ways.append(rides)
        made.saw_prefill(2, 4 if rides else 0, 100.0)
        if not rides:
            made.saw_round(4, 20.0)
    assert ways == [False] * LEAST + [True] * (2 * LEAST)


def test_other_sizes_and_views_are_measured_apart():
    made = choice()
    assert made.rides(2, 3)  # counted with 4
    assert not made.rides(2, 5) and not made.rides(1, 4)


def test_the_other_way_is_tried_again_and_newer_times_count():
    made = choice()
    ways = [made.rides(2, 4) for _ in range(2 * RETRY_EVERY)]
    assert ways.count(False) == 2
    for _ in range(WINDOW):
        made.saw_prefill(2, 4, 130.0)
    assert not made.rides(2, 4)


@pytest.mark.parametrize('pays', [True, False])
def test_an_engine_that_chooses_says_and_does_the_same(pays):
    plain, chooses = engine(slots=4, decode_rounds=2), engine(slots=4, decode_rounds=2, ride='auto')
    seen = chooses.ride_choice
    note_prefill, note_round = seen.saw_prefill, seen.saw_round
    seen.saw_prefill = lambda views, rows, took: note_prefill(views, rows, 10.0 if pays else 10.0 + rows)
    seen.saw_round = lambda rows, took: note_round(rows, 0.5)
    quiet, log, passes, prefix = Log(), Log(), [], 0
    chooses.model.trunk.layers[1].register_forward_hook(lambda m, i, o: passes.append(len(i[0])))
    for i in range(12):
        passes.clear()
        for made, kept in ((plain, quiet), (chooses, log)):
            made.run_frame(observation(1), [ask(22), ask(22)] if i == 0 else [], kept.chunk, kept.token)
        if i == 2 * LEAST:
            assert passes == ([prefix + 2, 2] if pays else [prefix, 2, 2])
        if i == 0:
            prefix = passes[0]
    assert max(np.abs(a.data - b.data).max() for a, b in zip(quiet.chunks, log.chunks, strict=True)) <= 1e-6
    assert [len(log.tokens(i)) for i in (1, 2)] == [22, 22]
    assert [log.tokens(i) for i in (1, 2)] == [quiet.tokens(i) for i in (1, 2)]
