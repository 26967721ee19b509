"""Promise: a stage's figures are its median time, its bound, and their ratio."""
import pytest

from oxygen_ros.bench import cost, stages
from oxygen_ros.bench.bench import Bench, Options
from oxygen_ros.bench.reference_stages import ReferenceStages
from oxygen_ros.bench.stages import Stages, rounds
from oxygen_ros.bench.workload import Shapes

SHAPES = Shapes(tokens=6)
ROUNDS = [1, 4, (4, 1)]


@pytest.fixture(scope='module')
def bench():
    return Bench(Options('nano', 'float32', 'cpu', 1, 'cpu', tokens=6), SHAPES)


def test_a_round_says_on_how_many_prefixes():
    assert rounds(ROUNDS) == {'decode_1': (1, 1), 'decode_4': (4, 4), 'decode_4_on_1': (4, 1)}


def test_efficiency_is_bound_over_time_and_a_bound_the_larger_time(bench, monkeypatch):
    made = Stages(bench.engine('oxygen'), SHAPES)
    made.warm_up(ROUNDS)
    for name, *times in (('vision', 1, 2, 9), ('prefill', 3, 3, 3), ('denoise', 4, 4, 4), ('decode_1', 5, 5, 5),
                         ('decode_4', 6, 6, 6), ('decode_4_on_1', 5, 5, 5)):
        for took in times:
            made.samples.add(**{name: took})
    asked = []
    monkeypatch.setattr(stages, 'gemm_gflops', lambda rows, shapes, *rest: (asked.append(rows), 50.0)[1])
    found = made.report(ROUNDS, bandwidth=2.0)
    assert len(asked) == 5  # both rounds of four have one rate
    one = cost.vision(bench.config, 2, 4)
    assert found['vision']['ms'] == 2 and found['vision']['ms_p99'] == pytest.approx(8.86)
    assert found['vision']['bound_ms'] == pytest.approx(max(one.flop / 50e9, one.bytes / 2e9) * 1e3)
    assert found['vision']['efficiency'] == pytest.approx(found['vision']['bound_ms'] / 2)
    assert found['vision']['efficiency_p99'] == pytest.approx(found['vision']['bound_ms'] / 8.86)
    c, length = bench.config, 2 * bench.config.image_tokens + 48
    assert found['decode_4']['bytes'] == cost.decode(c, 4, length, 3, 4).bytes
    assert found['decode_4']['bytes'] - found['decode_4_on_1']['bytes'] == 3 * length * c.depth * 2 * c.head_dim * 4


def test_a_round_on_one_prefix_puts_its_streams_there(bench, monkeypatch):
    made, seen = Stages(bench.engine('oxygen'), SHAPES), []
    appended = stages.Append
    monkeypatch.setattr(stages, 'Append', lambda *rest: (seen.append(rest[1]), appended(*rest))[1])
    made.warm_up(ROUNDS)
    assert [[s.block for s in streams] for streams in seen] == [[0], [0, 1, 2, 3], [0] * 4]
    assert all(len({s.slot for s in streams}) == len(streams) for streams in seen)


def test_the_reference_s_stages_are_those_of_its_frame(bench):
    made = ReferenceStages(bench.reference().reference, bench.processor, SHAPES, bench.clock)
    length = 3 * bench.config.image_tokens + 100
    assert made.prefix_pad.shape == (1, length) and made.pad.shape == (1, length + 3)  # in the middle of six
    for call in made.calls().values():
        call()
    assert set(made.report()) == {'prefill', 'denoise', 'decode_1'}
    assert made.pad.shape == (1, length + 3)  # each call starts from the same place
