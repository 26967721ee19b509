"""What a person wrote, made fit for the prompt; and when it counts as a change."""
from dataclasses import dataclass
from enum import Enum
import unicodedata

MAX_CHARACTERS = 2000  # a prompt holds 200 tokens; far more is a mistake of the sender
_DROPPED = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn'})  # control, invisible format, surrogate, private, unassigned


def clean(text):
    """
    Canonical text (NFC) on one line, without control and invisible characters; '' where nothing is left.

    Bytes that are not UTF-8 are dropped. Raises ValueError where the text is too long to be an instruction.
    """
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode('utf-8', errors='replace').replace('\ufffd', '')
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f'instruction of {len(text)} characters: at most {MAX_CHARACTERS}')
    spaced = ''.join(' ' if c.isspace() else c for c in unicodedata.normalize('NFC', text))
    kept = ''.join(c for c in spaced if unicodedata.category(c) not in _DROPPED)
    return ' '.join(kept.split())


class Change(str, Enum):
    """What a message on the instruction topic did."""

    NEW = 'new'            # another text: the old streams end, the old chunk retires
    REPEATED = 'repeated'  # the text in force again: nothing happens but that its age starts anew
    CLEARED = 'cleared'    # empty: hold, and generate nothing


@dataclass(frozen=True)
class Instruction:
    """The text in force; `instruction_id` counts changes from 1, 0 before the first; '' means hold."""

    text: str = ''
    instruction_id: int = 0
    received_ns: int = 0

    def receive(self, text, now_ns):
        """(instruction, change) after a message; interfaces repeat a text at 10-50 Hz, so equal text is no change."""
        cleaned = clean(text)
        if cleaned == self.text and self.instruction_id:
            change = Change.REPEATED if cleaned else Change.CLEARED
            return Instruction(self.text, self.instruction_id, now_ns), change
        change = Change.NEW if cleaned else Change.CLEARED
        return Instruction(cleaned, self.instruction_id + 1, now_ns), change

    def expired(self, now_ns, timeout_s):
        """True where an instruction older than `timeout_s` is no longer valid; 0 means that nothing expires."""
        return timeout_s > 0 and now_ns - self.received_ns > timeout_s * 1e9
