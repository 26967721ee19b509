"""What one frame took and refused."""
from dataclasses import dataclass

from oxygen_ros.engine.request import LanguageRequest


@dataclass(frozen=True)
class Refusal:
    """A language request that was not admitted, and why in one sentence."""

    request_id: int
    request: LanguageRequest
    reason: str


@dataclass(frozen=True)
class FrameReport:
    """
    Stage times of one frame; `chunk_ready_ms` is from the frame's start until the chunk was handed over.

    Where the stages are captured for a GPU, vision is part of the prefill. `rows` sums the streams that each decode
    round advanced. `request_ids` are those given to the frame's requests, in order, refused ones included.
    `state_out_of_range` joints lay outside what the statistics span, the last `dropped_characters` of the instruction
    did not fit into the prompt.
    """

    frame_id: int
    frame_ms: float
    inputs_ms: float
    vision_ms: float
    prefill_ms: float
    denoise_ms: float
    decode_ms: float
    chunk_ready_ms: float
    decode_rounds: int = 0
    tokens: int = 0
    rows: int = 0
    request_ids: tuple[int, ...] = ()
    refused: tuple[Refusal, ...] = ()
    state_out_of_range: int = 0
    dropped_characters: int = 0
