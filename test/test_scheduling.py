"""How threads share the processors: nice values and policies stay, slices get longer."""
import ctypes
import os
import platform
import struct
import threading

import pytest

from oxygen_ros.scheduling import become_realtime, give_way, LONGEST_SLICE_NS

SCHED_GETATTR = {'x86_64': 315, 'aarch64': 275}
KNOWS = platform.system() == 'Linux' and platform.machine() in SCHED_GETATTR \
    and tuple(int(word) for word in platform.release().split('.')[:2] if word.isdigit()) >= (6, 12)


def in_a_thread(call):
    """What a call gives in a thread of its own, and the thread's (policy, nice, slice in ns) after it."""
    found = []

    def run():
        found.append(call())
        data = ctypes.create_string_buffer(56)
        assert ctypes.CDLL(None).syscall(SCHED_GETATTR[platform.machine()], 0, data, 56, 0) == 0
        _, policy, _, nice, _, runtime = struct.unpack('=IIQiIQ', data.raw[:32])
        found.append((policy, nice, runtime))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found


@pytest.mark.skipif(not KNOWS, reason='slices can be asked for from Linux 6.12 on')
def test_a_thread_that_gives_way_keeps_its_policy_and_nice_value_and_has_a_longer_slice():
    granted, (policy, nice, slice_ns) = in_a_thread(lambda: (os.setpriority(os.PRIO_PROCESS, 0, 3), give_way())[1])
    assert granted and (policy, nice, slice_ns) == (os.SCHED_OTHER, 3, LONGEST_SLICE_NS)
    _, (_, nice, slice_ns) = in_a_thread(lambda: None)
    assert nice == 0 and slice_ns < LONGEST_SLICE_NS  # that thread alone


def test_on_another_machine_there_is_no_way_to_ask_and_nothing_breaks(monkeypatch):
    monkeypatch.setattr(platform, 'machine', lambda: 'toaster')
    assert give_way() is False


def test_a_priority_that_is_not_granted_is_told(monkeypatch):
    def refuse(*arguments):
        raise PermissionError
    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    assert become_realtime(40) is False
