"""One training run, resumable: a step depends on the seed and its number only."""
import csv
from dataclasses import asdict, dataclass
import json
from pathlib import Path
import time

import numpy as np
from safetensors.torch import save_file
import torch

from oxygen_ros.model import tensors
from oxygen_ros.model.training import training_forward
from oxygen_ros.train.device import moved
from oxygen_ros.train.initial import fresh
from oxygen_ros.train.losses import losses


@dataclass(frozen=True)
class RunConfig:
    """
    What a run is. The rate stands still until the last `decay_share` of `steps`, so that a run can be made longer while
    it stands still without having been another run until then.
    """

    steps: int
    batch: int = 32
    rate: float = 1e-3
    last_rate_share: float = 0.02
    warm_up: int = 200
    decay: float = 0.02  # of matrices
    decay_share: float = 0.25
    clip: float = 1.0
    average: float = 0.998  # of the weights kept for use
    seed: int = 0
    help: float = 1.0  # weight of the helpers' loss

    def rate_at(self, step):
        """Learning rate: linear warm-up, level, linear decay."""
        left = min(1.0, max(0.0, 1 - step / self.steps) / self.decay_share)
        return self.rate * min(1.0, (step + 1) / self.warm_up) * max(left, self.last_rate_share)


class Run:
    """
    Model, its running average, optimiser and log in a folder; `advance` goes on from where the folder stands.

    `batches` (Batches or RecordedBatches) draws what is trained on; `measure(model)` gives the columns of the log that
    tell how good the averaged weights are; `begin_with` are (name, tensor) pairs of weights to begin with. What is
    random is drawn on the CPU for every `device`, and a run that was stopped on one goes on on another.
    """

    def __init__(self, folder, model_config, config, batches, measure, begin_with=None, device='cpu'):
        self.folder, self.config = Path(folder), config
        self.folder.mkdir(parents=True, exist_ok=True)
        self.batches, self.measure = batches, measure
        self.model = fresh(model_config, config.seed, batches.words).to_device(device)
        if begin_with is not None:
            self.model.load_tensors(begin_with)
        self.model.requires_grad_(True)
        torch.manual_seed(config.seed)
        self.helpers = batches.helpers(self.model)
        if self.helpers:
            self.helpers.to(device)
        learned = [*self.model.parameters(), *(self.helpers.parameters() if self.helpers else ())]
        matrices = [p for p in learned if p.dim() > 1]
        others = [p for p in learned if p.dim() <= 1]
        self.optimiser = torch.optim.AdamW([{'params': matrices, 'weight_decay': config.decay},
                                            {'params': others, 'weight_decay': 0.0}], betas=(0.9, 0.98), fused=True)
        self.mean = fresh(model_config, config.seed, batches.words).to_device(device)
        self.mean.load_state_dict(self.model.state_dict())
        self.mean.requires_grad_(False)
        self.step, self.elapsed_s = 0, 0.0
        self._resume()

    @property
    def _state_path(self):
        return self.folder / 'state.pt'

    def _resume(self):
        (self.folder / 'config.json').write_text(json.dumps(asdict(self.config), indent=1) + '\n')
        if not self._state_path.exists():
            return
        state = torch.load(self._state_path, weights_only=True, map_location='cpu')
        self.model.load_state_dict(state['model'])
        if self.helpers:
            self.helpers.load_state_dict(state['helpers'])
        self.mean.load_state_dict(state['mean'])
        self.optimiser.load_state_dict(state['optimiser'])
        self.step, self.elapsed_s = state['step'], state['elapsed_s']

    def save(self):
        """State to go on from, and the averaged weights under their canonical names."""
        partial = self.folder / '.state.pt'
        torch.save({'model': self.model.state_dict(), 'helpers': self.helpers.state_dict() if self.helpers else {},
                    'mean': self.mean.state_dict(), 'optimiser': self.optimiser.state_dict(), 'step': self.step,
                    'elapsed_s': self.elapsed_s}, partial)
        partial.rename(self._state_path)
        partial = self.folder / '.model.safetensors'
        save_file(dict(tensors.save_pairs(self.mean)), partial)
        partial.rename(self.folder / 'model.safetensors')

    def advance(self, steps, validate_each=500, bar=None):
        """Up to `steps` more steps; writes curves.csv and the state at each validation and at the end."""
        end = min(self.step + steps, self.config.steps)
        seen, began = [], time.monotonic()
        while self.step < end:
            now = self._one()
            seen.append([now.flow.item(), now.place.item(), now.word.item()])
            self.step += 1
            if bar is not None:
                bar.update(1)
            if self.step % validate_each == 0 or self.step == end:
                self.elapsed_s += time.monotonic() - began
                self._log(np.mean(seen, 0))
                self.save()
                seen, began = [], time.monotonic()

    def _one(self):
        config = self.config
        random = np.random.default_rng([config.seed, self.step])
        rows = random.integers(0, len(self.batches), config.batch)
        device = self.model.device
        batch = moved(self.batches.batch(random, rows), device)
        for group in self.optimiser.param_groups:
            group['lr'] = config.rate_at(self.step)
        output = training_forward(self.model, batch, text_rows_only=True)
        now = losses(batch, output, self.batches.words.places, self.batches.column_weight)
        helped = 0.0
        if self.helpers:
            helped = config.help * self.helpers(batch, output, moved(self.batches.places_of(rows), device))
        self.optimiser.zero_grad()
        (now.total + helped).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip, foreach=True)
        self.optimiser.step()
        keep = min(config.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.mean.parameters()), list(self.model.parameters()), 1 - keep)
        return now

    def _log(self, seen):
        row = {'step': self.step, 'samples': self.step * self.config.batch,
               **dict(zip(('flow', 'place', 'word'), seen)), **self.measure(self.mean),
               'rate': self.config.rate_at(self.step), 'elapsed_s': self.elapsed_s}
        path = self.folder / 'curves.csv'
        new = not path.exists()
        with path.open('a', newline='') as file:
            writer = csv.DictWriter(file, row)
            if new:
                writer.writeheader()
            writer.writerow({name: value if isinstance(value, int) else f'{value:.5g}' for name, value in row.items()})
