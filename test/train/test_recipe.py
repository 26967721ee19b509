"""The stages of the training run: what is recorded when and driven by which weights; a stop changes nothing."""
import csv
from pathlib import Path

from made_frames import made_frames
import numpy as np
import pytest
from safetensors.torch import load_file
import torch

from oxygen_ros.train import recipe
from oxygen_ros.train.demonstrations import CORRECTION_SHARD, shard_path, VALIDATION_SHARD
from oxygen_ros.train.recipe import Recipe, RECIPE, Stage

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'nano'
STAGES = (Stage(until=2, demonstrations=1), Stage(until=3, demonstrations=2),
          Stage(until=5, demonstrations=2, corrections=1, times=2))


class FakeRecorder:
    """Stands in for multiprocessing and its processes: writes made-up shards, notes what was wanted."""

    exitcode = 0

    def __init__(self, log):
        self.log = log

    def get_context(self, method):
        return self

    def Process(self, target, args):
        data, indices, weights, *_ = args
        self.log.append((indices, None if weights is None else weights.name))
        assert weights is None or weights.is_file()
        data.mkdir(parents=True, exist_ok=True)
        for index in indices:
            np.savez_compressed(shard_path(data, index), **vars(made_frames(4, index)))
        return self

    def start(self):
        pass

    def join(self):
        pass


@pytest.fixture
def recorded(monkeypatch):
    log = []
    monkeypatch.setattr(recipe, 'multiprocessing', FakeRecorder(log))
    torch.set_num_threads(1)
    return log


def weights(folder):
    return torch.cat([tensor.flatten() for _, tensor in sorted(load_file(folder / 'model.safetensors').items())])


def test_a_stage_records_for_the_next_one_with_the_weights_it_began_with(tmp_path, recorded):
    Recipe(tmp_path, STAGES, processes=1).go()
    assert recorded == [([VALIDATION_SHARD, 0], None), ([1], None), ([CORRECTION_SHARD], 'weights_2.safetensors')]
    assert sorted(path.name for path in tmp_path.glob('weights_*')) == [
        'weights_2.safetensors', 'weights_3.safetensors', 'weights_5.safetensors']
    exact, rounded = (load_file(tmp_path / f'{name}.safetensors') for name in ('model', 'nano'))
    assert all(torch.equal(tensor.bfloat16(), rounded[name]) for name, tensor in exact.items())


def test_a_run_that_was_stopped_and_went_on_is_the_same_run(tmp_path, recorded):
    Recipe(tmp_path / 'whole', STAGES, processes=1).go()
    for stop_at in (1, 3, 4, None):
        Recipe(tmp_path / 'parts', STAGES, processes=1).go(stop_at)
    Recipe(tmp_path / 'other', STAGES, seed=1, processes=1).go()
    assert torch.equal(weights(tmp_path / 'whole'), weights(tmp_path / 'parts'))
    assert not torch.equal(weights(tmp_path / 'whole'), weights(tmp_path / 'other'))
    with (tmp_path / 'parts' / 'curves.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row['step']) for row in rows] == [1, 2, 3, 4, 5]


def test_a_recording_process_that_failed_ends_the_run(tmp_path, recorded, monkeypatch):
    monkeypatch.setattr(FakeRecorder, 'exitcode', 1)
    with pytest.raises(RuntimeError, match='ended with 1'):
        Recipe(tmp_path, STAGES, processes=1).go()


def test_the_curves_that_are_shown_are_of_the_whole_recipe():
    with (PAGE / 'curves.csv').open() as file:
        steps = [int(row['step']) for row in csv.DictReader(file)]
    assert steps[-1] == RECIPE[-1].until and {stage.until for stage in RECIPE} <= set(steps)
