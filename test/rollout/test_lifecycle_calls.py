"""The rollout's calls of the node, of which DDS may lose an answer."""
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')


class Client:
    """Answers the calls from number `first` on."""

    srv_name = 'oxygen/set_parameters'

    def __init__(self, first):
        self.first, self.calls = first, 0

    def service_is_ready(self):
        return True

    def call_async(self, request):
        self.calls += 1
        heard, number = self.calls >= self.first, self.calls
        return SimpleNamespace(done=lambda: heard, result=lambda: number)


def call(monkeypatch, client, again_s):
    from oxygen_ros.rollout import node_process
    seconds = iter(range(1000))
    monkeypatch.setattr(node_process.time, 'monotonic', lambda: float(next(seconds)))

    def wait(condition, what):
        for _ in range(100):
            if condition():
                return
        raise RuntimeError(f'the node did not {what}')
    lifecycle = node_process.Lifecycle.__new__(node_process.Lifecycle)
    lifecycle._wait = wait
    return lifecycle._call(client, 'request', *again_s)


def test_an_answer_that_was_lost_is_asked_for_again(monkeypatch):
    client = Client(first=2)
    assert call(monkeypatch, client, (5.0,)) == 2 and client.calls == 2


def test_what_must_not_be_done_twice_is_asked_once(monkeypatch):
    client = Client(first=2)
    with pytest.raises(RuntimeError, match='did not answer oxygen/set_parameters'):
        call(monkeypatch, client, ())
    assert client.calls == 1
