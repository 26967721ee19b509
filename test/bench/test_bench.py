"""That every suite runs and gives what it promises."""
import json

import pytest
import torch

from oxygen_ros.__main__ import main
from oxygen_ros.bench import table
from oxygen_ros.bench.bench import Bench, Options
from oxygen_ros.bench.drafting import Answers
from oxygen_ros.bench.plot import plot_scaling
from oxygen_ros.bench.scaling import scaling
from oxygen_ros.bench.workload import Shapes


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
        assert 0 <= run['misses'] <= 8 and run['misses_per_1000'] == run['misses'] * 1000 / 8
        assert run['action_only_misses_per_1000'] in [n * 1000 / 8 for n in range(9)]
    alone = result['action_only']
    assert alone['misses_per_1000'] == result['runs'][2]['action_only_misses_per_1000']  # of one deadline
    assert [one['tokens_per_answer'] for one in result['isolated']] == [5, 200]
    assert result['isolated'][1]['action_hz'] < result['isolated'][0]['action_hz']
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


def test_an_interruption_is_a_sentence(monkeypatch, capsys):
    def interrupted(options, progress):
        progress('round 1 of 7: oxygen')
        raise KeyboardInterrupt

    monkeypatch.setattr('oxygen_ros.bench.scaling.scaling', interrupted)
    assert main(['bench', '--suite', 'scaling']) == 130
    assert 'bench: interrupted (round 1 of 7: oxygen); nothing was written' in capsys.readouterr().err


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


def test_plot_is_a_png(tmp_path):
    pytest.importorskip('matplotlib')
    points = [{'mode': mode, 'tokens': n, 'action_hz': rate / n, 'chunk_horizon': 10}
              for mode, rate in (('isolated', 9), ('oxygen_1', 30)) for n in (5, 30)]
    plot_scaling({'points': points, 'model': 'mini', 'dtype': 'bfloat16', 'host': 'a machine'}, tmp_path / 'a.png')
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')
