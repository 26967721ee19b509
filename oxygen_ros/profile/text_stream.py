"""Tokens to text while they come, without broken characters."""

REPLACEMENT = '\ufffd'


class TextStream:
    """
    Incremental decode of one stream: the pieces given out, joined, equal `tokenizer.decode` of all its tokens.

    Bytes of a character that is not complete yet are held back; bytes that can never be one become U+FFFD each, as
    SentencePiece decodes them.
    """

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._held = b''
        self._drop_space = tokenizer.drops_leading_space

    def push(self, token_id):
        """Take one token id and return the text that is certain now, '' if none."""
        piece = self._tokenizer.piece(token_id)
        if isinstance(piece, bytes):
            self._held += piece
            text = self._take(end=False)
            self._drop_space = False
            return text
        if not piece:
            return ''
        if self._drop_space:
            self._drop_space = False
            piece = piece.removeprefix(' ')
        return self._take(end=True) + piece

    def finish(self):
        """Return what is still held; the stream is over."""
        return self._take(end=True)

    def _take(self, end):
        text = ''
        while self._held:
            length = sequence_length(self._held[0])
            if length > len(self._held) and not end:
                break
            try:
                text += self._held[:length].decode('utf-8')
                self._held = self._held[length:]
            except UnicodeDecodeError:
                text += REPLACEMENT
                self._held = self._held[1:]
        return text


def sequence_length(lead):
    """Bytes of the UTF-8 sequence that starts with this byte; 1 for a byte that cannot start one."""
    if 0xC2 <= lead <= 0xDF:
        return 2
    if 0xE0 <= lead <= 0xEF:
        return 3
    if 0xF0 <= lead <= 0xF4:
        return 4
    return 1
