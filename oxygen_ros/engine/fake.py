"""An engine without a model: it has the real one's surface and answers at once, for wiring checks and tests."""
from dataclasses import dataclass
import time

import numpy as np

from oxygen_ros.engine.chunk import ActionChunk, ActionKind
from oxygen_ros.engine.request import FinishReason, TokenEvent


@dataclass
class FakeCounters:
    """The real engine's counters."""

    frames: int = 0
    prefills: int = 0
    chunks: int = 0
    tokens: int = 0
    streams_started: int = 0
    streams_finished: int = 0
    streams_refused: int = 0
    live_streams: int = 0
    max_live_streams: int = 0
    slots_used: int = 0
    slots_total: int = 0
    blocks_used: int = 0
    blocks_total: int = 0
    pool_bytes: int = 0
    state_out_of_range: int = 0
    dropped_characters: int = 0


@dataclass(frozen=True)
class FakeReport:
    """Stage times of one frame, all zero but the whole."""

    frame_id: int
    frame_ms: float
    vision_ms: float = 0.0
    prefill_ms: float = 0.0
    denoise_ms: float = 0.0
    decode_ms: float = 0.0
    chunk_ready_ms: float = 0.0
    refused: tuple = ()
    dropped_characters: int = 0


@dataclass
class _Stream:
    request_id: int
    frame_id: int
    stamp_ns: int
    task: str
    max_tokens: int
    index: int = 0


class FakeEngine:
    """
    Answers every frame with a chunk that stays where the joints are (zero for velocities and deltas).

    `text` is what every stream says, one word a token. `frame_s` is how long a frame takes. `fail_at` raises in the
    frame of that number, as a broken driver would. Nothing here pretends to have seen the image. An instruction can ask
    for faults, so that they can be injected from another process: `fake: crash`, `fake: hang 3` (seconds), `fake: nan`
    and `fake: jump` (a chunk far from the joints). `fake: swing` is no fault: the first joint goes to and fro, so that
    ending means braking.
    """

    SWING_RAD, SWING_PHASE_S = 0.5, 2.0  # amplitude and phase [rad/s]: 1 rad/s at most

    def __init__(self, joint_names, kind=ActionKind.JOINT_POSITION, horizon=10, dt_s=0.05, slots=4, decode_rounds=2,
                 text='this is not a model', frame_s=0.0, fail_at=None, sleep=time.sleep):
        self.joint_names = tuple(joint_names)
        self.kind = kind
        self.horizon = horizon
        self.dt_s = dt_s
        self.decode_rounds = decode_rounds
        self.frame_s = frame_s
        self.fail_at = fail_at
        self.counters = FakeCounters(slots_total=slots, blocks_total=slots + 1)
        self._words = [word + ' ' for word in text.split()]
        self._sleep = sleep
        self._streams = {}
        self._swing_from = None  # where the joints were when swinging began, [J]
        self._ended = []  # events of streams cancelled between frames
        self._next_request, self._next_frame = 1, 0

    def warm_up(self):
        """Nothing to compile."""

    def run_frame(self, observation, requests, on_chunk, on_token):
        """Do one frame: the chunk first, then admit `requests`, then one token a round for every live stream."""
        start = time.perf_counter()
        counters = self.counters
        frame_id, self._next_frame = self._next_frame, self._next_frame + 1
        if frame_id == self.fail_at:
            raise RuntimeError(f'the fake engine was told to fail in frame {frame_id}')
        counters.frames += 1
        counters.prefills += 1
        for event in self._ended:
            on_token(event)
        self._ended.clear()
        row = observation.state if self.kind is ActionKind.JOINT_POSITION else np.zeros(len(self.joint_names))
        data = np.tile(row + self._fault(observation.instruction), (self.horizon, 1))
        on_chunk(ActionChunk(frame_id, observation.stamp_ns, observation.instruction_id, self.kind, self.joint_names,
                             self.dt_s, self._swing(data, observation)))
        counters.chunks += 1
        refused = []
        for request in requests:
            if len(self._streams) >= counters.slots_total:
                counters.streams_refused += 1
                refused.append(request)
                continue
            self._streams[self._next_request] = _Stream(
                self._next_request, frame_id, observation.stamp_ns, request.task, request.max_tokens)
            self._next_request += 1
            counters.streams_started += 1
        self._gauge()
        for _ in range(self.decode_rounds):
            for stream in list(self._streams.values()):
                self._token(stream, on_token)
        self._gauge()
        if self.frame_s:
            self._sleep(self.frame_s)
        return FakeReport(frame_id, (time.perf_counter() - start) * 1e3, refused=tuple(refused))

    def _fault(self, instruction):
        """What the fault that an instruction asks for adds to the actions."""
        words = instruction.partition('fake: ')[2].split()
        if words[:1] == ['crash']:
            raise RuntimeError('the fake engine was asked to crash')
        if words[:1] == ['hang']:
            self._sleep(float(words[1]))
        return {'nan': np.nan, 'jump': 10.0}.get(words[0] if words else '', 0.0)

    def _swing(self, data, observation):
        """Rows [H, J] with the first joint swinging, if the instruction asks for it."""
        if observation.instruction != 'fake: swing':
            self._swing_from = None
            return data
        if self._swing_from is None:
            self._swing_from = data[0]
        phase = self.SWING_PHASE_S * (observation.stamp_ns / 1e9 + np.arange(self.horizon) * self.dt_s)
        data = np.tile(self._swing_from, (self.horizon, 1))
        speed = self.SWING_RAD * self.SWING_PHASE_S * np.cos(phase)
        data[:, 0] += {ActionKind.JOINT_POSITION: self.SWING_RAD * np.sin(phase), ActionKind.JOINT_VELOCITY: speed,
                       ActionKind.EEF_DELTA: speed * self.dt_s}[self.kind]
        return data

    def _token(self, stream, on_token):
        if stream.request_id not in self._streams:
            return  # cancelled from a callback of this round
        last = stream.index + 1 == len(self._words)
        reason = (FinishReason.EOS if last else FinishReason.LENGTH if stream.index + 1 == stream.max_tokens
                  else FinishReason.RUNNING)
        event = TokenEvent(stream.request_id, stream.frame_id, stream.stamp_ns, stream.task, stream.index,
                           stream.index, self._words[stream.index], reason)
        stream.index += 1
        self.counters.tokens += 1
        if event.finished:
            del self._streams[stream.request_id]
            self.counters.streams_finished += 1
        on_token(event)

    def cancel(self, request_id, reason=FinishReason.CANCELLED):
        """End one live stream; KeyError for one that is not alive."""
        stream = self._streams.pop(request_id)
        self.counters.streams_finished += 1
        self._ended.append(TokenEvent(stream.request_id, stream.frame_id, stream.stamp_ns, stream.task, stream.index,
                                      -1, '', reason))
        self._gauge()

    def cancel_all(self, reason=FinishReason.CANCELLED):
        for request_id in list(self._streams):
            self.cancel(request_id, reason)

    def reset(self, frame_id=None):
        """Forget every stream without a word; `frame_id` numbers the next frame."""
        self._streams.clear()
        self._ended.clear()
        if frame_id is not None:
            self._next_frame = frame_id
        self._gauge()

    def close(self):
        self.reset()

    def _gauge(self):
        counters = self.counters
        counters.live_streams = counters.slots_used = len(self._streams)
        counters.max_live_streams = max(counters.max_live_streams, counters.live_streams)
