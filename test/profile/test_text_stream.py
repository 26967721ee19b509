from hypothesis import given, settings, strategies as st

from oxygen_ros.profile.text_stream import TextStream
from oxygen_ros.profile.tokenizer import SMALL, Tokenizer

TOKENIZER = Tokenizer(SMALL)
BYTES = [i for i in range(TOKENIZER.size) if isinstance(TOKENIZER.piece(i), bytes)]


def stream(ids):
    text_stream = TextStream(TOKENIZER)
    return [*(text_stream.push(i) for i in ids), text_stream.finish()]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.integers(0, TOKENIZER.size + 5), st.sampled_from(BYTES)), max_size=40))
def test_pieces_add_up_to_the_full_decode_for_any_tokens(ids):
    assert ''.join(stream(ids)) == TOKENIZER.decode(ids)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters='\u2581'), max_size=30))  # SentencePiece's mark of a space
def test_pieces_of_encoded_text_are_whole_characters(text):
    text = text.encode('utf-8', 'ignore').decode()
    pieces = stream(TOKENIZER.encode(text))
    assert ''.join(pieces) == text
    if '\ufffd' not in text:
        assert not any('\ufffd' in piece for piece in pieces)


def test_there_are_byte_pieces():
    assert len(BYTES) == 256


def test_a_character_leaves_when_its_last_byte_comes():
    ids = TOKENIZER.encode('杯')
    assert stream(ids) == ['', '', '杯', '']


def test_an_unfinished_character_is_replaced_at_the_end():
    ids = TOKENIZER.encode('杯')[:2]
    assert stream(ids) == ['', '', '\ufffd\ufffd'] and TOKENIZER.decode(ids) == '\ufffd\ufffd'
