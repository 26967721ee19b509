"""The deadline controller plans with what it has seen."""
from oxygen_ros.engine.deadline import DeadlineController


def controller(action=0.05, rounds=()):
    made = DeadlineController(0.1, margin=0.0)
    for _ in range(10):
        made.saw_action(action)
    for rows, took in rounds:
        made.saw_round(rows, took)
    return made


def test_without_a_deadline_everything_fits():
    assert DeadlineController(0.0).rows_that_fit(7, 99.0) == 7


def test_nothing_fits_before_an_action_was_measured():
    assert DeadlineController(0.1).rows_that_fit(4, 0.0) == 0


def test_a_round_fits_while_the_next_action_part_still_does():
    made = controller(rounds=[(8, 0.02)])
    assert made.rows_that_fit(8, 0.029) == 8
    assert made.rows_that_fit(8, 0.031) == 0


def test_a_smaller_round_is_taken_where_the_whole_does_not_fit():
    made = controller(rounds=[(16, 0.04), (4, 0.012), (1, 0.01)])
    assert made.rows_that_fit(16, 0.005) == 16
    assert made.rows_that_fit(16, 0.035) == 4
    assert made.rows_that_fit(16, 0.039) == 1
    assert made.rows_that_fit(16, 0.045) == 0


def test_plans_with_the_slow_ones_not_the_mean():
    made = controller(rounds=[(2, 0.01)] * 50 + [(2, 0.045)])
    assert made.rows_that_fit(2, 0.01) == 0


def test_an_unmeasured_size_is_scaled_up_from_the_nearest():
    made = controller(rounds=[(4, 0.02)])
    assert made.rows_that_fit(16, 0.0) == 8
