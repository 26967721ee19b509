"""The parts of the reference's frame, each timed alone."""
import numpy as np
import torch

from oxygen_ros.bench.limits import synchronise
from oxygen_ros.bench.measure import Samples
from oxygen_ros.engine.noise import action_noise


class ReferenceStages:
    """`prefill` (vision in it), `denoise` and `decode_1`, the latter in the middle of an answer."""

    def __init__(self, reference, processor, shapes, clock):
        self.reference, self.shapes, self.clock, self.samples = reference, shapes, clock, Samples()
        c, device = reference.config, reference.device
        self.inputs = [torch.from_numpy(np.asarray(x)).to(device) for x in processor.padded(0)]
        self.noise = action_noise(0, 0, c.horizon, c.action_dim).to(device)
        self.token = torch.zeros(1, dtype=torch.long, device=device)
        with device, torch.inference_mode():
            _, self.prefix, self.prefix_pad = reference.prefill(*self.inputs)
            self.answer, self.pad = self.prefix, self.prefix_pad
            for _ in range(shapes.tokens // 2):
                _, self.answer, self.pad = reference.step(self.token, self.answer, self.pad)

    def calls(self):
        """`{stage: call}`; each call adds its time to `samples`."""
        table = {
            'prefill': lambda: self.reference.prefill(*self.inputs),
            'denoise': lambda: self.reference.denoise(self.prefix, self.prefix_pad, self.noise, self.shapes.steps),
            'decode_1': lambda: self.reference.step(self.token, self.answer, self.pad)}
        return {f'reference {name}': lambda name=name, call=call: self._timed(name, call)
                for name, call in table.items()}

    @torch.inference_mode()
    def _timed(self, name, call):
        synchronise(self.reference.device)
        start = self.clock()
        with self.reference.device:
            call()
        synchronise(self.reference.device)
        self.samples.add(**{name: (self.clock() - start) * 1e3})

    def report(self):
        """`{stage: {ms}}`, medians with the 99th percentiles."""
        found = self.samples.summary()
        return {name: {'ms': found[name], 'ms_p99': found[name + '_p99']} for name in self.samples.values}
