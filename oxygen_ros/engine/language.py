"""The batch of live language streams: admission, rounds, tokens, and every way to end."""
from dataclasses import dataclass

import torch

from oxygen_ros.engine.append import Append
from oxygen_ros.engine.config import OnFull
from oxygen_ros.engine.draft import Drafts
from oxygen_ros.engine.report import Refusal
from oxygen_ros.engine.request import FinishReason, TokenEvent
from oxygen_ros.engine.stream import Stream


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
        self._ended = []
        self._rounds = 0

    def admit(self, request_id, request, source, on_token):
        """Give the request a slot and its share of the prefix; returns a Refusal in a list, or an empty one."""
        suffix = list(self.processor.suffix_tokens(request.suffix))
        reason = ''
        if request.max_tokens > self.config.max_new_tokens:
            reason = f'{request.max_tokens} tokens wanted, a slot holds {self.config.max_new_tokens}'
        elif len(suffix) > self.config.max_suffix_tokens:
            reason = f'the suffix has {len(suffix)} tokens, a slot holds {self.config.max_suffix_tokens}'
        elif not self.pool.can_take_slot():
            self._make_room(request)
            self.flush(on_token)
            if not self.pool.can_take_slot():
                reason = f'all {self.config.slots} slots are taken'
        if reason:
            self.counters.streams_refused += 1
            on_token(TokenEvent(request_id, source.frame_id, source.stamp_ns, request.task, 0, -1, '',
                                FinishReason.REFUSED))
            return [Refusal(request_id, request, reason)]
        self.pool.share_block(source.block)
        stream = Stream(request_id, source.frame_id, source.stamp_ns, request, source.block, source.length,
                        self.pool.take_slot(), suffix, self.processor.text_stream(),
                        tuple(self.processor.suppressed.get(request.task, ())), started_s=source.now_s,
                        advanced=self._rounds)
        self.streams[request_id] = stream
        self.counters.streams_started += 1
        self.counters.max_live_streams = max(self.counters.max_live_streams, len(self.streams))
        if not suffix:  # the text continues the prompt: its first token is already there
            self._take([stream], [[]], self.model.logits(source.hidden), on_token)
        return []

    def drop_oldest(self):
        """End the oldest stream to make room."""
        self.end(next(iter(self.streams.values())), FinishReason.DROPPED)

    def drop_late(self, now_s):
        """End streams that are older than their request allows."""
        for stream in list(self.streams.values()):
            if stream.request.within_s and now_s - stream.started_s > stream.request.within_s:
                self.end(stream, FinishReason.DROPPED)

    def choose(self, rows):
        """The streams of a round of `rows`: highest priority first, then who has waited longest; nobody starves."""
        if rows >= len(self.streams):
            return list(self.streams.values())
        return sorted(self.streams.values(), key=lambda s: (-s.request.priority, s.advanced, s.request_id))[:rows]

    def prepare(self, streams):
        """The rows of a round: each stream's pending tokens and its draft -> (Append, drafts, Extent or None)."""
        drafts = [self.drafts.propose(stream, self.streams.values()) for stream in streams]
        pending = [stream.pending + draft for stream, draft in zip(streams, drafts)]
        extent = self.static.extent(streams, pending) if self.static is not None else None
        return Append(self.pool, streams, pending, [len(draft) + 1 for draft in drafts], extent), drafts, extent

    def round(self, streams, on_token):
        """Append every stream's pending tokens in one forward and take its next tokens; returns the rows."""
        append, drafts, extent = self.prepare(streams)
        if extent is not None:
            logits = self.static.rounds[extent](append)
        else:
            self.counters.eager_rounds += self.static is not None
            hidden = self.model.extend(append.tokens, append.positions, append.attend)
            logits = self.model.logits(hidden[append.wanted])
        self.finish_round(streams, drafts, logits, on_token)
        return append.rows

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
        self._ended.append(self._event(stream, -1, stream.text.finish(), reason))

    def flush(self, on_token):
        while self._ended:
            on_token(self._ended.pop(0))

    def forget(self):
        """End everything without a word."""
        for stream in list(self.streams.values()):
            self._release(stream)
        self._ended.clear()

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
