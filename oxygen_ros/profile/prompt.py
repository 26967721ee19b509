"""The text that goes into the prefix: cleaned instruction, state bins, template, and the cut when it is too long."""
from dataclasses import dataclass
import re
import unicodedata

import numpy as np

BINS = np.linspace(-1, 1, 257)[:-1]  # 256 bins; openpi src/openpi/models/tokenizer.py


@dataclass(frozen=True)
class Prompt:
    """A tokenised prompt; `dropped_characters` of the instruction did not fit into the token limit."""

    text: str
    tokens: tuple[int, ...]
    dropped_characters: int = 0


def clean(text, template=''):
    """
    Clean an instruction as the peers do (strip, `_` and newline to space) and make it safe.

    Normalised to NFC, without control and zero-width characters. A word that the template uses as a label ("State:")
    loses its colon, so that an instruction cannot open another field of the prompt.
    """
    text = unicodedata.normalize('NFC', text).replace('_', ' ')
    text = ''.join(' ' if c in '\n\r\t\v\f\x85\u2028\u2029' else c for c in text)
    text = ''.join(c for c in text if unicodedata.category(c) not in ('Cc', 'Cf', 'Cs', 'Co', 'Cn'))
    for label in re.findall(r'(\w+):', template):
        text = re.sub(rf'\b{label}\s*[:\uff1a]', label, text, flags=re.IGNORECASE)
    return text.strip()


def state_bins(normalised, clip=False):
    """
    Normalised state [J] -> bin numbers: 0..255, and -1 below the range as the checkpoints were trained.

    `clip` writes 0 instead of -1. Raises ValueError for a non-finite state (numpy would call NaN bin 255).
    """
    normalised = np.asarray(normalised, dtype=np.float64)
    if not np.isfinite(normalised).all():
        raise ValueError(f'the state has non-finite numbers: {normalised}')
    bins = np.digitize(normalised, BINS) - 1
    return np.maximum(bins, 0) if clip else bins


def out_of_range(normalised):
    """How many dimensions of a normalised state lie outside [-1, 1]."""
    return int((np.abs(np.asarray(normalised)) > 1).sum())


def build_prompt(tokenizer, template, instruction, bins=None, max_tokens=200):
    """
    Instruction + state bins -> Prompt with BOS and no padding.

    An instruction that does not fit is cut at a word (inside a word only if the first one is too long), never the state
    or what follows it. Raises ValueError for an instruction with nothing in it, or when the rest alone does not fit.
    """
    task = clean(instruction, template)
    if not task:
        raise ValueError(f'the instruction {instruction!r} has no text in it')
    state = '' if bins is None else ' '.join(str(int(b)) for b in bins)

    def encode(task):
        # split so that neither the task nor the state is searched for placeholders
        head, tail = template.split('{task}')
        text = head.replace('{state}', state) + task + tail.replace('{state}', state)
        if '{state}' not in template and text.endswith('\n'):
            # openpi encodes the text and the closing newline apart
            return text, [tokenizer.bos_id, *tokenizer.encode(text[:-1]), *tokenizer.encode('\n')]
        return text, [tokenizer.bos_id, *tokenizer.encode(text)]

    text, tokens = encode(task)
    if len(tokens) <= max_tokens:
        return Prompt(text, tuple(tokens))
    empty = len(encode('')[1])
    if empty >= max_tokens:
        raise ValueError(f'the prompt without its instruction is {empty} tokens, the limit is {max_tokens}: raise '
                         'max_prompt_tokens of the profile')
    ends = [match.start() for match in re.finditer(r'\s+', task)] or list(range(1, len(task)))
    if len(encode(task[:ends[0]])[1]) > max_tokens:
        ends = list(range(1, ends[0]))
    low, high = 0, len(ends)  # the longest cut that fits, by bisection: length grows with the text
    while low < high:
        middle = (low + high) // 2
        if len(encode(task[:ends[middle]])[1]) <= max_tokens:
            low = middle + 1
        else:
            high = middle
    while low and len(encode(task[:ends[low - 1]])[1]) > max_tokens:
        low -= 1
    if not low:
        raise ValueError(f'not one character of the instruction fits into {max_tokens} tokens: raise max_prompt_tokens')
    text, tokens = encode(task[:ends[low - 1]])
    return Prompt(text, tuple(tokens), len(task) - ends[low - 1])


def suffix_text(template, text=''):
    """Language suffix with `{text}` (a person's question, cleaned) filled in."""
    head, mark, tail = template.partition('{text}')
    return head + clean(text, template) + tail if mark else template
