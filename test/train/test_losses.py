"""The losses of small inputs, computed by hand."""
from math import exp, log
from types import SimpleNamespace

import pytest
import torch

from oxygen_ros.train.losses import losses, place_targets

FIRST, COUNT = 2, 5  # of the location words among 8 words
PLACES = tuple(range(FIRST, FIRST + COUNT))


def case(answer, wanted, logits=None, text_loss=None, action_loss=None):
    """A batch of one row of words with what a model gave for them."""
    count = len(answer)
    batch = SimpleNamespace(answer=torch.tensor([answer]), answer_wanted=torch.tensor([wanted]))
    output = SimpleNamespace(
        logits=torch.zeros(1, count, 8) if logits is None else logits,
        text_loss=torch.zeros(1, count) if text_loss is None else torch.tensor([text_loss]),
        action_loss=torch.zeros(1, 2, 3) if action_loss is None else torch.tensor(action_loss))
    return batch, output


def test_the_flow_loss_is_a_mean_over_weighed_columns():
    batch, output = case([0], [True], action_loss=[[[1.0, 2.0, 4.0], [3.0, 0.0, 8.0]]])
    found = losses(batch, output, PLACES, torch.tensor([0.0, 1.0, 2.0]))
    assert found.flow.item() == pytest.approx((2 * 1 + 4 * 2 + 8 * 2) / 6)
    assert found.total.item() == pytest.approx(found.flow.item())  # nothing else is wrong


def test_the_word_loss_is_a_mean_over_wanted_words_that_are_no_places():
    batch, output = case([0, 1, 3, 7, 7], [False, True, True, True, False], text_loss=[9.0, 0.5, 100.0, 1.5, 9.0])
    found = losses(batch, output, PLACES, torch.ones(3))
    assert found.word.item() == pytest.approx((0.5 + 1.5) / 2)


def test_neighbours_of_a_place_are_partly_right():
    row = [exp(-0.5 * distance ** 2) for distance in (2, 1, 0, 1, 2)]
    assert place_targets(COUNT)[2].tolist() == pytest.approx([share / sum(row) for share in row])
    edge = [exp(-0.5 * distance ** 2) for distance in range(COUNT)]
    assert place_targets(COUNT)[0].tolist() == pytest.approx([share / sum(edge) for share in edge])


def test_the_place_loss_is_the_cross_entropy_to_the_neighbourhood_over_all_words():
    # The model is sure of the place right of the true one: its logit is 3, those of the seven other words 0.
    logits = torch.zeros(1, 3, 8)
    logits[0, 1, FIRST + 3] = 3.0
    batch, output = case([1, FIRST + 2, FIRST + 2], [True, True, False], logits=logits)
    found = losses(batch, output, PLACES, torch.ones(3))
    shares = [exp(-0.5 * distance ** 2) for distance in (2, 1, 0, 1, 2)]
    total = log(exp(3.0) + 7)
    assert found.place.item() == pytest.approx(total - 3.0 * shares[3] / sum(shares), rel=1e-5)
    far = logits.clone()
    far[0, 1] = far[0, 1].roll(-3)  # as sure of the first place, which is further away
    batch, output = case([1, FIRST + 2, FIRST + 2], [True, True, False], logits=far)
    assert losses(batch, output, PLACES, torch.ones(3)).place > found.place + 0.5


def test_each_loss_has_its_part_in_the_total():
    logits = torch.zeros(1, 2, 8)
    batch, output = case([FIRST, 0], [True, True], logits, [0.0, 2.0], [[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]])
    found = losses(batch, output, PLACES, torch.ones(3), place_weight=0.25, word_weight=0.5)
    assert found.place.item() == pytest.approx(log(8)) and found.word.item() == 2.0 and found.flow.item() == 3.0
    assert found.total.item() == pytest.approx(3.0 + 0.25 * log(8) + 0.5 * 2.0)
    assert losses(batch, output, PLACES, torch.ones(3)).total.item() == pytest.approx(3.0 + 0.4 * log(8) + 0.5 * 2.0)


def test_a_batch_that_names_no_place_has_no_place_loss():
    batch, output = case([0, 1], [True, True], text_loss=[1.0, 3.0])
    found = losses(batch, output, PLACES, torch.ones(3))
    assert found.place.item() == 0.0 and found.total.item() == pytest.approx(0.5 * 2.0)
