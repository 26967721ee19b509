"""The joint training forward: flow-matching velocity and next-token logits in one differentiable pass."""
from dataclasses import dataclass

import torch

from oxygen_ros.model.attention import attend_batch
from oxygen_ros.profile.profile import PrefixMask


@dataclass(frozen=True)
class TrainingBatch:
    """
    B samples. `images float32 [B, V, 3, S, S]` with `view_mask bool [B, V]`; `prompt int64 [B, T]` padded right with
    `prompt_mask bool [B, T]`; `answer int64 [B, A]` (suffix text and reply, EOS in) with `answer_mask` (token exists)
    and `answer_wanted` (token is to be predicted), bool [B, A], A may be 0; `actions float32 [B, H, D]`, `noise float32
    [B * R, H, D]` and `time float32 [B * R]` in (0, 1], 1 is noise: R draws for each sample in turn.

    With `answer_part int64 [B, A]`, which does not fall along a row, a row holds several texts one after the other:
    each continues the prompt and sees nothing of the other ones.
    """

    images: torch.Tensor
    view_mask: torch.Tensor
    prompt: torch.Tensor
    prompt_mask: torch.Tensor
    answer: torch.Tensor
    answer_mask: torch.Tensor
    answer_wanted: torch.Tensor
    actions: torch.Tensor
    noise: torch.Tensor
    time: torch.Tensor
    answer_part: torch.Tensor | None = None


@dataclass(frozen=True)
class TrainingOutput:
    """
    `velocity [B * R, H, D]`, `action_loss [B * R, H, D]` its squared error; `logits [B, A, vocabulary]` of each answer
    token before it is seen, `text_loss [B, A]` their cross-entropy, 0 where not wanted; `hidden [B, V * N + T, W]` the
    final trunk rows of the prefix; `image [B, V * N, W]` the image tokens; `last [B, W]` the final row of the prompt's
    last token.
    """

    velocity: torch.Tensor
    action_loss: torch.Tensor
    logits: torch.Tensor
    text_loss: torch.Tensor
    hidden: torch.Tensor
    image: torch.Tensor
    last: torch.Tensor


def training_forward(model, batch, mask=PrefixMask.BIDIRECTIONAL, text_rows_only=False):
    """
    The same functions as inference, padded and batched.

    The trunk sees images, prompt and, causally, the answer; the expert sees images, prompt and the noisy chunk, never
    the answer (openpi `pi0.compute_loss`, with the answer appended). `x_t = t * noise + (1 - t) * actions`, target
    `noise - actions`. With `text_rows_only` the last layer carries on those rows only that predict
    text, and `hidden` is None.
    """
    samples, views = batch.images.shape[:2]
    image = model.vision(batch.images.flatten(0, 1)).view(samples, -1, model.config.trunk_width).to(model.dtype)
    count, prompt, answer = image.shape[1], batch.prompt.shape[1], batch.answer.shape[1]
    prefix = count + prompt
    x = torch.cat((image, model.embed_tokens(batch.prompt), model.embed_tokens(batch.answer)), 1)
    present = torch.cat((batch.view_mask.repeat_interleave(count // views, 1), batch.prompt_mask, batch.answer_mask), 1)
    positions = (present.long().cumsum(1) - 1).clamp(min=0)
    part = torch.zeros_like(batch.answer) if batch.answer_part is None else batch.answer_part
    begins = torch.diff(part, dim=1, prepend=torch.full_like(part[:, :1], -1)) != 0  # [B, A]
    at = torch.arange(answer, device=x.device)
    length = present[:, :prefix].sum(1, keepdim=True)
    positions[:, prefix:] = length + at - (at * begins).cummax(1).values if answer else 0

    # A key is seen by all rows of its own block and of later ones.
    causal = PrefixMask(mask) is PrefixMask.CAUSAL_PROMPT
    device = x.device
    block = torch.cat((torch.zeros(count, dtype=torch.long, device=device),
                       torch.arange(1, prompt + 1, device=device) * causal,
                       torch.arange(1, answer + 1, device=device) + prompt))
    sees = present[:, None, :] & present[:, :, None] & (block[None, :] <= block[:, None])
    sees[:, prefix:, prefix:] &= part[:, None, :] == part[:, :, None]
    cache = []

    last = count + batch.prompt_mask.long().sum(1) - 1
    start = int(last.min()) if text_rows_only else 0

    def over_trunk(i, q, k, v):
        cache.append((k[:, :prefix], v[:, :prefix]))
        return attend_batch(q, k, v, sees[:, -q.shape[1]:])

    hidden = model.trunk(x, model.turn_at(positions), over_trunk, (slice(None), slice(start, None)))

    draws = len(batch.noise) // samples

    def each(rows):
        return rows if draws == 1 else rows.repeat_interleave(draws, 0)

    time, actions = batch.time[:, None, None], each(batch.actions)
    noisy = time * batch.noise + (1 - time) * actions
    horizon = noisy.shape[1]
    chunk_positions = each(length) + torch.arange(horizon, device=device)
    chunk_sees = each(torch.cat((present[:, None, :prefix].expand(-1, horizon, -1),
                                 present.new_ones(samples, horizon, horizon)), 2))

    def over_prefix_and_chunk(i, q, k, v):
        keys, values = (each(kept) for kept in cache[i])
        return attend_batch(q, torch.cat((keys, k), 1), torch.cat((values, v), 1), chunk_sees)

    velocity = model.expert.velocity_conditioned(noisy, model.turn_at(chunk_positions), over_prefix_and_chunk,
                                                 batch.time)
    action_loss = (velocity - (batch.noise - actions)).square()

    # A text's first token is predicted by the last prompt token, wherever padding put it.
    first = hidden[torch.arange(samples, device=device), last - start][:, None]
    before = torch.cat((first, hidden[:, prefix - start:]), 1)[:, :answer]
    before = torch.where(begins[..., None], first, before)
    logits = model.logits(before)
    text_loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), batch.answer.flatten(),
                                                  reduction='none').view(samples, answer) * batch.answer_wanted
    kept = None if text_rows_only else hidden[:, :prefix]
    return TrainingOutput(velocity, action_loss, logits, text_loss, kept, image, first[:, 0])
