"""Train the nano model further on a user's Recording: flow matching and next token, with a profile of the data."""
from types import SimpleNamespace

import numpy as np
import torch
import yaml

from oxygen_ros.profile.load import parse_profile, profile_path, read_yaml
from oxygen_ros.profile.processor import Processor
from oxygen_ros.train.batches import assemble, Words
from oxygen_ros.train.device import moved
from oxygen_ros.train.losses import losses
from oxygen_ros.train.run import Run
from oxygen_ros.train.validation import parts, sample
from oxygen_ros.model.training import training_forward

HELD_OUT = 10  # every tenth episode only measures
MOST_MEASURED = 200


class RecordedBatches:
    """Draws batches from a Recording: the instruction in the prompt, what is said and the commands as targets."""

    def __init__(self, recording, profile, tokenizer, model_config, camera_noise=0.02, draws=2):
        self.recording, self.camera_noise, self.draws = recording, camera_noise, draws
        self.words, self.eos_id, self.tokenizer = Words(tokenizer), tokenizer.eos_id, tokenizer
        self.processor = Processor(profile, tokenizer, model_config.image_size, model_config.action_dim,
                                   model_config.vocabulary)
        self.suffix = dict(profile.language_suffix).get('subtask', '')
        joints = len(recording.joints)
        self.column_weight = torch.zeros(model_config.action_dim)
        self.column_weight[:joints] = model_config.action_dim / joints
        self.actions = np.zeros((*recording.actions.shape[:2], model_config.action_dim), np.float32)
        for row in range(len(recording)):
            self.actions[row, :, :joints] = self.processor.model_actions(
                recording.actions[row].astype(np.float64), SimpleNamespace(state=self._state(row)))

    def __len__(self):
        return len(self.recording)

    def helpers(self, model):
        """None: where things are is not known here."""
        return None

    def _state(self, row):
        return self.recording.state[row].astype(np.float64)

    def batch(self, random, rows):
        """TrainingBatch of these frames."""
        texts = self.recording.texts
        prompts = [list(self.processor.prompt(texts[self.recording.task[row]], self._state(row))[0].tokens)
                   for row in rows]
        suffix = self.tokenizer.encode(self.suffix)
        replies = [[(suffix, [*self.tokenizer.encode(texts[self.recording.said[row]]), self.eos_id])] for row in rows]
        return assemble(random, self.recording.images[rows], prompts, replies, self.actions[rows], self.camera_noise,
                        self.draws)


@torch.no_grad()
def measure(model, batches):
    """{column: value}: flow loss, mean error of sampled actions in robot units, share of words that are right."""
    rows = np.unique(np.linspace(0, len(batches) - 1, MOST_MEASURED).astype(int))
    joints = len(batches.recording.joints)
    std = np.asarray(batches.processor.profile.action_statistics.std)
    flow, off, words = [], [], []
    for batch in parts(batches.batch(np.random.default_rng(1), rows), 50):
        batch = moved(batch, model.device)
        output = training_forward(model, batch)
        flow.append(losses(batch, output, batches.words.places, batches.column_weight).flow.item())
        error = (sample(model, batch, batch.noise) - batch.actions).abs()[..., :joints].cpu().numpy() * std[:joints]
        off.append(error.mean())
        right = output.logits.argmax(-1) == batch.answer
        words.append(right[batch.answer_wanted].float().mean().item())
    return {'val_flow': float(np.mean(flow)), 'val_action_error': float(np.mean(off)),
            'val_word_accuracy': float(np.mean(words))}


def write_profile(recording, base, path):
    """Write the profile of a Recording as YAML, based on the profile `base`; returns it as a Profile."""
    table = recording.profile(read_yaml(profile_path(base)))
    profile = parse_profile(table, path.stem)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('# Written by `oxygen_ros train --data`: names and statistics are those of the data.\n'
                    + yaml.safe_dump(table, sort_keys=False, default_flow_style=None, width=120))
    return profile


def fine_tune(folder, recording, base, tokenizer, model_config, config, begin_with,
              device='cpu'):
    """The Run of a Recording in a folder; it writes `profile.yaml` beside the weights."""
    profile = write_profile(recording, base, folder / 'profile.yaml')
    held_out = recording.episode % HELD_OUT == HELD_OUT - 1
    if not held_out.any():
        held_out = recording.episode == recording.episode.max()  # a look at what was trained on, where data is short
    trained = ~held_out if recording.episode.max() >= HELD_OUT - 1 else np.ones(len(recording), bool)
    parts_of = [RecordedBatches(recording.rows(wanted), profile, tokenizer, model_config, noise, draws)
                for wanted, noise, draws in ((trained, 0.02, 2), (held_out, 0.0, 1))]
    return Run(folder, model_config, config, parts_of[0], lambda model: measure(model, parts_of[1]), begin_with,
               device)
