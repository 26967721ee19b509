"""Each stage of a frame timed alone, on an engine's own model and pool."""
from dataclasses import replace

import torch

from oxygen_ros.bench import cost
from oxygen_ros.bench.limits import gemm_gflops, synchronise
from oxygen_ros.bench.measure import Samples
from oxygen_ros.bench.workload import observation
from oxygen_ros.engine.append import Append
from oxygen_ros.engine.language import best
from oxygen_ros.engine.noise import action_noise
from oxygen_ros.engine.stream import Stream


class Stages:
    """`vision`, `prefill`, `denoise` and `decode(rows, prefixes)` with the workload's inputs."""

    def __init__(self, engine, shapes):
        self.engine, self.shapes, self.samples = engine, shapes, Samples()
        self.model, self.pool = engine.model, engine.pool
        inputs = engine.processor.inputs(observation(0))
        self.images = torch.as_tensor(inputs.images).to(self.model.device)
        self.prompt = torch.as_tensor(inputs.prompt_tokens).to(self.model.device)
        self.tokens = self.model.embed_images(self.images)
        self.length = len(self.tokens) + len(self.prompt)
        c = self.model.config
        self.noise = action_noise(0, 0, c.horizon, c.action_dim).to(self.model.device)
        engine.warm_up()
        self.static = engine.static
        self.hidden = self.prefill()

    def vision(self):
        return self.model.embed_images(self.images)

    def prefill(self):
        """With stages captured for a GPU, vision is part of it."""
        if self.static is not None:
            run = self.static.prefills[len(self.images), self.static.bucket(len(self.prompt)), None]
            return run(self.images, self.prompt, 0)[0]
        return self.model.prefill(self.tokens, self.prompt, self.pool.block(0), self.engine.mask)

    def denoise(self):
        if self.static is not None:
            run = self.static.denoises[len(self.images), self.static.bucket(len(self.prompt))]
            return run(self.noise, 0, self.length).float().cpu()
        return self.model.denoise(self.noise, self.pool.block(0), self.length, self.engine.tables).float().cpu()

    def streams(self, rows, prefixes):
        """`rows` streams on `prefixes` prefixes, at all stages of their answers."""
        return [Stream(i, 0, 0, None, i % prefixes, self.length, i, [5 + i], None,
                       stored=i * max(self.shapes.tokens - 2, 0) // max(rows - 1, 1)) for i in range(rows)]

    def decode(self, rows, prefixes):
        streams = self.streams(rows, prefixes)
        pending = [s.pending for s in streams]
        extent = self.static.extent(streams, pending) if self.static is not None else None
        append = Append(self.pool, streams, pending, [1] * rows, extent)
        if extent is not None:
            return best(self.static.rounds[extent](append)[:rows]).tolist()
        hidden = self.model.extend(append.tokens, append.positions, append.attend)
        return best(self.model.logits(hidden[append.wanted])).tolist()

    def calls(self, rows):
        """`{stage: call}` for these decode rounds (see `rounds`); each call adds its time to `samples`."""
        table = {'vision': self.vision, 'prefill': self.prefill, 'denoise': self.denoise}
        table.update({name: lambda pair=pair: self.decode(*pair) for name, pair in rounds(rows).items()})
        return {name: lambda name=name, call=call: self._timed(name, call) for name, call in table.items()}

    def warm_up(self, rows):
        """Call each once, without a sample."""
        for call in self.calls(rows).values():
            call()
        self.samples = Samples()

    @torch.inference_mode()
    def _timed(self, name, call):
        synchronise(self.model.device)
        start = self.engine.clock()
        call()
        synchronise(self.model.device)
        self.samples.add(**{name: (self.engine.clock() - start) * 1e3})

    def costs(self, rows):
        """`{stage: Cost}` for the same names."""
        c, size = self.model.config, torch.finfo(self.model.dtype).bits // 8
        found = {'vision': cost.vision(c, self.shapes.views, size), 'prefill': cost.prefill(c, self.length, size),
                 'denoise': cost.denoise(c, self.length, self.shapes.steps, size)}
        if self.static is not None:
            both = found['vision'], found['prefill']
            found['prefill'] = replace(both[1], flop=sum(x.flop for x in both), bytes=sum(x.bytes for x in both))
        own = self.shapes.tokens / 2
        found.update({name: cost.decode(c, n, self.length, own, size, prefixes)
                      for name, (n, prefixes) in rounds(rows).items()})
        return found

    def report(self, rows, bandwidth):
        """
        `{stage: {ms, bound_ms, efficiency, gemm_gflops, bytes}}`, medians of what was timed.

        `efficiency_p99` is that of the 99th percentile of the times; a bound has none.
        """
        found, rates, summary = {}, {}, self.samples.summary()
        for name, one in self.costs(rows).items():
            family = one.rows, one.shapes
            if family not in rates:
                rates[family] = gemm_gflops(*family, self.model.dtype, self.model.device, self.engine.clock)
            bound, took, late = one.bound_s(rates[family], bandwidth) * 1e3, summary[name], summary[name + '_p99']
            found[name] = {'ms': took, 'ms_p99': late, 'bound_ms': bound, 'efficiency': bound / took,
                           'efficiency_p99': bound / late, 'gemm_gflops': rates[family], 'bytes': one.bytes}
        return found


def rounds(wanted):
    """`{stage: (rows, prefixes)}` of such pairs; a number alone stands for as many rows, each with its own prefix."""
    pairs = [(one, one) if isinstance(one, int) else one for one in wanted]
    return {f'decode_{n}' if n == prefixes else f'decode_{n}_on_{prefixes}': (n, prefixes) for n, prefixes in pairs}
