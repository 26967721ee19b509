"""The terminal screen: rates, ages, tokens and refusals as they come, and what is said when nothing comes."""
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from oxygen_ros.viz.screen import screen
from oxygen_ros.viz.watch_state import MAX_TEXTS, Rate, WatchState


def shown(state, now_s=0.0):
    console = Console(width=100, record=True, file=open('/dev/null', 'w'))
    console.print(screen(state, now_s))
    return console.export_text()


def status(**fields):
    names = ('live_streams streams_finished streams_refused frame_ms chunk_ready_ms vision_ms prefill_ms denoise_ms '
             'decode_ms ticks_fresh ticks_held ticks_silent ticks_lost clamps chunks_rejected frames prefills '
             'slots_used slots_total blocks_used blocks_total pool_bytes').split()
    return SimpleNamespace(**{**dict.fromkeys(names, 0), 'state': 'running', 'detail': '', 'model': 'nano',
                              'mode': 'oxygen', **fields})


def token(request, text, index=0, reason=''):
    return SimpleNamespace(request_id=request, task='subtask', text=text, token_id=-1 if reason == 'dropped' else 7,
                           finish_reason=reason, index=index)


@pytest.mark.parametrize('hz', [1, 7, 60])
def test_a_rate_follows_what_comes_and_falls_when_it_stops(hz):
    rate, now_s = Rate(), 0.0
    for i in range(5 * hz):
        now_s = i / hz
        rate.arrived(now_s)
    assert rate.hz(now_s) == pytest.approx(hz, rel=0.05)
    assert rate.hz(now_s + 5) == 0 and rate.age_s(now_s + 5) == pytest.approx(5)


def test_a_node_that_is_not_there_is_said_so():
    assert 'nothing is heard of the node /robot/oxygen' in shown(WatchState('/robot/oxygen'))


def test_the_screen_shows_state_reason_inputs_and_texts():
    state = WatchState('oxygen')
    state.on_status(status(state='holding', detail='no fresh picture', clamps=4, slots_used=2, slots_total=4), 10.0)
    entry = SimpleNamespace(name='/oxygen: input base_0_rgb', level=b'\x02', message='0.9 s old', values=[
        SimpleNamespace(key=key, value=value) for key, value in (
            ('topic', '/top/image_raw'), ('rate_hz', '12.5'), ('age_s', '0.9'))])
    other = SimpleNamespace(name='/camera: input x', level=b'\x00', message='not ours', values=[])
    state.on_diagnostics(SimpleNamespace(status=[entry, other]))
    state.on_token(token(1, 'reach '), 10.0)
    state.on_token(token(1, 'left', reason='eos'), 10.1)
    state.on_token(token(2, 'and [bold] now'), 10.1)
    text = shown(state, 10.2)
    for expected in ('holding', 'no fresh picture', '/top/image_raw', '12.5', '0.9 s old', 'reach left',
                     '2 tokens, eos', 'and [bold] now', '2/4 slots'):
        assert expected in text
    assert 'not ours' not in text and 'silent for' not in text
    assert 'silent for 8 s' in shown(state, 18.2)


def test_what_other_nodes_say_cannot_steer_the_terminal():
    state = WatchState('oxygen')
    state.on_status(status(detail='x\x1b[2J\x07y'), 0.0)
    state.on_token(token(1, 'a\x1b]0;title\x07b'), 0.0)
    text = shown(state)
    assert '\x1b' not in text and '\x07' not in text and 'x [2J y' in text


def test_texts_are_bounded_and_those_that_run_are_kept():
    state = WatchState('oxygen')
    state.on_token(token(0, 'still running'), 0.0)
    for request in range(1, 50):
        state.on_token(token(request, 'x' * 1000, reason='eos'), 0.0)
    assert len(state.texts) == MAX_TEXTS and state.texts[0].text == 'still running'
    assert max(len(text.text) for text in state.texts.values()) <= 400


def test_watch_on_the_command_line_hears_a_live_node():
    rclpy = pytest.importorskip('rclpy')
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from oxygen_ros.msg import EngineStatus
    rclpy.init()
    node = rclpy.create_node('pretender')
    child = subprocess.Popen([sys.executable, '-m', 'oxygen_ros', 'watch', '--once', '--timeout', '30'],
                             stdout=subprocess.PIPE)
    try:
        said = node.create_publisher(EngineStatus, 'oxygen/status', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        more = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        said.publish(EngineStatus(state='waiting', detail='no instruction yet'))
        end = time.monotonic() + 40
        while child.poll() is None and time.monotonic() < end:
            more.publish(DiagnosticArray(status=[DiagnosticStatus(name='/oxygen: input joint_states')]))
            time.sleep(0.1)
        out, _ = child.communicate(timeout=10)
    finally:
        child.kill()
        node.destroy_node()
        rclpy.shutdown()
    assert child.returncode == 0 and b'waiting' in out and b'no instruction yet' in out and b'joint_states' in out
