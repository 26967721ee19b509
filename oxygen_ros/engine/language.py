"""The batch of live language streams: admission, rounds, tokens, and every way to end."""
from dataclasses import dataclass

import torch

from oxygen_ros.engine.append import Append
from oxygen_ros.engine.config import OnFull
from oxygen_ros.engine.draft import Drafts
from oxygen_ros.engine.report import Refusal
from oxygen_ros.engine.request import FinishReason, TokenEvent
from oxygen_ros.engine.stream import Stream

TURN = 8  # of so many rounds one goes by waiting alone


@dataclass(frozen=True)
class Source:
    """The prefix that a frame's requests start from; `hidden [1, W]` is that of its last token."""

    stamp_ns: int
    frame_id: int
    block: int
    length: int
    hidden: torch.Tensor
    now_s: float


class LanguageBatch:
    """
    Streams outlive their frame; each holds a slot and a share of its prefix block from admission to its end.

    Events of streams that end outside a round wait in order until `flush`.
    """

    def __init__(self, model, pool, processor, config, counters):
        self.model, self.pool, self.processor, self.config = model, pool, processor, config
        self.counters = counters
        self.drafts = Drafts(config.draft_tokens)
        self.streams = {}  # request id -> Stream, oldest first
        self.static = None  # StaticPaths, once made
        self._ended, self._fresh = [], []  # events to deliver; (stream, hidden) whose first token is not yet said
        self._rounds = 0

    def admit(self, request_id, request, source, on_token):
        """Place one request and say its first token, where the prompt has it."""
        refusals = self.place(request_id, request, source, on_token)
        self.begin(on_token)
        return refusals

    def place(self, request_id, request, source, on_token):
        """Give the request a slot and its share of the prefix; returns a Refusal in a list, or an empty one."""
        suffix = list(self.processor.suffix_tokens(request.suffix))
        reason = ''
        if request.max_tokens > self.config.max_new_tokens:
            reason = f'{request.max_tokens} tokens wanted, a slot holds {self.config.max_new_tokens}'
        elif len(suffix) > self.config.max_suffix_tokens:
            reason = f'the suffix has {len(suffix)} tokens, a slot holds {self.config.max_suffix_tokens}'
        elif not self.has_room(on_token):
            self._make_room(request)
            self.flush(on_token)
            if not self.pool.can_take_slot():
                reason = f'all {self.config.slots} slots are taken'
        if reason:
            return self.refuse(request_id, request, source, reason, on_token)
        self.pool.share_block(source.block)
        stream = Stream(request_id, source.frame_id, source.stamp_ns, request, source.block, source.length,
                        self.pool.take_slot(), suffix, self.processor.text_stream(),
                        tuple(self.processor.suppressed.get(request.task, ())), started_s=source.now_s,
                        advanced=self._rounds)
        self.streams[request_id] = stream
        self.counters.streams_started += 1
        self.counters.max_live_streams = max(self.counters.max_live_streams, len(self.streams))
        if not suffix:  # the text continues the prompt: its first token is already there
            self._fresh.append((stream, source.hidden))
        return []

    def begin(self, on_token):
        """Say the first tokens of the texts that continue their prompt, of all that were placed since at once."""
        fresh, self._fresh = [(s, hidden) for s, hidden in self._fresh if s.request_id in self.streams], []
        if fresh:
            hidden = torch.cat([hidden for _, hidden in fresh])
            logits = self.model.logits(hidden) if self.static is None else self.static.first_logits(hidden)
            self._take([stream for stream, _ in fresh], [[]] * len(fresh), logits, on_token)

    def has_room(self, on_token):
        """Whether a slot is free; texts of a single token leave theirs first."""
        if not self.pool.can_take_slot():
            self.begin(on_token)
        return self.pool.can_take_slot()

    def refuse(self, request_id, request, source, reason, on_token):
        """Count and tell a request that is not admitted; returns its Refusal in a list."""
        self.counters.streams_refused += 1
        on_token(TokenEvent(request_id, source.frame_id, source.stamp_ns, request.task, 0, -1, '',
                            FinishReason.REFUSED))
        return [Refusal(request_id, request, reason)]

    def drop_oldest(self):
        """End the oldest stream to make room."""
        self.end(next(iter(self.streams.values())), FinishReason.DROPPED)

    def drop_late(self, now_s):
        """End streams that are older than their request allows."""
        for stream in list(self.streams.values()):
            if stream.request.within_s and now_s - stream.started_s > stream.request.within_s:
                self.end(stream, FinishReason.DROPPED)

    def choose(self, rows):
        """
        The streams of a round of `rows`: highest priority first, then who has waited longest.

        Nobody starves: in one of `TURN` such rounds the priority does not count.
        """
        if rows >= len(self.streams):
            return list(self.streams.values())
        by_priority = (self._rounds + 1) % TURN

        def order(stream):
            return -stream.request.priority if by_priority else 0, stream.advanced, stream.request_id

        return sorted(self.streams.values(), key=order)[:rows]

    def drafted(self, streams):
        """Each stream's draft, and the tokens that a round appends to it: those pending and the draft."""
        drafts = [self.drafts.propose(stream, self.streams.values()) for stream in streams]
        return drafts, [stream.pending + draft for stream, draft in zip(streams, drafts)]

    def append(self, streams, drafts, pending, extent=None):
        """The rows of a forward."""
        return Append(self.pool, streams, pending, [len(draft) + 1 for draft in drafts], extent)

    def round(self, streams, on_token):
        """Append every stream's pending tokens and take its next ones; in one forward, but for fixed shapes' sake."""
        drafts, pending = self.drafted(streams)
        parts = [(slice(None), None)] if self.static is None else self.static.parts(streams, pending)
        logits = [self._forward(self.append(streams[i], drafts[i], pending[i], extent), extent) for i, extent in parts]
        self.finish_round(streams, drafts, torch.cat(logits) if len(logits) > 1 else logits[0], on_token)
        return sum(map(len, pending))

    def _forward(self, append, extent):
        """-> logits of the wanted rows."""
        if extent is not None:
            # The next part's graph may use the memory that these lie in.
            return self.static.rounds[extent](append)[:append.count].clone()
        self.counters.eager_runs += self.static is not None
        hidden = self.model.extend(append.tokens, append.positions, append.attend)
        return self.model.logits(hidden[append.wanted])

    def finish_round(self, streams, drafts, logits, on_token):
        """After the forward: `logits` are those of each stream's last pending token and of its draft, in order."""
        self._rounds += 1
        self.counters.decode_rounds += 1
        self.counters.rows += len(streams)
        for stream in streams:
            stream.stored += len(stream.pending)
            stream.advanced = self._rounds
        self._take(streams, drafts, logits, on_token)

    def end(self, stream, reason):
        """End a stream outside a round; its event waits until it can be delivered."""
        self._release(stream)
        self.counters.streams_dropped += reason is FinishReason.DROPPED
        self._ended.append(self._event(stream, -1, stream.text.finish(), reason))

    def flush(self, on_token):
        while self._ended:
            on_token(self._ended.pop(0))

    def forget(self):
        """End everything without a word."""
        for stream in list(self.streams.values()):
            self._release(stream)
        self._ended.clear()
        self._fresh.clear()

    def _make_room(self, request):
        if self.config.on_full is OnFull.DROP_OLDEST:
            oldest = min(self.streams.values(), key=lambda s: (s.request.priority, s.request_id))
            if oldest.request.priority <= request.priority:
                self.end(oldest, FinishReason.DROPPED)

    def _take(self, streams, drafts, logits, on_token):
        """Choose greedily, accept the agreeing part of each draft, tell the world."""
        start = 0
        for stream, draft in zip(streams, drafts):
            for first, last in stream.suppressed:
                logits[start:start + 1 + len(draft), first:last + 1] = -torch.inf
            start += 1 + len(draft)
        chosen = self.greedy(streams, drafts, logits)
        start = 0
        for stream, draft in zip(streams, drafts):
            mine = chosen[start:start + 1 + len(draft)]
            start += 1 + len(draft)
            accepted = next((i for i, token in enumerate(draft) if token != mine[i]), len(draft))
            self.drafts.learn(stream, len(draft), accepted)
            stream.stored += accepted
            self.counters.drafted += len(draft)
            self.counters.accepted += accepted
            for token in mine[:accepted + 1]:
                if stream.request_id not in self.streams:
                    break  # ended, or cancelled from a callback of this round
                self._emit(stream, token, on_token)

    def greedy(self, streams, drafts, logits):
        """The best token of each row of `logits`, as a list."""
        return best(logits).tolist()

    def _emit(self, stream, token, on_token):
        stream.pending = [token]
        stream.tokens.append(token)
        self.counters.tokens += 1
        reason = FinishReason.RUNNING
        if self.config.eos and token == self.processor.eos_id:
            reason = FinishReason.EOS
        elif len(stream.tokens) == stream.request.max_tokens:
            reason = FinishReason.LENGTH
        text = '' if reason is FinishReason.EOS else stream.text.push(token)
        if reason is not FinishReason.RUNNING:
            text += stream.text.finish()
            self.drafts.keep(stream)
            self._release(stream)
        on_token(self._event(stream, token, text, reason))
        self.flush(on_token)

    def _release(self, stream):
        del self.streams[stream.request_id]
        self.pool.release_slot(stream.slot)
        self.pool.release_block(stream.block)
        self.counters.streams_finished += 1

    @staticmethod
    def _event(stream, token, text, reason):
        index = len(stream.tokens) - (token >= 0)
        return TokenEvent(stream.request_id, stream.frame_id, stream.stamp_ns, stream.request.task, index, token, text,
                          reason)


def best(logits):
    """Index of the largest number of each row, the first of equal ones; on a CPU `max` is four times as fast."""
    return logits.max(-1).indices if logits.device.type == 'cpu' else logits.argmax(-1)
