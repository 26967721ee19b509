"""Text to token ids and back, with a SentencePiece model."""
from pathlib import Path

import sentencepiece

SMALL = Path(__file__).with_name('small.model')  # made by tools/tokenizer/train.py, for `nano` and `mini`
MAX_FILE_BYTES = 64 << 20  # the PaliGemma model is 4.3 MB
NAMES = ('paligemma_tokenizer.model', 'tokenizer.model')
SOURCE = ('gs://big_vision/paligemma_tokenizer.model, or tokenizer.model of google/paligemma-3b-pt-224 on Hugging Face '
          '(sha256 8986bb4f423f07f8c7f70d0dbe3526fb2316056c17bae71b1ea975e77a168fc6)')


class Tokenizer:
    """
    A SentencePiece model with the ids that pi0.5 needs; raises ValueError if the file is not one.

    Ids at or above `size` have no text: a model's vocabulary may be larger than its tokenizer.
    """

    def __init__(self, path):
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f'no tokenizer at {path}: get {SOURCE}, or set the tokenizer path')
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f'{path} has {path.stat().st_size} bytes, too many for a SentencePiece model '
                             f'(limit {MAX_FILE_BYTES})')
        self.path = path
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.LoadFromSerializedProto(path.read_bytes())
        except Exception as error:
            raise ValueError(f'{path} is not a SentencePiece model: {error}') from None
        self.size = self._model.get_piece_size()
        self.bos_id, self.eos_id = self._model.bos_id(), self._model.eos_id()
        for name, value in (('BOS', self.bos_id), ('EOS', self.eos_id)):
            if value < 0:
                raise ValueError(f'{path} has no {name} token, pi0.5 needs one')
        # a model trained with a dummy prefix drops one leading space when it decodes
        space = self._model.piece_to_id('\u2581')
        self.drops_leading_space = not self._model.is_unknown(space) and self._model.decode([space]) == ''

    def encode(self, text):
        """Text -> token ids, without BOS and EOS."""
        return self._model.encode(text, add_bos=False, add_eos=False)

    def decode(self, ids):
        """Token ids -> text; special ids and ids without a piece give nothing."""
        return self._model.decode([int(i) for i in ids if not self.is_special(int(i))])

    def is_special(self, token_id):
        """Whether the id has no text of its own: control, unknown, unused or outside the model."""
        if not 0 <= token_id < self.size:
            return True
        model = self._model
        return model.is_control(token_id) or model.is_unknown(token_id) or model.is_unused(token_id)

    def piece(self, token_id):
        """Text of one token; one byte (as `bytes`) of a UTF-8 sequence for a byte piece; '' for a special one."""
        token_id = int(token_id)
        if self.is_special(token_id):
            return ''
        if self._model.is_byte(token_id):
            return bytes([int(self._model.id_to_piece(token_id)[1:-1], 16)])
        return self._model.id_to_piece(token_id).replace('\u2581', ' ')


def find_tokenizer(model, path='', checkpoint=''):
    """
    Tokenizer for a model: the given path, else one beside the checkpoint, else (nano, mini) the shipped one.

    Raises FileNotFoundError that says where it looked and where to get the file.
    """
    if path:
        path = Path(path)
        if path.is_dir():
            for name in NAMES:
                if (path / name).is_file():
                    return Tokenizer(path / name)
            raise FileNotFoundError(f'no {" or ".join(NAMES)} in {path}: get {SOURCE}')
        return Tokenizer(path)
    if checkpoint:
        folder = Path(checkpoint)
        folder = folder if folder.is_dir() else folder.parent
        for name in NAMES:
            for place in (folder, folder / 'assets'):
                if (place / name).is_file():
                    return Tokenizer(place / name)
    if model in ('nano', 'mini'):
        return Tokenizer(SMALL)
    raise FileNotFoundError(f'no tokenizer: looked for {" and ".join(NAMES)} in {checkpoint or "(no checkpoint)"}; '
                            f'get {SOURCE}, put it there or set the tokenizer path')
