"""The two losses of pi0.5, trained together: the flow's velocity and the next token."""
from dataclasses import dataclass

import torch

PLACE_WIDTH = 1.0  # location words around the true one are partly right: standard deviation in steps


@dataclass(frozen=True)
class Losses:
    """Scalars: `flow` mean squared error of the velocity, `place` and `word` cross-entropy a location word or other."""

    total: torch.Tensor
    flow: torch.Tensor
    place: torch.Tensor
    word: torch.Tensor


def place_targets(count):
    """`[count, count]`: row i is the wanted distribution over location words where word i is true."""
    step = torch.arange(count, dtype=torch.float32)
    return torch.softmax(-0.5 * ((step[:, None] - step) / PLACE_WIDTH) ** 2, 1)


def losses(batch, output, places, column_weight, place_weight=0.4, word_weight=0.5):
    """
    Losses of a TrainingOutput; `places` are the ids of the location words, in order and without gaps.

    `column_weight [D]` weighs the action columns, mean 1.
    """
    device = output.action_loss.device
    flow = (output.action_loss * column_weight.to(device)).mean()
    first, count = places[0], len(places)
    is_place = batch.answer_wanted & (batch.answer >= first) & (batch.answer < first + count)
    is_word = batch.answer_wanted & ~is_place
    logits = output.logits[is_place].float()
    target = place_targets(count).to(device)[batch.answer[is_place] - first]
    place = -(target * torch.log_softmax(logits, -1)[:, first:first + count]).sum(-1).mean()
    place = torch.nan_to_num(place)  # a batch without any
    word = output.text_loss[is_word].mean()
    return Losses(flow + place_weight * place + word_weight * word, flow, place, word)
