"""Models and engines of one run of the benchmark."""
import copy
from dataclasses import dataclass
import time

import torch

from oxygen_ros.bench.energy import Energy
from oxygen_ros.bench.header import header
from oxygen_ros.bench.reference import Reference
from oxygen_ros.bench.runners import EngineRunner, ReferenceRunner
from oxygen_ros.bench.workload import BenchProcessor, Shapes, sized
from oxygen_ros.engine.config import EngineConfig, Mode
from oxygen_ros.engine.engine import Engine
from oxygen_ros.model.pi05 import Pi05


@dataclass(frozen=True)
class Options:
    """What the command line chose; `clock` is wall time or the processor time of this process."""

    model: str
    dtype: str
    device: str
    rounds: int
    clock_name: str
    tokens: int = 30
    memory: bool = True
    views: int = 2
    modes: tuple[str, ...] = ('reference', 'isolated', 'shared', 'oxygen')

    @property
    def shapes(self):
        return Shapes(views=self.views, tokens=self.tokens)

    @property
    def clock(self):
        return time.process_time if self.clock_name == 'cpu' else time.perf_counter


class Bench:
    """Models and engines of one run, all on the same weights."""

    def __init__(self, options, shapes, seed=0):
        self.options, self.shapes, self.clock = options, shapes, options.clock
        self.dtype, self.energy = getattr(torch, options.dtype), Energy(options.device)
        self.config = sized(options.model, shapes)
        self.processor = BenchProcessor(self.config, shapes)
        self.model = Pi05.random(self.config, seed, self.dtype, options.device)

    def reference(self):
        """The reference keeps its own plain copy of the weights: ask for it before the first engine packs them."""
        return ReferenceRunner(Reference(self.model), self.processor, self.shapes, self.clock, self.energy)

    def engine(self, mode, shapes=None, rounds=1, model=None, **options):
        """
        An engine on the bench's own model, or on `model`, for steady traffic of `shapes`.

        Its pool is as large as the mode needs: streams that do not outlive their frame come one after the other.
        """
        shapes = shapes or self.shapes
        slots = shapes.tokens // rounds * shapes.per_frame + 2 if Mode(mode) is Mode.OXYGEN else 1
        options = {'slots': slots, 'max_prompt_tokens': shapes.padded_prompt,
                   'max_new_tokens': shapes.tokens, 'decode_rounds': rounds, 'denoise_steps': shapes.steps,
                   'eos': False, 'dtype': self.options.dtype, 'device': self.options.device, **options}
        processor = self.processor if shapes is self.shapes else BenchProcessor(self.config, shapes)
        return Engine(model or self.model, processor, EngineConfig(mode=mode, **options), self.clock)

    def runner(self, engine):
        """Frames of `engine` with the traffic that it was made for."""
        return EngineRunner(engine, engine.processor.shapes, self.energy)

    def copy_of_the_model(self):
        """Another model with the same plain weights: ask before the first engine packs them."""
        return copy.deepcopy(self.model)

    def header(self, suite):
        return header(self.options, suite)
