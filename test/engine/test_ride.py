"""Rows ride where it was measured to be the shorter way."""
import numpy as np
import pytest

from oxygen_ros.engine.ride import LEAST, RETRY_EVERY, WINDOW, RideChoice
from oxygen_ros.engine.request import LanguageRequest
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


@pytest.mark.parametrize('static', [False, True])
@pytest.mark.parametrize('fitting, riding', [(0, []), (1, [2]), (9, [1, 2])])
def test_only_as_many_rows_ride_as_the_deadline_leaves_time_for_the_highest_priority_first(static, fitting, riding):
    made, log = engine(slots=4, ride=True, decode_rounds=1, static=static), Log()
    made.warm_up()
    made.run_frame(observation(1), [ask(20), LanguageRequest('high', '', 20, priority=1)], log.chunk, log.token)
    before = {i: len(log.tokens(i)) for i in (1, 2)}
    asked = []
    # asked once for the riders, and for no round of its own after those
    made.deadline.rows_that_fit = lambda rows, since: asked.append(rows) or min(rows, fitting if len(asked) == 1 else 0)
    passes = []
    made.model.trunk.layers[0].register_forward_hook(lambda m, i, o: passes.append(len(i[0])))
    made.run_frame(observation(1), [], log.chunk, log.token)
    assert [i for i in (1, 2) if len(log.tokens(i)) > before[i]] == riding
    assert len(passes) == 1 and asked[0] == 2


def test_rows_that_the_deadline_kept_from_riding_may_have_a_round_after_the_chunk():
    made, log = engine(slots=4, ride=True, decode_rounds=1), Log()
    made.run_frame(observation(1), [ask(20)], log.chunk, log.token)
    answers = iter([0, 1])
    made.deadline.rows_that_fit = lambda rows, since: next(answers)
    made.run_frame(observation(1), [], log.chunk, log.token)
    assert len(log.tokens(1)) == 2


def test_the_action_part_is_planned_without_what_riders_add():
    made, log, seen = engine(slots=4, ride=True, deadline_s=30.0), Log(), []
    now = [0.0]
    made.clock = lambda: now[0]
    made.model.trunk.layers[0].register_forward_hook(lambda m, i, o: now.__setitem__(0, now[0] + 1.0))
    made.model.trunk.layers[0].register_forward_hook(
        lambda m, i, o: now.__setitem__(0, now[0] + 0.5 * (len(i[0]) > made.prefix_positions - 40 + len('pick') + 4)))
    note = made.deadline.saw_action
    made.deadline.saw_action = lambda took: seen.append(round(took, 6)) or note(took)
    for i in range(12):
        made.run_frame(observation(1, views=3), [ask(24)] if i == 4 else [], log.chunk, log.token)
    assert made.counters.decode_rounds > 2 * LEAST
    assert seen[:4] == [1.0] * 4 and 1.5 in seen and seen[-1] == 1.0
