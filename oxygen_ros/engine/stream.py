"""The state of one language request while it is alive."""
from dataclasses import dataclass, field
from typing import Any

from oxygen_ros.engine.request import LanguageRequest


@dataclass(eq=False)
class Stream:
    """
    `block` holds its prefix of `prefix_length` positions, `slot` its own keys, of which `stored` are written.

    `pending` are the tokens that the next round appends: the suffix at first, then the newest token. `tokens` is the
    answer so far. `started_s` and `advanced` (number of the last round it was in) tell how long it has waited.
    `gain` is the running mean of accepted draft tokens, by which drafting is kept, shortened or left off.
    """

    request_id: int
    frame_id: int
    stamp_ns: int
    request: LanguageRequest
    block: int
    prefix_length: int
    slot: int
    pending: list[int]
    text: Any
    suppressed: tuple[tuple[int, int], ...] = ()
    stored: int = 0
    tokens: list[int] = field(default_factory=list)
    started_s: float = 0.0
    advanced: int = 0
    gain: float = 1.0
