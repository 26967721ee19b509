"""How much memory is held, and the most since a moment: of this process, or of a GPU."""
from pathlib import Path

CLEAR = Path('/proc/self/clear_refs')


class ProcessMemory:
    """This process without mapped files (libraries); Linux."""

    def held(self):
        return _status('RssAnon')

    def reset_peak(self):
        CLEAR.write_text('5')

    def peak(self):
        return _status('VmHWM') - _status('RssFile') - _status('RssShmem')


class GpuMemory:
    """What torch has allocated on `device`; its context and what the allocator keeps in reserve are not in it."""

    def __init__(self, device):
        self.device = device

    def held(self):
        import torch
        torch.cuda.synchronize(self.device)
        return torch.cuda.memory_allocated(self.device)

    def reset_peak(self):
        import torch
        torch.cuda.synchronize(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)

    def peak(self):
        import torch
        torch.cuda.synchronize(self.device)
        return torch.cuda.max_memory_allocated(self.device)


def memory_meter(device):
    """The meter for a torch device, None where this system does not say."""
    if device.startswith('cuda'):
        return GpuMemory(device)
    return ProcessMemory() if CLEAR.exists() else None


def _status(key):
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f'/proc/self/status has no {key}')
