"""Demonstration frames to training batches: the prompt as the processor writes it, texts to say, actions."""
import numpy as np
import torch

from oxygen_ros.model.training import TrainingBatch
from oxygen_ros.profile.normalise import normalise
from oxygen_ros.profile.prompt import state_bins, suffix_text
from oxygen_ros.sim.instructions import COLOURS, GOALS
from oxygen_ros.sim.questions import ask, BLOCK_HEIGHT_M, Facts, STEPS, subtask
from oxygen_ros.sim.view import CAMERA
from oxygen_ros.train.demonstrations import PHASES
from oxygen_ros.train.helpers import Helpers, Places

# Kinds of questions in training: more of those that are hard to learn than anybody asks.
SHARES = {'where': 0.32, 'closest': 0.24, 'leftmost': 0.14, 'rightmost': 0.12, 'doing': 0.08, 'did': 0.05,
          'holding': 0.05}
NUMBERS = 256


class Words:
    """Token ids of the pieces that stand for numbers, places and colours, each in order."""

    def __init__(self, tokenizer):
        self.numbers = tuple(tokenizer.encode(f' {i}')[0] for i in range(NUMBERS))
        self.places = tuple(tokenizer.encode(f'<loc{i:02d}>')[0] for i in range(STEPS))
        self.colours = tuple(tokenizer.encode(f' {colour}')[0] for colour in COLOURS)


class Batches:
    """
    Draws batches from Frames for one profile and tokenizer.

    `batch(random, rows)` gives a TrainingBatch; everything random comes from the numpy generator, so a step's batch is
    a function of its seed alone. A frame's prefix, the costly part, serves its subtask, the answers to `questions`
    questions and `draws` draws of the flow's noise and time.
    """

    def __init__(self, frames, profile, tokenizer, camera_noise=0.02, questions=2, draws=2):
        self.frames, self.profile, self.tokenizer = frames, profile, tokenizer
        self.camera_noise, self.questions, self.draws = camera_noise, questions, draws
        self.words = Words(tokenizer)
        right = torch.full((len(profile.actions),), 0.2)  # the left arm stands still
        right[7:14] = 1.0
        self.column_weight = right / right.mean()
        before, after = profile.prompt.split('{state}')
        self._tail = tokenizer.encode(after)
        # "State: 1 2" and the number pieces hold their own leading space.
        self._heads = {text: [tokenizer.bos_id, *tokenizer.encode(before.rstrip(' ').replace('{task}', text))]
                       for goal in GOALS for text in goal.phrases()}
        self._suffixes = dict(profile.language_suffix)
        self._texts = {}
        points = frames.blocks.reshape(-1, 3)
        self.shares = np.stack(CAMERA.project(points), -1).astype(np.float32).reshape(-1, len(COLOURS), 2)
        state = normalise(frames.state, profile.state_statistics, profile.normalisation, profile.normalisation_rule)
        self.bins = state_bins(state, profile.clip_state).clip(0, NUMBERS - 1)  # [N, J]
        self.actions = normalise(frames.actions, profile.action_statistics, profile.action_normalisation,
                                 profile.normalisation_rule).astype(np.float32)

    def __len__(self):
        return len(self.frames)

    def helpers(self, model):
        """The module that gives the helper losses of this data."""
        return Helpers(model, self.words.colours)

    def facts(self, row):
        """What is true in a frame."""
        frames = self.frames
        return Facts(dict(zip(COLOURS, frames.blocks[row])), frames.gripper[row], GOALS[frames.goal[row]],
                     PHASES[frames.phase[row]])

    def places_of(self, rows):
        """Where the blocks of these frames appear: Places."""
        names = [GOALS[goal].colour for goal in self.frames.goal[rows]]
        target = [COLOURS.index(name) if name else -1 for name in names]
        blocks, gripper = self.frames.blocks[rows], self.frames.gripper[rows]
        far = np.linalg.norm(blocks[..., :2] - gripper[:, None, :2], axis=-1)
        first = np.stack([blocks[..., 1].argmax(1), blocks[..., 1].argmin(1), far.argmin(1)], 1)
        below = np.concatenate([gripper[:, :2], np.full((len(rows), 1), BLOCK_HEIGHT_M, np.float32)], 1)
        below = torch.from_numpy(np.stack(CAMERA.project(below), -1).astype(np.float32))
        return Places(torch.from_numpy(self.shares[rows]), torch.tensor(target), torch.from_numpy(first), below)

    def tokens(self, text):
        if text not in self._texts:
            self._texts[text] = self.tokenizer.encode(text)
        return self._texts[text]

    def prompt(self, row, instruction):
        """Prompt tokens of a frame, as Processor.prompt gives them."""
        return self._heads[instruction] + [self.words.numbers[b] for b in self.bins[row]] + self._tail

    def subtask(self, row):
        """(suffix, reply) of what a frame's arm does."""
        return self._suffixes['subtask'], subtask(self.facts(row))

    def answer(self, question, reply):
        """(suffix, reply) of a question."""
        return suffix_text(self._suffixes['answer'], question), reply

    def say(self, random, row):
        """[(suffix, reply)] of a frame: its subtask, then answers."""
        facts = self.facts(row)
        return [self.subtask(row)] + [self.answer(*ask(random, facts, SHARES)) for _ in range(self.questions)]

    def batch(self, random, rows, texts=None):
        """
        TrainingBatch of these frames; `texts`, (instruction, [(suffix, reply)]) of each, replaces what would be drawn.
        """
        frames = self.frames
        if texts is None:
            texts = [(GOALS[frames.goal[row]].say(random), self.say(random, row)) for row in rows]
        prompts = [self.prompt(row, instruction) for row, (instruction, _) in zip(rows, texts)]
        replies = [[(self.tokens(suffix), [*self.tokens(reply), self.tokenizer.eos_id]) for suffix, reply in pairs]
                   for _, pairs in texts]
        return assemble(random, frames.images[rows][:, None], prompts, replies, self.actions[rows], self.camera_noise,
                        self.draws)


def assemble(random, images, prompts, replies, actions, camera_noise=0.0, draws=1):
    """
    TrainingBatch of `images uint8 [B, V, 3, S, S]`, prompts (token ids), replies ([(suffix, reply)] token ids of each)
    and normalised `actions float32 [B, H, D]`. All pictures of a sample get noise of a strength up to `camera_noise`.
    """
    prompt, prompt_mask = padded(prompts)
    answer, answer_mask = padded([[token for suffix, reply in said for token in suffix + reply] for said in replies])
    wanted = padded([[is_reply for suffix, reply in said for is_reply in [0] * len(suffix) + [1] * len(reply)]
                     for said in replies])[0].bool()
    part = padded([[part for part, (suffix, reply) in enumerate(said) for _ in suffix + reply] for said in replies])[0]
    part = part.cummax(1).values  # padding belongs to the last text
    pixels = images.astype(np.float32)
    if camera_noise:
        sigma = 255 * camera_noise * random.random((len(images), 1, 1, 1, 1), dtype=np.float32)
        pixels = pixels + random.standard_normal(pixels.shape, dtype=np.float32) * sigma
    pixels = torch.from_numpy(pixels / 127.5 - 1).clamp_(-1, 1)
    count = len(images) * draws
    time = torch.from_numpy(random.beta(1.5, 1.0, count).astype(np.float32)) * 0.999 + 0.001
    noise = torch.from_numpy(random.standard_normal((count, *actions.shape[1:]), dtype=np.float32))
    return TrainingBatch(pixels, torch.ones(images.shape[:2], dtype=torch.bool), prompt, prompt_mask, answer,
                         answer_mask, wanted, torch.from_numpy(actions), noise, time, part)


def padded(rows):
    """Lists of ids -> (int64 [B, longest], bool mask)."""
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row, dtype=torch.long)
        mask[i, :len(row)] = True
    return ids, mask
