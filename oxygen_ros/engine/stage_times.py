"""Marks between the stages of a frame: the clock on a CPU, events on a GPU, which runs behind the host."""
import torch


class StageTimes:
    """`mark(name)` in order; `ms(a, b)` between two marks, to be asked when the device has passed the later one."""

    def __init__(self, clock, device):
        self.clock, self.on_gpu = clock, device.type == 'cuda'
        self.marks = {}

    def mark(self, name):
        """Note this moment and return the clock's time."""
        now = self.clock()
        event = None
        if self.on_gpu:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
        self.marks[name] = now, event
        return now

    def ms(self, start, stop):
        (began, first), (ended, last) = self.marks[start], self.marks[stop]
        if not self.on_gpu:
            return (ended - began) * 1e3
        last.synchronize()
        return first.elapsed_time(last)
