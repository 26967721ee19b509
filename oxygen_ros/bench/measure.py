"""Interleaved runs, medians and spread."""
import numpy as np

RATES = ('_hz', '_per_s')


class Samples:
    """
    Named lists of measurements; `summary` gives each as its median, with the 99th percentile beside it as `_p99`.

    Of rates (`..._hz`, `..._per_s`) that is the first percentile: what 99 of 100 reach or exceed, as with times.
    """

    def __init__(self):
        self.values = {}

    def add(self, **figures):
        for name, value in figures.items():
            self.values.setdefault(name, []).append(value)

    def median(self, name):
        return float(np.median(self.values[name]))

    def summary(self):
        found = {}
        for name, values in self.values.items():
            found[name] = float(np.median(values))
            found[name + '_p99'] = float(np.percentile(values, 1 if name.endswith(RATES) else 99))
        return found


def interleave(turns, rounds, progress=None):
    """Call each of `turns` `{name: call}` once a round, so that a busy moment of the machine hits all alike."""
    for number in range(rounds):
        for name, call in turns.items():
            call()
            if progress:
                progress(f'round {number + 1} of {rounds}: {name}')
