"""What a recorded run becomes on the page, and that its size does not grow with the run."""
from bag_of_a_run import JOINTS, positions, SENTENCE, write_run
import numpy as np
import pytest

from oxygen_ros.bag.read import Bag
from oxygen_ros.report.from_bag import run_from_bag
from oxygen_ros.report.run_data import Thinned


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    with Bag(write_run(tmp_path_factory.mktemp('bags') / 'run')) as bag:
        return run_from_bag(bag)


def test_curves_are_in_the_order_of_the_chunks_whatever_order_the_states_have(run):
    assert run.joints == tuple(JOINTS) and run.duration_s == pytest.approx(3.981)
    times, values = run.column('measured', 'left_elbow')
    assert values == pytest.approx(0.5 * np.cos(times)) and len(times) == 200
    times, values = run.column('published command', 'left_waist')
    assert values == pytest.approx(np.sin(times - 0.001) + 0.01)


def test_a_chunk_begins_at_its_observation_and_not_when_it_came(run):
    assert run.chunks.times_s[3] == pytest.approx(0.6)
    dt_s, data = run.chunks.rows[3]
    assert dt_s == 0.02 and data[5] == pytest.approx(positions(0.7) + 0.02)


def test_tokens_become_texts_with_begin_end_and_reason(run):
    begin, end, task, text, reason = run.texts()[0]
    assert (round(begin, 2), round(end, 2), task, text, reason) == (0.06, 0.46, 'subtask', ''.join(SENTENCE), 'eos')
    assert run.texts()[-1][4] == ''  # the recording ended in the middle of a text


def test_stages_pool_counters_and_commands_are_kept(run):
    assert run.stages.rows[2] == {'vision': 5.0, 'prefill': 22.0, 'denoise': 15.0, 'decode': 6.0}
    assert run.pool.rows[5] == (2, 4, 2, 5, 2)
    assert run.counters['frames'] == 20 and run.counters['model'] == 'nano'
    assert np.median(run.intervals_ms()) == pytest.approx(20.0)


def test_pictures_are_small_jpegs_spread_over_the_run(run):
    times = [picture.time_s for picture in run.thumbnails]
    assert 20 <= len(times) <= 24 and times[0] == 0 and times[-1] > 3.4
    assert all(picture.jpeg[:2] == b'\xff\xd8' for picture in run.thumbnails)


@pytest.mark.parametrize('span_s', [1.0, 10.0, 3600.0])
def test_a_thinned_curve_never_holds_more_than_its_limit(span_s):
    curve = Thinned(span_s, 100)
    for i in range(5000):
        curve.add(i / 5000 * span_s, i)
    assert 90 <= len(curve.rows) <= 101 and curve.rows[0] == 0 and curve.rows[-1] > 4900
