import pytest

from oxygen_ros.rollout.load import delay_s, figures
from oxygen_ros.rollout.policy import WEIGHTS

MS = 1_000_000


def chunk(arrived_ms, age_ms=30, reaches_ms=900):
    return arrived_ms * MS, (arrived_ms - age_ms) * MS, (arrived_ms - age_ms + reaches_ms) * MS


def test_a_chunk_that_comes_after_the_old_one_has_run_out_is_counted():
    commands = [i * 20 * MS for i in range(101)]
    table = figures(commands, [chunk(0), chunk(100), chunk(970), chunk(1900, age_ms=50)], 50.0)
    assert table['expired'] == 1 and table['margin_min_ms'] == pytest.approx(970 + 870 - 1900)
    assert table['chunk_rate_hz'] == pytest.approx(3 / 1.9) and table['chunk_interval_max_ms'] == 930
    assert table['chunk_age_p50_ms'] == 30 and table['chunk_age_p95_ms'] == pytest.approx(47)
    assert table['command_rate_hz'] == 50 and table['command_rate_error'] == 0
    assert figures(commands[:-1] + [2010 * MS], [chunk(0), chunk(10)], 50.0)['command_rate_error'] \
        == pytest.approx(-0.005, abs=1e-4)


def test_the_delay_is_the_age_rounded_up_to_a_tick():
    table = {'modes': {'oxygen': {'chunk_age_p95_ms': 40.1}}}
    assert delay_s(table, 'oxygen') == pytest.approx(0.06)
    with pytest.raises(ValueError, match='has no mode isolated: it has oxygen'):
        delay_s(table, 'isolated')


@pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')
def test_chunks_and_commands_come_while_every_frame_asks_for_a_text():
    pytest.importorskip('rclpy')
    from oxygen_ros.rollout.load import measure
    table = measure('oxygen', 8, 3.0, str(WEIGHTS), 15.0, settle_s=2.0)
    assert table['chunks'] > 3 and table['commands'] > 30 and table['tokens_per_s'] > 0
    assert 1 <= table['live_streams'] <= 8 and table['mode'] == 'oxygen'
