"""Promise: memory is measured in a process of its own, on the device asked for, or there is a reason why not."""
import json
from types import SimpleNamespace

import pytest
import torch

from oxygen_ros.bench import memory as suite
from oxygen_ros.bench import table
from oxygen_ros.bench.bench import Options
from oxygen_ros.bench.held import GpuMemory, ProcessMemory, memory_meter
from oxygen_ros.bench.memory import memory, memory_of
from oxygen_ros.bench.workload import BenchProcessor, sized

PARTS = ('weight_bytes', 'table_bytes', 'pool_bytes', 'activation_bytes')


def check(found):
    assert found['peak_bytes'] > found['pool_bytes'] > 1e6 and found['weight_bytes'] > 4e6
    assert found['expected_bytes'] == sum(found[part] for part in PARTS)
    assert len(table.memory({'model': 'nano', 'dtype': 'float32', 'modes': {'oxygen': found}}).splitlines()) == 3


def test_memory_of_a_mode_is_measured_in_a_process_of_its_own():
    found = memory_of(Options('nano', 'float32', 'cpu', 1, 'wall'), 'oxygen')
    if found['peak_bytes'] is None:
        pytest.skip(found['peak_bytes_missing'])
    check(found)
    assert 0.8 < found['to_expected'] < 2  # a model this small is no more than what Python itself holds


@pytest.mark.skipif(not torch.cuda.is_available(), reason='needs a GPU: its memory in steady traffic')
def test_memory_of_a_mode_on_a_real_gpu():
    found = memory_of(Options('nano', 'float32', 'cuda', 1, 'wall'), 'oxygen')
    check(found)
    assert 0.8 < found['to_expected'] < 2


def test_a_gpu_s_memory_is_asked_of_the_device_in_use(monkeypatch):
    asked = []

    def of(name, value):
        monkeypatch.setattr(torch.cuda, name, lambda device: (asked.append((name, device)), value)[1])

    of('synchronize', None)
    of('memory_allocated', 10)
    of('max_memory_allocated', 30)
    of('reset_peak_memory_stats', None)
    meter = memory_meter('cuda:1')
    meter.reset_peak()
    assert isinstance(meter, GpuMemory) and (meter.held(), meter.peak()) == (10, 30)
    assert {device for _, device in asked} == {'cuda:1'}
    assert [name for name, _ in asked] == ['synchronize', 'reset_peak_memory_stats', 'synchronize', 'memory_allocated',
                                           'synchronize', 'max_memory_allocated']


class Meter(ProcessMemory):
    """Says what it is told to, and when it was asked."""

    def __init__(self, order, held, peak):
        self.order, self._held, self._peak = order, iter(held), peak

    def held(self):
        return next(self._held)

    def reset_peak(self):
        self.order.append('reset')

    def peak(self):
        return self._peak


@pytest.mark.parametrize('device, order', [('cpu', ['fill', 'reset', 'frame']), ('cuda', ['reset', 'fill', 'frame'])])
def test_a_peak_is_that_of_steady_frames_and_on_a_gpu_of_what_was_captured_for_them(monkeypatch, device, order):
    seen = []
    monkeypatch.setattr(suite, 'memory_meter', lambda device: Meter(seen, (100, 3000, 3500), 9000))
    options = Options('nano', 'float32', device, 1, 'wall', tokens=2)
    monkeypatch.setattr('oxygen_ros.bench.bench.Bench.reference', lambda self: SimpleNamespace(
        reference=SimpleNamespace(w={'one': torch.zeros(500)}), fill=lambda: seen.append('fill'),
        frame=lambda: seen.append('frame')))
    monkeypatch.setattr('oxygen_ros.bench.bench.Pi05.random', lambda *rest: None)
    found = suite.measure(options, 'reference')
    assert seen == order
    assert found['kept_bytes'] == 500 and found['weight_bytes'] == 2000
    pictures = BenchProcessor(sized('nano', options.shapes), options.shapes).bytes
    assert found['peak_bytes'] == 9000 - 100 - (pictures if device == 'cpu' else 0)


def test_the_process_measures_on_the_device_and_the_shapes_asked_for(monkeypatch):
    asked = []

    def done(command, **rest):
        asked.append(command[command.index('oxygen_ros.bench.memory') + 1:])
        peak = {'isolated': 100, 'oxygen': 150}.get(command[command.index('cuda:1') + 1], 300)
        return SimpleNamespace(returncode=0, stdout=json.dumps({'peak_bytes': peak}))

    monkeypatch.setattr(suite.subprocess, 'run', done)
    monkeypatch.setattr('oxygen_ros.bench.header.commit', lambda: '')
    monkeypatch.setattr('oxygen_ros.bench.header.host', lambda device: f'a machine with {device}')
    options = Options('pi05', 'bfloat16', 'cuda:1', 1, 'wall', 17, views=3, modes=('isolated', 'oxygen'))
    result = memory(options, lambda text: None)
    assert [words[:6] for words in asked] == [['pi05', 'bfloat16', 'cuda:1', mode, '17', '3']
                                              for mode in ('isolated', 'oxygen')]
    assert result['modes']['oxygen']['over_isolated'] == 1.5 and result['host'] == 'a machine with cuda:1'


def test_where_the_system_does_not_say_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(suite, 'memory_meter', lambda device: None)
    result = memory(Options('nano', 'float32', 'cpu', 1, 'wall'), lambda text: None)
    for one in result['modes'].values():
        assert one == {'peak_bytes': None, 'peak_bytes_missing': 'this system has no /proc/self/clear_refs'}
    assert len(table.memory(result).splitlines()) == 2
