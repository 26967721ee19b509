"""
The nano model from the seed, as a table of stages.

A stage trains on what was recorded before it. Meanwhile a process beside it records what the next one wants:
demonstrations, or corrections of the mistakes that the weights make which the stage began with.
"""
from dataclasses import dataclass
import multiprocessing
from pathlib import Path
import shutil

from safetensors.torch import save_file
from tqdm import tqdm

from oxygen_ros.model import tensors
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.tokenizer import find_tokenizer
from oxygen_ros.rollout.policy import driver, nano_engine
from oxygen_ros.train.batches import Batches
from oxygen_ros.train.demonstrations import CORRECTION_SHARD, load, record, shard_path, VALIDATION_SHARD
from oxygen_ros.train.run import Run, RunConfig
from oxygen_ros.train.validation import validate, validation_batch


@dataclass(frozen=True)
class Stage:
    """Train until step `until` on that many shards of demonstrations and of corrections, these counted `times`."""

    until: int
    demonstrations: int
    corrections: int = 0
    times: int = 1

    def shards(self):
        """Indices of the shards it trains on, each once."""
        return [*range(self.demonstrations), *range(CORRECTION_SHARD, CORRECTION_SHARD + self.corrections)]


RECIPE = (
    Stage(until=2000, demonstrations=12),
    Stage(until=3000, demonstrations=28),
    Stage(until=4200, demonstrations=28, corrections=8, times=2),
    Stage(until=6000, demonstrations=28, corrections=16, times=2),
    Stage(until=9000, demonstrations=28, corrections=26, times=2),
)
DECAY_SHARE = 0.4  # of all steps, at the end


class Recipe:
    """A folder in which the stages are run, each going on from where it was stopped."""

    def __init__(self, folder, stages=RECIPE, seed=0, processes=2, profile='aloha_sim', model='nano',
                 device='cpu'):
        self.folder, self.data, self.stages = Path(folder), Path(folder) / 'data', stages
        self.profile, self.tokenizer, self.model_config = profile, find_tokenizer(model), CONFIGS[model]
        self.device = device
        self.config, self.processes = RunConfig(stages[-1].until, seed=seed, decay_share=DECAY_SHARE), processes

    def weights(self, stage):
        """The file of the weights that a stage ended with."""
        return self.folder / f'weights_{stage.until}.safetensors'

    def go(self, stop_at=None):
        """All stages, or until step `stop_at`; returns the Run."""
        finish(self._recorders(0, self.processes, [VALIDATION_SHARD]))
        held_out = self._batches([VALIDATION_SHARD], camera_noise=0, draws=1)
        held_out_batch = validation_batch(held_out, 300)
        run = None
        with tqdm(total=stop_at or self.config.steps, desc='training', unit='step') as bar:
            for number, stage in enumerate(self.stages):
                finish(self._recorders(number, self.processes))
                corrections = [index for index in stage.shards() if index >= CORRECTION_SHARD]
                batches = self._batches(stage.shards() + corrections * (stage.times - 1))
                if run is None:
                    run = Run(self.folder, self.model_config, self.config, batches,
                              lambda model: vars(validate(model, held_out, *held_out_batch)),
                              device=self.device)
                    bar.initial = bar.n = run.step
                run.batches = batches
                end = min(stage.until, stop_at or stage.until)
                beside = self._recorders(number + 1, 1) if run.step < end else []
                try:
                    run.advance(max(0, end - run.step), bar=bar)
                finally:
                    finish(beside)
                if run.step == stage.until and not self.weights(stage).exists():
                    shutil.copyfile(self.folder / 'model.safetensors', self.weights(stage))
                if end < stage.until:
                    return run
        # The file that the package ships: the float32 weights of the last stage, rounded.
        save_file({name: tensor.bfloat16() for name, tensor in tensors.save_pairs(run.mean)},
                  self.folder / 'nano.safetensors')
        return run

    def _batches(self, shards, **options):
        return Batches(load(self.data, shards), load_profile(self.profile), self.tokenizer, **options)

    def _recorders(self, number, processes, more=()):
        """Processes that write the shards which a stage wants and which are not there yet."""
        if number >= len(self.stages):
            return []
        weights = self.weights(self.stages[number - 2]) if number >= 2 else None
        missing = [index for index in (*more, *self.stages[number].shards())
                   if not shard_path(self.data, index).exists()]
        context = multiprocessing.get_context('spawn')
        started = [context.Process(target=record_part, args=(self.data, part, weights, self.profile, self.model_config))
                   for part in (missing[i::processes] for i in range(processes)) if part]
        for process in started:
            process.start()
        return started


def record_part(data, indices, weights, profile, model_config):
    """Write these shards; corrections are driven by `weights`."""
    driven = [index for index in indices if index >= CORRECTION_SHARD and index != VALIDATION_SHARD]
    loaded = load_profile(profile)
    sizes = (model_config.image_size, loaded.chunk_horizon, loaded.dt_s)
    record(data, [index for index in indices if index not in driven], *sizes)
    if driven:
        record(data, driven, *sizes, driver=driver(nano_engine(weights, profile=profile, slots=1)))


def finish(processes):
    """Wait for recording processes; one that failed ends the run."""
    for process in processes:
        process.join()
    failed = [process.exitcode for process in processes if process.exitcode]
    if failed:
        raise RuntimeError(f'a process that records demonstrations ended with {failed[0]}; its error is above')
