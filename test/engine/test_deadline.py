"""The deadline controller plans with what it has seen, and neither an outlier nor a small size keeps it from more."""
from random import Random

import numpy as np
import pytest

from oxygen_ros.engine.deadline import FEW, RETRY, WINDOW, DeadlineController


def controller(rounds=(), action=0.05, frames=WINDOW):
    """Has seen so many frames, and the rounds in the last one."""
    made = DeadlineController(0.1, margin=0.0)
    for _ in range(frames):
        made.saw_action(action)
    for rows, took in rounds:
        made.saw_round(rows, took)
    made.ran = 0
    return made


def test_without_a_deadline_everything_fits():
    assert DeadlineController(0.0).rows_that_fit(7, 99.0) == 7


def test_nothing_fits_before_an_action_was_measured():
    assert DeadlineController(0.1).rows_that_fit(4, 0.0) == 0


def test_the_first_round_ever_is_a_small_one_and_larger_ones_follow():
    made, sizes = controller(frames=1), []
    for _ in range(4):
        sizes.append(made.rows_that_fit(32, 0.0))
        made.saw_round(sizes[-1], 0.008 + 0.0002 * sizes[-1])
        made.saw_action(0.05)
    assert sizes[0] == 1 and sizes[1] > 1 and sizes[-1] == 32


def test_a_round_fits_while_the_next_action_part_still_does():
    made = controller([(8, 0.02), (1, 0.0195)])
    assert made.rows_that_fit(8, 0.029) == 8
    assert made.rows_that_fit(8, 0.031) == 0


def test_a_smaller_round_is_taken_where_the_whole_never_fits_and_it_is_worth_it():
    made = controller([(16, 0.04), (8, 0.022), (1, 0.01)])
    assert made.rows_that_fit(16, 0.009) == 16
    assert made.rows_that_fit(16, 0.027) == 8
    assert made.rows_that_fit(16, 0.051) == 0


def test_a_small_round_that_costs_nearly_as_much_as_the_whole_is_left_for_the_whole():
    made = controller([(16, 0.04), (8, 0.0395), (1, 0.035)])
    for _ in range(2):
        made.saw_action(0.061)  # were there such a delay again, 1 row would fit and 16 would not
    made.saw_round(16, 0.04)
    made.saw_action(0.05)
    sizes = [made.rows_that_fit(16, 0.0)]
    for _ in range(RETRY):
        made.saw_action(0.05)
        sizes.append(made.rows_that_fit(16, 0.0))
    assert sizes == [0] * (RETRY - 1) + [16] * 2


@pytest.mark.parametrize('quiet', [0, 3, 30, 300])
@pytest.mark.parametrize('stage', ['action', 'round', 'first round'])
def test_after_one_outlier_whole_rounds_are_back_within_fifty_frames(quiet, stage):
    made = DeadlineController(0.04)

    def frame(action=0.017, delay=0.0):
        made.saw_action(action)
        rows = made.rows_that_fit(32, 0.0)
        if rows:
            made.saw_round(rows, 0.002 + 0.0000625 * rows + delay)
        return rows

    if stage == 'first round':
        made.saw_action(0.017)
        made.saw_round(32, 0.2)
    for _ in range(quiet):
        frame()
    frame(**({'action': 0.037} if stage == 'action' else {'delay': 0.2} if stage == 'round' else {}))
    for _ in range(50):
        frame()
    assert [frame() for _ in range(10)] == [32] * 10


def test_a_time_of_heavy_load_is_forgotten_although_nothing_fitted_in_it():
    made = DeadlineController(0.04)
    made.saw_action(0.017)
    for rows in (1, 2, 4, 8, 16, 32):
        made.saw_round(rows, 0.2)
    sizes = []
    for _ in range(2 * WINDOW):
        made.saw_action(0.017)
        sizes.append(made.rows_that_fit(32, 0.0))
        if sizes[-1]:
            made.saw_round(sizes[-1], 0.002 + 0.0000625 * sizes[-1])
    assert sizes[0] == 0 and sizes[-1] == 32


def test_an_action_part_that_is_late_by_itself_keeps_no_language_back():
    made = controller([(16, 0.04)])
    for _ in range(FEW):
        made.saw_action(0.3)
    assert made.rows_that_fit(16, 0.0) == 16


def test_an_unmeasured_size_takes_at_most_in_proportion_to_a_smaller_one():
    made = controller([(4, 0.02)])
    assert made.rows_that_fit(16, 0.0) == 8


class Simulated:
    """Frames back to back on a fake clock; a stage is now and then delayed."""

    def __init__(self, seed, period_s, per_frame, tokens, slots=32):
        self.actions, self.rounds, self.period_s = Random(seed), Random(seed + 100), period_s
        self.controller = DeadlineController(period_s)
        self.per_frame, self.tokens, self.slots = per_frame, tokens, slots
        self.live, self.intervals, self.said, self.spent_s = [], [], 0, 0.0

    def action_s(self):
        luck = self.actions.random()
        return 0.045 if luck < 0.003 else 0.033 if luck < 0.013 else self.actions.uniform(0.0165, 0.0175)

    def round_s(self, rows):
        delay = 0.006 if self.rounds.random() < 0.01 else 0.0
        return (0.002 + 0.0000625 * rows) * self.rounds.uniform(0.95, 1.05) + delay

    def run(self, frames):
        since = 0.0
        for number in range(frames):
            action = self.action_s()
            self.intervals.append(since + action)
            self.controller.saw_action(action)
            self.live += [self.tokens] * min(self.per_frame, self.slots - len(self.live))
            since = 0.0
            while self.live and (rows := self.controller.rows_that_fit(len(self.live), since)):
                took = self.round_s(rows)
                self.controller.saw_round(rows, took)
                since += took
                self.said += rows
                self.live = [n - (i < rows) for i, n in enumerate(self.live) if n > (i < rows)]
            self.spent_s += since
        return self

    def misses(self):
        return sum(taken > self.period_s for taken in self.intervals)


def test_under_outliers_language_costs_no_deadline_and_runs_in_whole_rounds():
    frames, seeds = 2000, range(4)
    alone = [Simulated(seed, 1e9, 0, 1).run(frames) for seed in seeds]
    period = 1.2 * float(np.percentile(np.concatenate([x.intervals for x in alone]), 99))
    missed = sum((np.array(x.intervals) > period).sum() for x in alone)
    rates = {}
    for per_frame, tokens in ((1, 5), (1, 200), (4, 5), (4, 200)):
        loops = [Simulated(seed, period, per_frame, tokens).run(frames) for seed in seeds]
        assert sum(x.misses() for x in loops) <= missed + 2, (per_frame, tokens)  # both stages delayed at once
        said, spent = sum(x.said for x in loops), sum(x.spent_s for x in loops)
        if tokens == 200:  # always 32 live
            assert said / spent >= 0.9 * 32 / 0.004
            assert said >= 0.9 * 32 * frames * len(seeds)
        else:
            assert said >= 0.98 * per_frame * tokens * frames * len(seeds)  # nothing piled up
        rates[per_frame, tokens] = 1 / np.median([np.median(x.intervals) for x in loops])
    assert max(rates.values()) < 1.1 * min(rates.values())
