"""One mode each: runs frames and keeps its figures."""
import numpy as np
import torch

from oxygen_ros.bench.measure import Samples
from oxygen_ros.bench.workload import observation
from oxygen_ros.engine.config import Mode
from oxygen_ros.engine.noise import action_noise
from oxygen_ros.engine.request import LanguageRequest


class EngineRunner:
    """
    Frames of an engine with `shapes.per_frame` new requests of N tokens each.

    Times of tokens are on the engine's own clock, which stands still while other modes have their turn.
    """

    def __init__(self, engine, shapes):
        self.clock = engine.clock
        self.engine, self.shapes, self.samples = engine, shapes, Samples()
        self.frames, self.busy_s, self.asked, self.measuring = 0, 0.0, {}, False
        self.texts = None  # request id -> tokens, where wanted

    def frame(self):
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
                             action_hz=self.shapes.horizon / took, tokens_per_s=report.tokens / took,
                             live=len(self.engine.streams), advanced=report.rows)
        return report

    def fill(self):
        """Frames until the batch has its steady size."""
        self.engine.warm_up()
        lasting = self.engine.config.mode is Mode.OXYGEN
        for _ in range(self.shapes.tokens // max(1, self.engine.config.decode_rounds) if lasting else 1):
            self.frame()
        self.measuring = True


class ReferenceRunner:
    """Frames of openpi's way: the chunk's request, then each text's."""

    def __init__(self, reference, processor, shapes, clock, seed=0):
        self.clock = clock
        self.reference, self.processor, self.shapes, self.seed = reference, processor, shapes, seed
        self.samples, self.frames, self.measuring = Samples(), 0, False

    @torch.inference_mode()
    def frame(self):
        c, shapes = self.reference.config, self.shapes
        device = self.reference.device
        inputs = [torch.from_numpy(np.asarray(x)).to(device) for x in self.processor.padded(self.frames)]
        start = self.clock()
        noise = action_noise(self.seed, self.frames, c.horizon, c.action_dim).to(device)
        with device:
            self.reference.actions(*inputs, noise, shapes.steps).cpu()
            ready = self.clock() - start
            tokens = sum(len(self.reference.text(*inputs, shapes.tokens)) for _ in range(shapes.per_frame))
        took = self.clock() - start
        self.frames += 1
        if self.measuring:
            self.samples.add(frame_ms=took * 1e3, chunk_ready_ms=ready * 1e3, action_hz=shapes.horizon / took,
                             tokens_per_s=tokens / took, completion_ms=took * 1e3)

    def fill(self):
        self.frame()
        self.measuring = True
