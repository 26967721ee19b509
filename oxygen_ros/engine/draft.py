"""Drafts for a stream's next tokens: adjacent frames say nearly the same, so an earlier answer is a good guess."""

HOLD = 0.75  # weight of the past in a stream's running gain
LEAST_GAIN = 0.15  # accepted tokens a round below which a draft costs more than it brings
RETRY_EVERY = 16  # rounds after which a row that gave up tries again


class Drafts:
    """
    Keeps the newest finished answer of every task, `width` draft tokens at most a row.

    A draft only proposes: the trunk's own greedy choice at each position is what counts, so the text is that of plain
    decoding, whatever is proposed.
    """

    def __init__(self, width, tasks=64):
        self.width, self.tasks = width, tasks
        self.finished = {}

    def keep(self, stream):
        """Remember a finished answer."""
        self.finished.pop(stream.request.task, None)
        self.finished[stream.request.task] = tuple(stream.tokens)
        if len(self.finished) > self.tasks:
            del self.finished[next(iter(self.finished))]

    def propose(self, stream, streams):
        """Tokens that may follow the stream's own; [] where drafting is off or does not pay for it."""
        count = len(stream.tokens)
        if not self.width or not count or len(stream.pending) != 1:
            return []
        if stream.gain < LEAST_GAIN and count % RETRY_EVERY:
            return []
        width = min(self.width, stream.request.max_tokens - count - 1, 1 + round(2 * stream.gain + 0.5))
        if width < 1:
            return []
        source = self._source(stream, streams)
        return list(source[count:count + width])

    def _source(self, stream, streams):
        """The youngest answer of the task that is further on: a live one of an earlier frame, or the last finished."""
        best = ()
        for other in streams:
            if other is not stream and other.request.task == stream.request.task:
                if other.request.suffix == stream.request.suffix and len(other.tokens) > len(stream.tokens):
                    best = other.tokens
        return best or self.finished.get(stream.request.task, ())

    @staticmethod
    def learn(stream, proposed, accepted):
        """Update the running gain after a round that verified `proposed` tokens."""
        if proposed:
            stream.gain = HOLD * stream.gain + (1 - HOLD) * accepted
