"""One mode each: runs frames and keeps its figures."""
from dataclasses import replace
import math

import numpy as np
import torch

from oxygen_ros.bench.measure import Samples
from oxygen_ros.bench.workload import observation
from oxygen_ros.engine.config import Mode
from oxygen_ros.engine.language import Source
from oxygen_ros.engine.noise import action_noise
from oxygen_ros.engine.request import LanguageRequest


def joules(energy):
    """What `energy` has counted so far, None without one."""
    return None if energy is None else energy.joules()


class EngineRunner:
    """
    Frames of an engine with `shapes.per_frame` new requests of N tokens each.

    Times of tokens are on the engine's own clock, which stands still while other modes have their turn.
    """

    def __init__(self, engine, shapes, energy=None):
        self.clock, self.energy = engine.clock, energy
        self.engine, self.shapes, self.samples = engine, shapes, Samples()
        self.frames, self.busy_s, self.asked, self.measuring = 0, 0.0, {}, False
        self.texts = None  # request id -> tokens, where wanted

    def frame(self):
        spent = joules(self.energy)
        start, requests = self.clock(), []
        before = self.busy_s
        first_id = self.engine.next_request_id
        for i in range(self.shapes.per_frame):
            requests.append(LanguageRequest('subtask', '', self.shapes.tokens))
            self.asked[first_id + i] = before

        def token(event):
            if self.texts is not None and event.token_id >= 0:
                self.texts.setdefault(event.request_id, []).append(event.token_id)
            now = before + self.clock() - start
            asked = self.asked.get(event.request_id)
            if asked is None or not self.measuring:
                return
            if event.index == 0 and event.token_id >= 0:
                self.samples.add(ttft_ms=(now - asked) * 1e3)
            if event.finished:
                del self.asked[event.request_id]
                if event.token_id >= 0:
                    self.samples.add(completion_ms=(now - asked) * 1e3)

        report = self.engine.run_frame(observation(self.frames), requests, lambda chunk: None, token)
        took = self.clock() - start
        self.frames += 1
        self.busy_s += took
        if self.measuring:
            self.samples.add(frame_ms=took * 1e3, chunk_ready_ms=report.chunk_ready_ms,
                             action_hz=self.shapes.horizon / took, chunks_per_s=1 / took,
                             tokens_per_s=report.tokens / took, live=len(self.engine.streams), advanced=report.rows)
            if spent is not None:
                self.samples.add(joules=joules(self.energy) - spent)
        return report

    def fill(self, frames=None, rounds=None):
        """
        Bring the batch to its steady size: `frames` frames of `rounds` decode rounds, by default as many as it takes.

        The first and the last are real ones. Those between only admit their requests, over copies of the first
        one's prefix, and decode: the numbers in a prefix do not change what it costs. The completion times of their
        texts count each such frame as long as the last one. With drafts all are real: answers must follow each other.
        """
        rounds = rounds or max(1, self.engine.config.decode_rounds)
        self.engine.warm_up()
        self.frame()
        if self.engine.config.mode is Mode.OXYGEN:
            between = max(0, (frames or math.ceil(self.shapes.tokens / rounds)) - 2)
            if self.engine.config.draft_tokens:
                for _ in range(between):
                    self.frame()
                between = 0
            for number in range(between):
                self._decode_only(number, rounds)
            before = self.busy_s
            self.frame()
            for request_id in self.engine.streams:
                if request_id < 0:
                    number = (-1 - request_id) // self.shapes.per_frame
                    self.asked[request_id] = before - (between - number) * (self.busy_s - before)
        self.measuring = True

    @torch.inference_mode()
    def _decode_only(self, number, rounds):
        """What a frame does to the batch, without vision, prefill and denoising."""
        pool, language = self.engine.pool, self.engine.language
        first = next(iter(language.streams.values()), None)
        if first is None:
            return
        hidden = torch.zeros(1, self.engine.model.config.trunk_width, dtype=self.engine.model.dtype,
                             device=self.engine.model.device)
        block = pool.take_block()
        pool.block(block).copy_(pool.block(first.block))
        source = Source(first.stamp_ns, first.frame_id, block, first.prefix_length, hidden, 0.0)
        for i in range(self.shapes.per_frame):
            request = LanguageRequest('subtask', '', self.shapes.tokens)
            language.admit(-1 - number * self.shapes.per_frame - i, request, source, lambda event: None)
        pool.release_block(block)
        for _ in range(rounds):
            if language.streams:
                language.round(list(language.streams.values()), lambda event: None)


class ReferenceRunner:
    """Frames of openpi's way: the chunk's request, then each text's."""

    def __init__(self, reference, processor, shapes, clock, energy=None, seed=0):
        self.clock, self.energy = clock, energy
        self.reference, self.processor, self.shapes, self.seed = reference, processor, shapes, seed
        self.samples, self.frames, self.measuring = Samples(), 0, False

    @torch.inference_mode()
    def frame(self):
        c, shapes = self.reference.config, self.shapes
        device = self.reference.device
        inputs = [torch.from_numpy(np.asarray(x)).to(device) for x in self.processor.padded(self.frames)]
        spent, start = joules(self.energy), self.clock()
        noise = action_noise(self.seed, self.frames, c.horizon, c.action_dim).to(device)
        with device:
            self.reference.actions(*inputs, noise, shapes.steps).cpu()
            ready = self.clock() - start
            heard = []  # when each token came
            for _ in range(shapes.per_frame):
                self.reference.text(*inputs, shapes.tokens, lambda token: heard.append(self.clock()))
        took = self.clock() - start
        self.frames += 1
        if self.measuring:
            self.samples.add(frame_ms=took * 1e3, chunk_ready_ms=ready * 1e3, action_hz=shapes.horizon / took,
                             chunks_per_s=1 / took, tokens_per_s=len(heard) / took, completion_ms=took * 1e3)
            for first in heard[::shapes.tokens]:
                self.samples.add(ttft_ms=(first - start) * 1e3)
            if spent is not None:
                self.samples.add(joules=joules(self.energy) - spent)

    def fill(self):
        """Warm up: one frame with a text of one token."""
        shapes, self.shapes = self.shapes, replace(self.shapes, tokens=1)
        self.frame()
        self.shapes, self.measuring = shapes, True
