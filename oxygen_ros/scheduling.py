"""How threads of this process share the processors with the rest of the machine."""
import ctypes
import os
import platform
import struct

LONGEST_SLICE_NS = 100_000_000  # what Linux takes at most
SCHED_SETATTR = {'x86_64': 314, 'aarch64': 274}  # number of the system call, which Python does not wrap


def become_realtime(priority):
    """Run the calling thread before every ordinary one, by SCHED_FIFO; whether the system permits that."""
    try:
        # Python gives no way to name the calling thread but 0, which is just right here.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, AttributeError):
        return False
    return True


def give_way():
    """
    Let others onto the calling thread's processor as soon as they wake; whether the system knows how.

    By default Linux lets a thread that computes finish its slice first, which costs the subscriber of a command, on
    the same processor, up to 3 ms. From version 6.12 on a thread may ask for a longer slice and is then preempted by
    those that have shorter ones (sched_setattr(2)); its share of the time stays the same.
    """
    try:
        attributes = struct.pack('=IIQiIQQQII', 56, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0,
                                 LONGEST_SLICE_NS, 0, 0, 0, 0)
        return ctypes.CDLL(None).syscall(
            SCHED_SETATTR[platform.machine()], 0, ctypes.create_string_buffer(attributes, len(attributes)), 0) == 0
    except (OSError, AttributeError, KeyError):
        return False
