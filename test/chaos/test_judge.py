"""The judge finds what is unsafe and lets pass what is not; it knows nothing of the node's control code."""
import ast
from pathlib import Path

import numpy as np
from oxygen_ros.chaos import judge as module, recorder
from oxygen_ros.chaos.judge import Allowed, calm_times, judge, Phase
from oxygen_ros.share import config_file
import pytest

S = 1_000_000_000
RATE = 50.0
JOINTS = ('a', 'b')
ALLOWED = Allowed(JOINTS, np.array([-1.0, 0.0]), np.array([1.0, 0.1]), np.array([1.0, 0.1]), np.array([10.0, 1.0]),
                  np.array([0.05, 0.01]), 0.001)


def record(path, sent_ns=None, measured=None, lengths=None):
    """A record of commands [n, 2] at the nominal rate, with the robot standing at `measured`."""
    path = np.asarray(path, float)
    n = len(path)
    sent = np.round(np.arange(n) / RATE * 1e9).astype(np.int64) if sent_ns is None else np.asarray(sent_ns, np.int64)
    seen = np.arange(-S, sent.max(initial=0) + S, S // 10)
    measured = np.tile(path[0] if measured is None else np.asarray(measured, float), (len(seen), 1))
    return {'commands': path, 'lengths': np.full(n, path.shape[1]) if lengths is None else np.asarray(lengths),
            'sent_ns': sent, 'received_ns': sent, 'joints': np.array(JOINTS), 'measured': measured,
            'measured_ns': seen, 'status_ns': np.zeros(0, np.int64), 'status': np.zeros(0, int),
            'ticks_lost': np.zeros(0, np.int64)}


def smooth(n=100, height=0.5):
    """A motion within every limit."""
    a = height * 0.5 * (1 - np.cos(np.linspace(0, np.pi, n)))
    return np.stack([a, np.full(n, 0.05)], axis=1)


def found(recorded, phases=()):
    verdict = judge(recorded, phases, ALLOWED, RATE, 0, 10 * S)
    assert set(verdict.examples) == set(verdict.unsafe)
    return dict(verdict.unsafe)


def test_a_motion_within_the_limits_is_safe():
    assert found(record(smooth())) == {}


def test_a_position_outside_the_range_is_unsafe():
    path = smooth()
    path[:, 1] = 0.12
    assert found(record(path, measured=[0.0, 0.1]))['position'] == 100


def test_a_robot_that_stands_outside_its_range_may_be_taken_in_from_there():
    path = smooth()
    path[:, 1] = np.linspace(0.105, 0.1, 100)
    assert found(record(path, measured=[0.0, 0.105])) == {}


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_unsafe(bad):
    path = smooth()
    path[40, 0] = bad
    assert found(record(path))['not_finite'] == 1


def test_a_jump_is_unsafe_in_speed_and_acceleration():
    path = smooth()
    path[50:, 0] += 0.3
    unsafe = found(record(path))
    assert unsafe['velocity'] == 1 and unsafe['acceleration'] >= 1


def test_a_kink_within_the_speed_is_unsafe_in_acceleration():
    path = np.zeros((100, 2))
    path[50:, 0] = np.minimum(np.arange(50) * 0.015, 0.5)  # 0.75 rad/s at once
    unsafe = found(record(path))
    assert set(unsafe) == {'acceleration'}


def test_two_commands_that_come_close_together_must_not_add_up():
    sent = np.round(np.arange(100) / RATE * 1e9).astype(np.int64)
    sent[50:] -= 18_000_000
    path = np.zeros((100, 2))
    path[:, 0] = np.arange(100) * 0.019
    assert 'velocity' not in found(record(path, sent))
    path[50:, 0] += 0.01
    assert 'velocity' in found(record(path, sent))


def test_a_lost_message_is_no_jump():
    keep = np.delete(np.arange(200), [60, 120])
    sent = np.round(np.arange(200) / RATE * 1e9).astype(np.int64)[keep]
    path = smooth(200, 0.9)[keep]
    assert found(record(path, sent)) == {}


def test_after_silence_a_command_must_begin_where_the_robot_stands():
    sent = np.round(np.arange(100) / RATE * 1e9).astype(np.int64)
    sent[50:] += 2 * S
    path = np.zeros((100, 2))
    path[50:, 0] = 0.2
    away = record(path, sent)
    assert found(away) == {'start': 1}
    on = record(np.where(np.arange(100)[:, None] < 50, 0.0, [[0.003, 0.0]]), sent, measured=[0.3, 0.0])
    assert found(on) == {'start': 1}  # the first command of all; the later run goes on from what was in force
    away['measured'], away['measured_ns'] = np.array([[0.0, 0.0], [0.19, 0.0]]), np.array([-S // 5, 29 * S // 10])
    assert found(away) == {}


def killed_and_started(measured, measured_ns):
    """A run that ends at 0 and one that begins at 0.2, 2 s later, with the positions that were heard."""
    sent = np.round(np.arange(100) / RATE * 1e9).astype(np.int64)
    sent[50:] += 2 * S
    path = np.zeros((100, 2))
    path[50:, 0] = 0.2
    away = record(path, sent)
    away['measured'], away['measured_ns'] = np.array(measured, float).reshape(-1, 2), np.array(measured_ns, np.int64)
    return away


def test_a_start_is_not_judged_by_where_the_robot_stood_long_before():
    """As when it was killed and started again; the first position after the command tells then."""
    old = [[0.0, 0.0], [0.0, 0.0]], [-S // 5, S]
    assert found(killed_and_started([*old[0], [0.19, 0.0]], [*old[1], 32 * S // 10])) == {}
    assert found(killed_and_started([*old[0], [-0.9, 0.0]], [*old[1], 32 * S // 10])) == {'start': 1}


def test_a_start_that_cannot_be_compared_is_unsafe_unless_the_robot_is_killed():
    away = killed_and_started([[0.0, 0.0], [0.0, 0.0]], [-S // 5, S])
    assert found(away) == {'start_unseen': 1}
    killed = Phase('robot_killed', S, 2 * S, None, 7 * S // 2)
    verdict = judge(away, [killed], ALLOWED, RATE, 0, 4 * S)
    assert not verdict.unsafe and verdict.starts_unseen == 1
    assert found(away, [Phase('camera_killed', S, 2 * S, None, 7 * S // 2)]) == {'start_unseen': 1}


def test_a_message_of_another_length_is_unsafe():
    lengths = np.full(100, 2)
    lengths[3] = 1
    assert found(record(smooth(), lengths=lengths))['length'] == 1
    assert found(record(np.zeros((5, 3))))['length'] == 5


def test_motion_where_rest_was_promised_is_unsafe():
    phase = Phase('emergency_stop', S // 2, 3 * S // 2, S, 2 * S)
    assert found(record(smooth()), [phase])['moving_during_emergency_stop'] == 24  # half a second at 50 Hz
    path = smooth()
    path[50:] = path[50]
    assert 'moving_during_emergency_stop' not in found(record(path), [phase])


def test_calm_is_from_one_recovery_to_the_next_fault():
    phases = [Phase('a', 10, 20, None, 25), Phase('b', 40, 50), Phase('c', 60, 70, None, 75)]
    assert calm_times(phases, 0, 100) == [(0, 10), (25, 40), (50, 60), (75, 100)]


def test_lost_and_late_ticks_and_the_share_of_commanding():
    sent = np.round(np.arange(500) / RATE * 1e9).astype(np.int64)
    late = sent.copy()
    late[100:110] += 5_000_000
    verdict = judge(record(np.zeros((500, 2)), late), (), ALLOWED, RATE, 0, 20 * S)
    assert verdict.tick_late_ms_p99 == pytest.approx(5.0, abs=0.01) and verdict.ticks_lost == 0
    assert verdict.commanding_share == pytest.approx(0.5, abs=0.01)
    verdict = judge(record(np.zeros((498, 2)), np.delete(sent, [200, 300])), (), ALLOWED, RATE, 0, 10 * S)
    assert verdict.ticks_lost == 2


def test_nothing_commanded_at_all_is_safe_and_no_commanding():
    verdict = judge(record(np.zeros((0, 2)), measured=[0, 0]), (), ALLOWED, RATE, 0, S)
    assert verdict.unsafe_commands == 0 and verdict.commanding_share == 0


def test_the_shipped_limits_are_complete_and_of_the_robots_joints():
    from oxygen_ros.sim.joints import JOINTS as robot
    allowed = Allowed.read(config_file('chaos_limits.yaml'))
    assert allowed.joints == tuple(robot)
    assert (allowed.lower < allowed.upper).all() and (allowed.velocity > 0).all()


def test_judge_and_recorder_use_none_of_the_nodes_code():
    for file in (module.__file__, recorder.__file__):
        for node in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith('oxygen_ros'):
                assert node.module == 'oxygen_ros.msg'


def test_a_record_goes_to_the_file_and_comes_back(tmp_path):
    from types import SimpleNamespace
    kept = recorder.Recorder()
    for i in range(3):
        kept.on_command(SimpleNamespace(data=[i, i + 1.0][:2 - (i == 2)]), {'source_timestamp': i * 10})
        kept.on_joints(SimpleNamespace(name=['a', 'b'], position=[i, i]))
        kept.on_status(SimpleNamespace(state='running', ticks_lost=i))
    kept.save(tmp_path / 'r.npz')
    with np.load(tmp_path / 'r.npz') as back:
        assert back['lengths'].tolist() == [2, 2, 1] and np.isnan(back['commands'][2, 1])
        assert back['joints'].tolist() == ['a', 'b'] and back['measured'].shape == (3, 2)
    recorder.Recorder().save(tmp_path / 'empty.npz')
