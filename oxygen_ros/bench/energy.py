"""Joules where the machine counts them: the processor's RAPL counters, or an NVIDIA GPU's own."""
from pathlib import Path

RAPL = Path('/sys/class/powercap')


class Energy:
    """`joules()` since some moment in the past, None where nothing counts; the difference of two is what was spent."""

    def __init__(self, device, rapl=RAPL):
        self._gpu = _counter_of_gpu(device) if str(device).startswith('cuda') else None
        # The packages; their parts (intel-rapl:0:1) are contained in them.
        self._packages = [] if self._gpu else sorted(rapl.glob('*-rapl:[0-9]'))
        self._ranges = [self._read(package / 'max_energy_range_uj') for package in self._packages]
        self._last, self._spent = self._packages_uj(), 0

    def joules(self):
        if self._gpu:
            return self._gpu() / 1e3
        now = self._packages_uj()
        if not now or None in now or None in self._last:
            return None
        # A counter that went back has wrapped round once.
        self._spent += sum(new - old if new >= old else new - old + (most or 0)
                           for new, old, most in zip(now, self._last, self._ranges))
        self._last = now
        return self._spent / 1e6

    def _packages_uj(self):
        return [self._read(package / 'energy_uj') for package in self._packages]

    @staticmethod
    def _read(path):
        try:
            return int(path.read_text())
        except (OSError, ValueError):  # most systems let only root read them
            return None


def _counter_of_gpu(device):
    """The counter [mJ] of torch's `device`, None without one; by its UUID, since torch may be shown some GPUs only."""
    try:
        import pynvml
        import torch
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f'GPU-{torch.cuda.get_device_properties(device).uuid}')
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except Exception:  # no such package, driver or counter
        return None
    return lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
