"""The benchmark's own arithmetic, and that every suite runs and gives the keys it promises."""
import json

import pytest
import torch

from oxygen_ros.__main__ import main
from oxygen_ros.bench import cost
from oxygen_ros.bench.bench import Options
from oxygen_ros.bench.drafting import Answers
from oxygen_ros.bench.memory import peak_bytes
from oxygen_ros.bench.plot import plot_scaling
from oxygen_ros.bench.reference import Reference
from oxygen_ros.bench.workload import BenchProcessor, Shapes, observation, sized
from oxygen_ros.engine.noise import action_noise
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.model.pi05 import Pi05


@torch.inference_mode()
def test_reference_gives_the_same_actions_and_tokens_as_the_model():
    torch.set_num_threads(1)
    shapes = Shapes(prompt=7, padded_prompt=12)
    config = sized('nano', shapes)
    model, processor = Pi05.random(config, 1), BenchProcessor(config, shapes)
    reference, noise = Reference(model), action_noise(0, 0, config.horizon, config.action_dim)
    padded = [torch.from_numpy(x) for x in processor.padded(1)]
    inputs = processor.inputs(observation(1))
    kv = torch.zeros(config.depth, 2, 128, config.head_dim)
    hidden = model.prefill(model.embed_images(torch.from_numpy(inputs.images)),
                           torch.from_numpy(inputs.prompt_tokens), kv)
    actions = model.denoise(noise, kv, 2 * config.image_tokens + 7, model.prepare(10))
    assert (reference.actions(*padded, noise, 10) - actions).abs().max() < 1e-4
    assert reference.text(*padded, 1) == [int(model.logits(hidden).argmax())]


def test_counted_work_of_the_full_size_is_that_of_the_published_figures():
    c = CONFIGS['pi05']
    assert cost.vision(c, 3, 2).flop == pytest.approx(0.661e12, rel=0.01)
    assert cost.prefill(c, 868, 2).flop == pytest.approx(3.552e12 * 0.945, rel=0.01)
    assert cost.decode(c, 30, 868, 30, 2).bytes == pytest.approx(5.513e9, rel=0.01)
    assert cost.decode(c, 30, 868, 30, 2, prefixes=1).bytes == pytest.approx(5.05e9, rel=0.01)


def test_headline_writes_the_promised_keys(tmp_path, capsys):
    path = tmp_path / 'bench.json'
    assert main(['bench', '--model', 'nano', '--rounds', '1', '--tokens', '5', '--threads', '1', '--dtype', 'float32',
                 '--no-memory', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert result == json.loads(capsys.readouterr().out)
    assert {'suite', 'model', 'dtype', 'host', 'limits', 'modes', 'stages'} <= set(result)
    for mode in ('reference', 'isolated', 'shared', 'oxygen'):
        figures = result['modes'][mode]
        for key in ('frame_ms', 'action_hz', 'tokens_per_s', 'chunk_ready_ms'):
            assert figures[key] > 0 and key + '_p99' in figures
        assert figures['chunk_horizon'] == 10
        assert figures['action_hz'] == pytest.approx(1e4 / figures['frame_ms'], rel=0.5)
    assert result['modes']['oxygen']['live'] == 3
    for stage in ('vision', 'prefill', 'denoise', 'decode_round'):
        assert {'ms', 'ms_p99', 'bound_ms', 'efficiency'} <= set(result['stages'][stage])


def test_wrong_arguments_get_one_line(tmp_path, capsys):
    assert main(['bench', '--json', str(tmp_path / 'no' / 'file.json')]) == 2
    assert 'its folder does not exist' in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert main(['bench', '--device', 'cuda']) == 1
        assert 'no CUDA GPU is usable' in capsys.readouterr().err


def test_drafting_suite_halves_the_rounds_and_keeps_every_text(tmp_path):
    path = tmp_path / 'drafting.json'
    assert main(['bench', '--model', 'nano', '--suite', 'drafting', '--rounds', '12', '--tokens', '16', '--threads',
                 '1', '--dtype', 'float32', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert result['gain'] > 2
    assert result['texts_compared'] > 3 and result['texts_equal'] == result['texts_compared']


def test_deadline_suite_counts_misses_and_refusals(tmp_path):
    path = tmp_path / 'deadline.json'
    assert main(['bench', '--model', 'nano', '--suite', 'deadline', '--rounds', '8', '--threads', '1',
                 '--dtype', 'float32', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert [run['tokens_per_answer'] for run in result['runs']] == [5, 200]
    for run in result['runs']:
        assert run['streams_started'] + run['streams_refused'] == 4 * 8
    assert result['runs'][1]['streams_refused'] >= 4 * 8 - 32


def test_answers_change_by_a_tenth():
    answers = Answers(1000, 5000)
    changed = [(answers.of(i) != answers.of(i + 1)).mean() for i in range(8)]
    assert 0.07 < sum(changed) / len(changed) < 0.13


def test_plot_is_a_png(tmp_path):
    pytest.importorskip('matplotlib')
    points = [{'mode': mode, 'tokens': n, 'action_hz': rate / n, 'chunk_horizon': 10}
              for mode, rate in (('isolated', 9), ('oxygen_1', 30)) for n in (5, 30)]
    plot_scaling({'points': points, 'model': 'mini', 'dtype': 'bfloat16', 'host': 'a machine'}, tmp_path / 'a.png')
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')


def test_memory_of_a_mode_is_measured_in_a_process_of_its_own():
    options = Options('nano', 'float32', 'cpu', 1, 'wall')
    found = peak_bytes(options, 'oxygen')
    if found:  # Linux
        assert found['peak_bytes'] > found['pool_bytes'] > 1e6 and found['weight_bytes'] > 4e6
