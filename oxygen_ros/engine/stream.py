"""The state of one language request while it is alive."""
from dataclasses import dataclass, field
from typing import Any

from oxygen_ros.engine.request import LanguageRequest


@dataclass(eq=False)
class Stream:
    """
    `block` holds its prefix of `prefix_length` positions, `slot` its own keys, of which `stored` are written.

    `pending` are the tokens that the next round appends: the suffix at first, then the newest token.
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
    produced: int = 0
    tokens: list[int] = field(default_factory=list)
