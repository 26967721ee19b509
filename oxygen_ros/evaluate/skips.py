"""Why pictures started no frame: one key a reason, without the numbers of the moment."""
from collections import Counter
import re

BUSY, REPEATED = 'engine busy with an earlier frame', 'same stamp again'


def reason_of(sentence):
    """Key of a sentence that the frame runner or a stream gives as its reason."""
    head = sentence.partition(' on ')[0]
    if ' refused: ' in sentence:
        return f'{head} refused'
    if sentence.startswith('frame refused'):
        return 'frame refused by the engine'
    if sentence.startswith('no instruction'):
        return 'no instruction'
    if sentence.startswith('the instruction'):
        return 'instruction empty or expired'
    if sentence.startswith('no '):
        return f'{head}'
    if ' s old, the limit' in sentence:
        return f'{head} too old'
    if sentence.startswith('images lie'):
        return 'images too far apart'
    return sentence or BUSY


def without_numbers(sentence):
    """The sentence with a # for every number, so that like can be counted with like."""
    return re.sub(r'[-+]?\d+(\.\d+)?(e[-+]?\d+)?', '#', sentence)


class Skips:
    """Counts the pictures of one view; each either starts a frame or is skipped for a reason."""

    def __init__(self):
        self.counts = Counter()
        self._waiting = None  # reason so far of the newest picture

    def arrived(self):
        self._drop()
        self._waiting = BUSY

    def repeated(self):
        self.counts[REPEATED] += 1

    def delayed(self, sentence):
        if self._waiting is not None and sentence:
            self._waiting = reason_of(sentence)

    def used(self):
        self._waiting = None

    def end(self):
        self._drop()

    def _drop(self):
        if self._waiting is not None:
            self.counts[self._waiting] += 1
        self._waiting = None
