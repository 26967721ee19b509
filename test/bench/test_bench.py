"""The benchmark's own arithmetic, and that every suite runs and gives the keys it promises."""
import json

import numpy as np
import pytest
import torch

from oxygen_ros.__main__ import main
from oxygen_ros.bench import cost, table
from oxygen_ros.bench.ablation import EXTRA_FORWARD, ablation, engines_of
from oxygen_ros.bench.bench import Bench, Options
from oxygen_ros.bench.drafting import Answers
from oxygen_ros.bench.energy import Energy
from oxygen_ros.bench.memory import memory_of
from oxygen_ros.bench.plot import plot_scaling
from oxygen_ros.bench.reference import Reference
from oxygen_ros.bench.scaling import scaling
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
        for key in ('frame_ms', 'action_hz', 'chunks_per_s', 'tokens_per_s', 'chunk_ready_ms', 'ttft_ms',
                    'completion_ms'):
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
    assert 'texts are equal' in table.drafting(result)
    assert result['texts_compared'] > 3 and result['texts_equal'] == result['texts_compared']


def test_deadline_suite_counts_misses_and_refusals(tmp_path):
    path = tmp_path / 'deadline.json'
    assert main(['bench', '--model', 'nano', '--suite', 'deadline', '--rounds', '8', '--threads', '1',
                 '--dtype', 'float32', '--json', str(path)]) == 0
    result = json.loads(path.read_text())
    assert [(run['requests_per_frame'], run['tokens_per_answer']) for run in result['runs']] == [
        (1, 5), (1, 200), (4, 5), (4, 200)]
    for run in result['runs']:
        frames = 8 + 10  # each of ten parts begins with a frame that is not judged
        assert run['streams_started'] + run['streams_refused'] == run['requests_per_frame'] * frames
        assert 0 <= run['misses'] <= 8
    assert [one['tokens_per_answer'] for one in result['isolated']] == [5, 200]
    assert result['isolated'][1]['action_hz'] < result['isolated'][0]['action_hz']
    result['runs'][1]['limit_tokens_per_s'] = 0.0  # as on a busy machine, where language found no time
    assert len(table.deadline(result, result).splitlines()) == 2 + 2 * 7


def test_a_filled_batch_is_that_of_as_many_frames():
    bench = Bench(Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=6), Shapes(tokens=6))
    filled, framed = bench.runner(bench.engine('oxygen')), bench.runner(bench.engine('oxygen'))
    filled.fill()
    for _ in range(6):
        framed.frame()

    def stages(runner):
        return [(len(s.tokens), s.stored, s.prefix_length) for s in runner.engine.streams.values()]

    assert stages(filled) == stages(framed) and len(stages(filled)) == 4
    assert filled.engine.pool.blocks_used == 4
    filled.measuring = True
    assert filled.frame().rows == 5
    assert len(filled.samples.values['completion_ms']) == 1  # of a text that no real frame had started


def test_ablated_models_give_the_same_actions_and_tokens():
    bench = Bench(Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=4), Shapes(tokens=4))
    said, moved = {}, {}
    for name, engine in engines_of(bench, bench.shapes).items():
        runner = bench.runner(engine)
        engine.warm_up()
        chunks, runner.texts = [], {}
        make = engine.processor.chunk
        engine.processor.chunk = lambda actions, *rest: (chunks.append(actions), make(actions, *rest))[1]
        for _ in range(2):
            runner.frame()
        engine.processor.chunk = make
        said[name], moved[name] = runner.texts[1][:2], np.stack(chunks)
    for name in said:
        if name not in ('without skipping the absent view', 'without trimming the prompt'):
            assert said[name] == said['oxygen'], name
            assert np.abs(moved[name] - moved['oxygen']).max() < 1e-4, name


def test_an_interruption_is_a_sentence(monkeypatch, capsys):
    def interrupted(options, progress):
        progress('round 1 of 7: oxygen')
        raise KeyboardInterrupt

    monkeypatch.setattr('oxygen_ros.bench.scaling.scaling', interrupted)
    assert main(['bench', '--suite', 'scaling']) == 130
    assert 'bench: interrupted (round 1 of 7: oxygen); nothing was written' in capsys.readouterr().err


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


def test_answers_change_by_a_tenth():
    answers = Answers(1000, 5000)
    changed = [(answers.of(i) != answers.of(i + 1)).mean() for i in range(8)]
    assert 0.07 < sum(changed) / len(changed) < 0.13


@torch.inference_mode()
def test_scaling_has_a_point_for_every_mode_and_length():
    options = Options('nano', 'float32', 'cpu', 1, 'cpu')
    result = scaling(options, lambda text: None, lengths=(4, 6), decode_rounds=(1, 5))
    assert [(p['mode'], p['tokens']) for p in result['points']] == [
        ('reference', 4), ('isolated', 4), ('shared', 4), ('oxygen_1', 4),
        ('reference', 6), ('isolated', 6), ('shared', 6), ('oxygen_1', 6), ('oxygen_5', 6)]
    rows = table.scaling(result).splitlines()
    assert rows[0] == '| H / T [Hz], H = 10 | N = 4 | N = 6 |' and len(rows) == 2 + 5
    assert rows[-1].startswith('| oxygen, decode rounds a frame: 5 |  | ')


@torch.inference_mode()
def test_ablation_compares_every_switch_with_the_whole():
    result = ablation(Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=4), lambda text: None)
    assert result['modes']['oxygen']['frame_ratio'] == 1
    assert result['modes'][EXTRA_FORWARD]['advanced'] == 4 and result['modes']['oxygen']['advanced'] == 3
    assert len(table.ablation(result).splitlines()) == 2 + 14
    assert table.caption({**result, 'host': 'a machine, load 3'}) == (
        '`bench --model nano --suite ablation --rounds 1`, float32, a machine, processor time on a busy machine.\n\n')


def test_plot_is_a_png(tmp_path):
    pytest.importorskip('matplotlib')
    points = [{'mode': mode, 'tokens': n, 'action_hz': rate / n, 'chunk_horizon': 10}
              for mode, rate in (('isolated', 9), ('oxygen_1', 30)) for n in (5, 30)]
    plot_scaling({'points': points, 'model': 'mini', 'dtype': 'bfloat16', 'host': 'a machine'}, tmp_path / 'a.png')
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')


def test_memory_of_a_mode_is_measured_in_a_process_of_its_own():
    options = Options('nano', 'float32', 'cpu', 1, 'wall')
    found = memory_of(options, 'oxygen')
    if found:  # Linux
        assert found['peak_bytes'] > found['pool_bytes'] > 1e6 and found['weight_bytes'] > 4e6
        parts = found['weight_bytes'] + found['table_bytes'] + found['pool_bytes'] + found['activation_bytes']
        assert found['expected_bytes'] == parts
        assert len(table.memory({'model': 'nano', 'dtype': 'float32', 'modes': {'oxygen': found}}).splitlines()) == 3
        assert 0.8 < found['to_expected'] < 2  # a model this small is no more than what Python itself holds
