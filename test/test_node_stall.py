"""A control thread that stands still is seen by the others; garbage is collected outside it."""
import gc
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest
from std_msgs.msg import String

from rig import Rig


@pytest.fixture
def rig():
    rig = Rig()
    yield rig
    rig.close()


def test_a_control_thread_that_stands_still_is_an_error_until_it_ticks_again(rig):
    heard, release = {}, threading.Event()
    rig.robot.create_subscription(DiagnosticArray, '/diagnostics', lambda message: heard.update(
        {status.name.rpartition(': ')[2]: status for status in message.status if rig.namespace in status.name}), 10)
    rig.run()
    loop = rig.node.parts.loop
    publish = loop.publish
    loop.publish = lambda tick: release.wait()
    try:
        rig.until_state('error')
        assert 'the control thread has not ticked for' in rig.status.detail
        rig.until(lambda: 'has not ticked' in heard['commands'].message, 'the diagnostics say so')
        assert heard['commands'].level == DiagnosticStatus.ERROR
    finally:
        loop.publish = publish
        release.set()
    rig.until_running()
    rig.until(lambda: heard['commands'].level == DiagnosticStatus.OK, 'the diagnostics say that it is over')


def test_what_the_controller_refuses_is_logged_outside_the_tick(rig, monkeypatch):
    said, log = [], rig.node.get_logger()

    for level in ('info', 'warning', 'error'):
        monkeypatch.setattr(log, level, lambda text, **options: said.append((threading.current_thread().name, text)))
    rig.run()
    rig.instruction.publish(String(data='fake: jump'))
    rig.until(lambda: [text for _, text in said if text.startswith('chunk refused: ')], 'the log has the refusal')
    rig.until_state('waiting')
    assert {name for name, _ in said} == {threading.current_thread().name}  # which spins the callbacks


def test_the_collector_never_runs_in_a_tick(rig):
    ran = []

    def note(phase, information):
        if phase == 'start':
            ran.append(threading.current_thread().name)
    rig.run()
    gc.callbacks.append(note)
    try:
        assert not gc.isenabled()
        loop, publish = rig.node.parts.loop, rig.node.parts.loop.publish

        def wasteful(tick):
            cycles = [[] for _ in range(1000)]  # more than the collector lets pass
            for cycle in cycles:
                cycle.append(cycle)
            publish(tick)
        loop.publish = wasteful
        rig.until(lambda: len(ran) > 1, 'collections')
        assert set(ran) == {threading.current_thread().name}  # which spins the callbacks
    finally:
        gc.callbacks.remove(note)
    rig.node.trigger_deactivate()
    rig.node.trigger_cleanup()
    assert gc.isenabled()
