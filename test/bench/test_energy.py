"""Promise: joules are those of the device that was measured, or there are none."""
import sys
from types import SimpleNamespace

import pytest
import torch

from oxygen_ros.bench.energy import Energy


def test_energy_adds_up_over_packages_and_wraps(tmp_path):
    for number, first in enumerate((100, 990)):
        package = tmp_path / f'intel-rapl:{number}'
        package.mkdir()
        (package / 'max_energy_range_uj').write_text('1000')
        (package / 'energy_uj').write_text(str(first))
    energy = Energy('cpu', tmp_path)
    (tmp_path / 'intel-rapl:0' / 'energy_uj').write_text('150')
    (tmp_path / 'intel-rapl:1' / 'energy_uj').write_text('20')
    assert energy.joules() == pytest.approx(80e-6)
    (tmp_path / 'intel-rapl:1' / 'energy_uj').unlink()
    assert energy.joules() is None
    assert Energy('cpu', tmp_path / 'none').joules() is None


@pytest.mark.parametrize('device, spent', [('cuda:1', 7.0), ('cuda', 3.0)])
def test_the_counter_is_that_of_the_gpu_in_use_whatever_its_number_for_the_driver(monkeypatch, device, spent):
    counters = {'GPU-zero': 3000, 'GPU-one': 7000}
    shown = {'cuda': 'zero', 'cuda:0': 'zero', 'cuda:1': 'one'}
    monkeypatch.setitem(sys.modules, 'pynvml', SimpleNamespace(
        nvmlInit=lambda: None, nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetTotalEnergyConsumption=counters.__getitem__))
    monkeypatch.setattr(torch.cuda, 'get_device_properties', lambda which: SimpleNamespace(uuid=shown[which]))
    assert Energy(device).joules() == spent


def test_a_gpu_without_a_counter_has_no_joules(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'pynvml', None)  # not installed
    assert Energy('cuda:0', tmp_path).joules() is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU: its counter goes up')
def test_the_counter_of_a_real_gpu_goes_up():
    energy = Energy('cuda:0')
    first = energy.joules()
    if first is None:
        pytest.skip('this GPU or its driver counts no joules, or nvidia-ml-py is missing')
    x = torch.randn(4096, 4096, device='cuda:0')
    for _ in range(200):
        x @ x
    torch.cuda.synchronize()
    assert energy.joules() > first
