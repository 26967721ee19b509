import pytest

from oxygen_ros.profile.tokenizer import SMALL, Tokenizer, find_tokenizer


@pytest.fixture(scope='module')
def small():
    return Tokenizer(SMALL)


def test_special_ids_are_those_of_paligemma(small):
    assert (small.bos_id, small.eos_id) == (2, 1)
    assert small.is_special(0) and small.is_special(3) and small.is_special(small.size) and small.is_special(-1)


@pytest.mark.parametrize('text', [
    'Task: pick up the red block, State: 0 128 255;\nAction: ', 'Räum die Tasse weg', '杯子を取って', '🤖 go', ' a  b '])
def test_every_text_comes_back(small, text):
    assert small.decode(small.encode(text)) == text


def test_a_state_value_is_one_token(small):
    for value in range(-1, 256):
        assert len(small.encode(f' {value}')) == 1, value


def test_ids_without_a_piece_decode_to_nothing(small):
    ids = small.encode('red block')
    assert small.decode([2, *ids, 8191, 1, 0]) == 'red block'


def test_missing_file_says_where_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match='gs://big_vision/paligemma_tokenizer.model'):
        find_tokenizer('pi05', checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match='no tokenizer at'):
        find_tokenizer('nano', path=tmp_path / 'absent.model')


def test_broken_file_is_named(tmp_path):
    (tmp_path / 'tokenizer.model').write_bytes(b'\x80\x04not a model' * 10)
    with pytest.raises(ValueError, match='tokenizer.model is not a SentencePiece model'):
        find_tokenizer('pi05', checkpoint=tmp_path)


def test_tokenizer_beside_the_checkpoint_is_found(tmp_path):
    (tmp_path / 'paligemma_tokenizer.model').write_bytes(SMALL.read_bytes())
    assert find_tokenizer('pi05', checkpoint=tmp_path / 'model.safetensors').path.parent == tmp_path
