"""Promise: the headline's file has every figure that it is read for, and a frame is the sum of its stages."""
import json

import pytest

from oxygen_ros.__main__ import main
from oxygen_ros.bench import table
from oxygen_ros.bench.headline import predicted_ms
from oxygen_ros.bench.workload import Shapes

ALONE = {'vision': 1, 'prefill': 10, 'denoise': 100, 'decode_1': 1000, 'decode_4': 20000}


@pytest.mark.parametrize('mode, one_task, two_tasks', [
    ('reference', 20 + 100 + 5 * 1000, 30 + 100 + 10 * 1000),  # vision in its prefill; N forwards a text
    ('isolated', 22 + 100 + 5 * 1000, 33 + 100 + 10 * 1000),
    ('shared', 11 + 100 + 4 * 1000, 11 + 100 + 8 * 1000),  # the first token comes from the prefill
    ('oxygen', 11 + 100 + 20000, 11 + 100 + 20000),  # one round for all
])
def test_a_frame_is_the_sum_of_its_stages(mode, one_task, two_tasks):
    for per_frame, wanted in ((1, one_task), (2, two_tasks)):
        shapes = Shapes(tokens=5, per_frame=per_frame)
        assert predicted_ms(mode, ALONE.__getitem__, shapes, 4) == wanted
    captured = predicted_ms('oxygen', ALONE.__getitem__, Shapes(tokens=5), 4, vision_apart=False)
    assert captured == 10 + 100 + 20000


def test_headline_writes_the_promised_keys(tmp_path, capsys):
    path = tmp_path / 'bench.json'
    assert main(['bench', '--model', 'nano', '--rounds', '1', '--tokens', '5', '--threads', '1', '--dtype', 'float32',
                 '--no-memory', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert result == json.loads(capsys.readouterr().out)
    assert [result[key] for key in ('suite', 'model', 'dtype')] == ['headline', 'nano', 'float32'] and result['host']
    assert set(result['limits']) == {'gemm_gflops', 'bandwidth_gb_s'} and min(result['limits'].values()) > 0
    assert set(result['modes']) == {'reference', 'isolated', 'shared', 'oxygen'}
    for figures in result['modes'].values():
        for key in ('frame_ms', 'action_hz', 'chunks_per_s', 'tokens_per_s', 'chunk_ready_ms', 'ttft_ms',
                    'completion_ms'):
            assert figures[key] > 0 and figures[key + '_p99'] > 0
        assert figures['chunk_horizon'] == 10 and figures['predicted_frame_ms'] > 0
        assert figures['peak_bytes'] is None and figures['peak_bytes_missing'] == 'not measured: --no-memory'
        assert figures['action_hz'] == pytest.approx(1e4 / figures['frame_ms'], rel=0.5)
    assert result['modes']['oxygen']['live'] == 3
    stages = {'vision', 'prefill', 'denoise', 'decode_1', 'decode_4', 'decode_4_on_1', 'decode_round'}
    assert set(result['stages']) == stages
    for one in result['stages'].values():
        assert one['efficiency'] == pytest.approx(one['bound_ms'] / one['ms'])
        assert one['efficiency_p99'] == pytest.approx(one['bound_ms'] / one['ms_p99'])
        assert min(one.values()) > 0
    assert set(result['reference_stages']) == {'prefill', 'denoise', 'decode_1'}
    assert result['arguments'] == {
        'model': 'nano', 'suite': 'headline', 'device': 'cpu', 'dtype': 'float32', 'rounds': 1, 'threads': 1,
        'clock': 'wall', 'tokens': 5, 'views': 2, 'modes': ['reference', 'isolated', 'shared', 'oxygen'],
        'no_memory': True}
    assert len(table.modes(result).splitlines()) == 2 + 4 and len(table.stages(result).splitlines()) == 2 + 6


def test_headline_measures_memory_before_it_has_a_model_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr('oxygen_ros.bench.headline.memory_of', lambda options, mode: {'peak_bytes': len(mode)})
    path = tmp_path / 'bench.json'
    assert main(['bench', '--model', 'nano', '--rounds', '1', '--tokens', '2', '--threads', '1', '--dtype', 'float32',
                 '--modes', 'isolated', 'oxygen', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert [one['peak_bytes'] for one in result['modes'].values()] == [8, 6]
    assert 'reference_stages' not in result
    assert 'oxygen' in table.modes(result)  # without a reference to compare with
