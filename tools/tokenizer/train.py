"""
Train the small SentencePiece model of `nano` and `mini` from corpus.txt: python tools/tokenizer/train.py [OUTPUT].

The same special ids as PaliGemma's (pad 0, eos 1, bos 2, unk 3), byte fallback, no dummy prefix. The numbers -1..255
with their leading space, 64 location words and the fixed parts of the prompt are one piece each, so that a state of 14
joints costs 14 tokens. What the simulated task can say and be told is part of the text that it learns its words from.
"""
from pathlib import Path
import sys

import sentencepiece

from oxygen_ros.sim.instructions import COLOURS, GOALS
from oxygen_ros.sim.questions import DID, DOING, QUESTIONS

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parents[1] / 'oxygen_ros' / 'profile' / 'small.model'
PIECES = 1024
FIXED = ('Task: ', ', State:', ';\nAction: ', 'Question: ', ' Answer:')


def spoken():
    """Every sentence of the simulated task."""
    for goal in GOALS:
        yield from goal.phrases()
    for text in (*DOING.values(), *DID.values(), *(text for texts in QUESTIONS.values() for text in texts)):
        yield from (text.format(c=colour) for colour in COLOURS)
    for text in ('front left', 'front right', 'back left', 'back right', 'nothing', 'nothing yet'):
        yield from (text, ' ' + text)
    yield from (f'the {colour} block' for colour in COLOURS)


def train(corpus, output):
    fixed = [text.replace(' ', '\u2581') for text in FIXED]
    symbols = ['\n', *fixed, *(f'<loc{i:02d}>' for i in range(64)), *(f'\u2581{i}' for i in range(-1, 256))]
    sentences = corpus.read_text().splitlines() + list(spoken()) * 3
    with open(output, 'wb') as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=file, model_type='bpe',
            vocab_size=PIECES, pad_id=0, eos_id=1, bos_id=2, unk_id=3, byte_fallback=True, character_coverage=1.0,
            normalization_rule_name='identity', add_dummy_prefix=False, remove_extra_whitespaces=False,
            split_digits=True, user_defined_symbols=symbols, num_threads=1, minloglevel=1)


if __name__ == '__main__':
    train(HERE / 'corpus.txt', Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
