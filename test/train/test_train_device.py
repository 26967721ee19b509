"""A training moves all that a step needs to its device, says when there is none, and goes on on another."""
import numpy as np
import pytest
from made_frames import made_frames
from safetensors.torch import load_file
import torch
from torch.fx.experimental import _config as shapes

from oxygen_ros.__main__ import main
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.model.pi05 import Pi05
from oxygen_ros.model.training import training_forward
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.tokenizer import find_tokenizer
from oxygen_ros.train.batches import Batches
from oxygen_ros.train.device import moved
from oxygen_ros.train.losses import losses
from oxygen_ros.train.run import Run, RunConfig
from oxygen_ros.train.validation import sample, validate, validation_batch


@pytest.fixture(scope='module')
def batches():
    return Batches(made_frames(), load_profile('aloha_sim'), find_tokenizer('nano'), draws=1)


def test_nothing_of_a_step_is_left_on_the_cpu(batches, monkeypatch):
    """On the meta device, which computes shapes alone and refuses to mix devices, as a GPU does."""
    monkeypatch.setattr(shapes, 'meta_nonzero_assume_all_nonzero', True)  # it has no values to pick by
    monkeypatch.setattr(torch.Tensor, '__bool__', lambda self: True)
    model = Pi05(CONFIGS['nano'], device='meta').requires_grad_(True)
    helpers = batches.helpers(model).to('meta')
    batch = moved(batches.batch(np.random.default_rng(0), np.arange(5)), 'meta')
    places = moved(batches.places_of(np.arange(5)), 'meta')
    output = training_forward(model, batch)
    total = losses(batch, output, batches.words.places, batches.column_weight).total + helpers(batch, output, places)
    total.backward()
    assert total.device.type == sample(model, batch, batch.noise).device.type == 'meta'
    with pytest.raises(RuntimeError, match='device'):
        losses(batch, output, batches.words.places, torch.ones(14)).total + torch.ones(2)  # it does refuse


@pytest.mark.parametrize('device, sentence', [('cuda', 'no CUDA GPU is usable'), ('gpu', "--device is cpu, cuda")])
def test_a_device_that_cannot_be_used_is_told_in_a_sentence(tmp_path, capsys, monkeypatch, device, sentence):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    assert main(['train', '--folder', str(tmp_path), '--device', device]) == 2
    assert sentence in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_on_the_cpu_nothing_is_copied(batches):
    batch = batches.batch(np.random.default_rng(0), np.arange(3))
    assert all(one is other for one, other in zip(vars(batch).values(), vars(moved(batch, 'cpu')).values()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a CUDA GPU')
def test_a_run_on_a_gpu_is_that_of_the_cpu_but_for_rounding_and_goes_on_there(batches, tmp_path):
    held_out = validation_batch(batches, 8)

    def run(name, device):
        return Run(tmp_path / name, CONFIGS['nano'], RunConfig(4), batches,
                   lambda model: vars(validate(model, batches, *held_out)), device=device)

    run('cpu', 'cpu').advance(4)
    run('gpu', 'cuda').advance(2)
    goes_on = run('gpu', 'cuda')
    assert goes_on.step == 2 and goes_on.model.embedding.device.type == 'cuda'
    goes_on.advance(1)
    run('gpu', 'cpu').advance(1)  # and on the CPU
    one, other = (load_file(tmp_path / name / 'model.safetensors') for name in ('cpu', 'gpu'))
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], rtol=1e-2, atol=1e-3)
