"""One text generation, from request to its last token."""
from dataclasses import dataclass
from enum import Enum


class FinishReason(str, Enum):
    """Why a stream ended; empty while it runs."""

    RUNNING = ''
    EOS = 'eos'
    LENGTH = 'length'
    CANCELLED = 'cancelled'
    DROPPED = 'dropped'    # ended early to make room, or past its deadline
    REFUSED = 'refused'    # never admitted


@dataclass(frozen=True)
class LanguageRequest:
    """
    A wish for text about one observation.

    `suffix` is the text of this language task, appended after the shared prefix, causally, so that the actions do not
    see it; empty continues the prompt itself. `max_tokens` bounds the answer. Where time is short, higher `priority`
    goes first; a stream older than `within_s` (0: any age) is dropped.
    """

    task: str
    suffix: str = ''
    max_tokens: int = 32
    priority: int = 0
    within_s: float = 0.0

    def __post_init__(self):
        if not self.task:
            raise ValueError('a language request needs the name of its task')
        if self.max_tokens < 1:
            raise ValueError(f'max_tokens must be at least 1, got {self.max_tokens} for task {self.task}')
        if not self.within_s >= 0:
            raise ValueError(f'within_s must be 0 or more, got {self.within_s} s for task {self.task}')


@dataclass(frozen=True)
class TokenEvent:
    """
    One decoded token of a stream; the texts of a stream's events, joined, are the full decode of its tokens.

    `token_id` is -1 where a stream ends without a further token (cancelled, dropped, refused).
    """

    request_id: int
    frame_id: int
    stamp_ns: int
    task: str
    index: int
    token_id: int
    text: str
    finish_reason: FinishReason = FinishReason.RUNNING

    @property
    def finished(self):
        return self.finish_reason is not FinishReason.RUNNING
