"""How well a model does on frames it was not trained on: text names places in mm, actions in rad."""
from dataclasses import dataclass, replace

import numpy as np
import torch

from oxygen_ros.model.training import TrainingBatch, training_forward
from oxygen_ros.sim.instructions import GOALS
from oxygen_ros.sim.questions import answer, appears_at, place_of, QUESTIONS, STEPS
from oxygen_ros.train.device import moved
from oxygen_ros.train.losses import losses

EULER_STEPS = 10
ASKED = ('closest', 'leftmost', 'rightmost')


@dataclass(frozen=True)
class Validation:
    """
    `val_flow` loss; `val_joint_rad` mean error of the right arm's sampled actions; `val_place_mm` median distance of
    the named block from where its location words say it is, all frames and (`val_place_start_mm`) first frames of
    episodes; `val_word_accuracy` of the other words, each given the true ones before it; `val_answers` share of right
    ones to ASKED.
    """

    val_flow: float
    val_joint_rad: float
    val_place_mm: float
    val_place_start_mm: float
    val_word_accuracy: float
    val_answers: float


def validation_batch(batches, count, seed=1):
    """(TrainingBatch, rows) of first frames and of more in between; each says its subtask and answers ASKED."""
    episode = batches.frames.episode
    begins = np.flatnonzero(np.diff(episode, prepend=-1))[:count // 2]
    rows = np.union1d(begins, np.linspace(0, len(episode) - 1, count - len(begins)).astype(int))
    random = np.random.default_rng(seed)
    texts = []
    for row in rows:
        facts = batches.facts(row)
        answers = [batches.answer(QUESTIONS[kind][0], answer(kind, '', facts)) for kind in ASKED]
        texts.append((GOALS[batches.frames.goal[row]].phrases()[0], [batches.subtask(row), *answers]))
    return batches.batch(random, rows, texts), rows


def parts(batch, size):
    """The batch cut into smaller ones."""
    for start in range(0, len(batch.prompt), size):
        yield TrainingBatch(**{name: value[start:start + size] for name, value in vars(batch).items()})


def without_text(batch):
    """The batch with nothing to say."""
    names = ('answer', 'answer_mask', 'answer_wanted', 'answer_part')
    return replace(batch, **{name: getattr(batch, name)[:, :0] for name in names})


@torch.no_grad()
def sample(model, batch, noise, steps=EULER_STEPS):
    """Normalised actions [B, H, D] by the same batched functions as in training."""
    actions, batch = noise, without_text(batch)
    for step in range(steps):
        time = torch.full((len(noise),), 1 - step / steps, device=noise.device)
        # the forward builds x_t = t * noise + (1 - t) * actions: any pair that gives the current point will do
        now = replace(batch, noise=actions, actions=actions, time=time)
        actions = actions - training_forward(model, now).velocity / steps
    return actions


@torch.no_grad()
def validate(model, batches, whole, rows):
    """The Validation of a model on Batches, with the TrainingBatch and rows that validation_batch made of them."""
    flow, wrong, miss, begins, words, answers = [], [], [], [], [], []
    at = 0
    episodes = batches.frames.episode
    std = np.asarray(batches.profile.action_statistics.std)
    for batch in parts(whole, 50):
        there = moved(batch, model.device)
        output = training_forward(model, there)
        flow.append(losses(there, output, batches.words.places, batches.column_weight).flow.item())
        off = (sample(model, there, there.noise) - there.actions).abs().cpu().numpy() * std
        wrong.append(off[:, :, 7:13].mean())
        guess = output.logits.argmax(-1).cpu()
        first = batches.words.places[0]
        for i in range(len(batch.prompt)):
            row = rows[at + i]
            facts = batches.facts(row)
            correct, part = guess[i] == batch.answer[i], batch.answer_part[i]
            for asked in range(1, len(ASKED) + 1):
                answers.append(bool(correct[batch.answer_wanted[i] & (part == asked)].all()))
            first_text = batch.answer_wanted[i] & (part == 0)
            reply, said = batch.answer[i][first_text], guess[i][first_text]
            is_place = (reply >= first) & (reply < first + STEPS)
            words.append((said == reply)[~is_place].float().mean().item())
            if not facts.goal.colour:
                continue
            place = place_of(batches.tokenizer.decode(said[is_place].tolist()))
            true = appears_at(facts.blocks[facts.goal.colour])
            miss.append(250.0 if place is None else 1e3 * np.linalg.norm(place - true))
            begins.append(row == 0 or episodes[row] != episodes[row - 1])
        at += len(batch.prompt)
    miss, begins = np.array(miss), np.array(begins)
    return Validation(float(np.mean(flow)), float(np.mean(wrong)), float(np.median(miss)),
                      float(np.median(miss[begins])) if begins.any() else float('nan'), float(np.mean(words)),
                      float(np.mean(answers)))
