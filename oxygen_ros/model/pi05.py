"""pi0.5: vision tower, trunk and action expert as the few calls the engine is made of."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from oxygen_ros.model import tensors
from oxygen_ros.model.attention import MASKED, attend
from oxygen_ros.model.chunk_keys import ChunkKeys
from oxygen_ros.model.expert import Expert
from oxygen_ros.model.gemma import Trunk
from oxygen_ros.model.linear import Linear
from oxygen_ros.model.rope import Turn, frequencies, rotation, turn_of
from oxygen_ros.model.siglip import Vision
from oxygen_ros.model.time_condition import TimeRule, euler_times
from oxygen_ros.profile.profile import PrefixMask


class Pi05(nn.Module):
    """
    The model of one robot; keys and values live in tensors of the caller, `[L, 2, positions, D]`.

    `dtype` is that of activations, matrices and caches. In bfloat16 the patch and position embedding, all Gemma
    norms, the adaptive norms' dense layers, the time MLP and the action projections stay float32, as in openpi;
    `vision_dtype=torch.float32` keeps the whole vision tower there, as LeRobot does. `max_positions` bounds prefix
    plus text.
    """

    def __init__(self, config, dtype=torch.float32, device='cpu', vision_dtype=None, max_positions=2048):
        super().__init__()
        self.config, self.dtype, self.device = config, dtype, torch.device(device)
        self.max_positions = max_positions
        self.vision = Vision(config, vision_dtype or dtype, device)
        self.embedding = nn.Parameter(torch.empty(config.vocabulary, config.trunk_width, dtype=dtype, device=device))
        self.head = None  # a Linear of its own where a checkpoint's head is not the embedding, or packed
        self.trunk = Trunk(config, dtype, device)
        self.expert = Expert(config, dtype, device)
        steps = frequencies(config.head_dim, config.rope_theta, device)
        self.turns = rotation(torch.arange(max_positions, device=device), steps)  # 2 x [positions, 1, D]
        self.tables, self.packed = {}, False

    @classmethod
    def random(cls, config, seed, dtype=torch.float32, device='cpu', **options):
        """A model with weights drawn from `seed`."""
        model = cls(config, dtype, device, **options)
        tensors.fill_random(model, seed)
        return model

    def to_device(self, device):
        """A copy of an unprepared model on another device."""
        other = Pi05(self.config, self.dtype, device, self.vision.norm.weight.dtype, self.max_positions)
        other.load_state_dict(self.state_dict())
        return other

    def load_tensors(self, pairs):
        """Take `(canonical name, tensor)` pairs, all that `expected_tensors` lists and the language head if any."""
        if self.packed:
            raise ValueError('the weights of this model are packed; load into a new one')
        tensors.load(self, pairs)
        self.tables = {}

    def set_head(self, weight):
        """A language head `[vocabulary, W]` of its own; None or the embedding itself ties it."""
        self.head = None
        if weight is not None and not torch.equal(weight.to(self.embedding), self.embedding):
            if weight.shape != self.embedding.shape:
                raise ValueError(f'the language head is {tuple(weight.shape)}, '
                                 f'the model needs {tuple(self.embedding.shape)}')
            self.head = Linear(*reversed(self.embedding.shape), dtype=self.dtype, device=self.device)
            self.head.weight.copy_(weight)

    @torch.no_grad()
    def prepare(self, steps, rule=TimeRule.LEROBOT, pack=False):
        """
        Compute what depends only on the S times; with `pack`, also keep the matrices in oneDNN's order (CPU).

        Returns the tables to give to `denoise`. After packing, other step counts can no longer be prepared.
        """
        rule = TimeRule(rule)
        if (steps, rule) not in self.tables:
            if self.packed:
                raise ValueError(f'no table for {steps} denoising steps: prepare it before the weights are packed')
            self.tables[steps, rule] = tuple(self.expert.step_table(time)
                                             for time in euler_times(steps, rule).to(self.device))
        if pack and not self.packed and self.device.type == 'cpu':
            if self.head is None:
                self.head = Linear(1, 1)
                self.head.weight = nn.Parameter(self.embedding.detach(), requires_grad=False)
            for layer in (*self.trunk.layers, *self.expert.layers):
                layer.pack()
            for layer in (self.head, self.vision.projector, *self.vision.matrices()):
                layer.pack()
            self.packed = True
        return self.tables[steps, rule]

    def weights(self):
        """All weights held, packed or plain, each once."""
        plain = {p.data_ptr(): p.detach() for p in self.parameters() if p.layout is torch.strided}
        return [*plain.values(), *(layer.packed for layer in self.modules()
                                   if isinstance(layer, Linear) and layer.packed is not None)]

    def weight_bytes(self):
        """Bytes of all weights held, packed or plain."""
        return sum(p.numel() * p.element_size() for p in self.weights())

    def embed_images(self, images):
        """`images float32 [V, 3, S, S]` in [-1, 1], present views only -> `[V * N, W]`; one batch."""
        return self.vision(images).flatten(0, 1).to(self.dtype)

    def embed_tokens(self, tokens):
        """Token ids [...] -> `[..., W]`, scaled by sqrt(W) rounded to the model's type (45.25 for 2048 in bf16)."""
        scale = torch.tensor(math.sqrt(self.config.trunk_width), dtype=self.dtype).item()
        return F.embedding(tokens, self.embedding) * scale

    def logits(self, hidden):
        """Final hidden rows `[..., W]` -> `[..., vocabulary]`."""
        return F.linear(hidden, self.embedding) if self.head is None else self.head(hidden)

    def turn(self, start, stop):
        """The rotation of positions `start:stop`."""
        if stop > self.max_positions:
            raise ValueError(f'position {stop} is beyond the model\'s {self.max_positions}')
        return turn_of(*(x[start:stop] for x in self.turns), self.config.heads, start)

    def turn_at(self, positions):
        """The rotation of each of `positions [M]`."""
        return turn_of(*(x[positions] for x in self.turns), self.config.heads)

    def prefill(self, images, prompt, kv, mask=PrefixMask.BIDIRECTIONAL, rows=slice(-1, None), riders=None):
        """
        Run the prefix and store its keys and values at positions 0..n-1 of `kv [L, 2, >= n, D]`.

        `images [V * N, W]` from `embed_images`, `prompt int64 [T]` trimmed. Returns the final hidden of `rows` of
        the n = V * N + T positions; by default the last one, from which a text continues. `riders` (an Append, or
        anything with its `tokens`, `positions` and `attend`) are text rows of other streams that share the weight
        pass; their final hidden rows follow.
        """
        x = torch.cat((images, self.embed_tokens(prompt)))
        count, length = len(images), len(x)
        bias = self._prefix_bias(count, length) if PrefixMask(mask) is PrefixMask.CAUSAL_PROMPT else None

        def over_prefix(i, q, k, v):
            kv[i, 0, :length], kv[i, 1, :length] = k[:length], v[:length]
            mine = q if riders is None else q[:len(q) - len(riders.tokens)]
            part = slice(None) if len(mine) == length else rows
            out = attend(mine, k[:length], v[:length], None if bias is None else bias[part])
            if riders is None:
                return out
            return torch.cat((out, riders.attend(i, q[len(mine):], k[length:], v[length:])))

        if riders is None:
            return self.trunk(x, self.turn(0, length), over_prefix, rows)
        x = torch.cat((x, self.embed_tokens(riders.tokens)))
        own, theirs = self.turn(0, length), self.turn_at(riders.positions)
        turn = Turn(torch.cat((own.cos, theirs.cos)), torch.cat((own.sin, theirs.sin)), 0)
        index = torch.arange(len(x), device=x.device)
        return self.trunk(x, turn, over_prefix, torch.cat((index[:length][rows], index[length:])))

    def _prefix_bias(self, count, length):
        """Scores to add where prompt tokens are causal: images see images, a prompt token what comes before it."""
        position = torch.arange(length, device=self.device)
        hidden = position[None, :] > position[:, None].clamp(min=count - 1)
        return torch.zeros(length, length, dtype=self.dtype, device=self.device).masked_fill_(hidden, MASKED)

    def prefill_padded(self, images, prompt, length, store, mask=PrefixMask.BIDIRECTIONAL, riders=None):
        """
        The same for shapes that never change: `prompt [T]` is padded right, `length int64 [1]` positions are real.

        `store(layer, k, v)` keeps the keys and values `[n, D]` of all n positions, padding included, which must not be
        read. Returns the final hidden of the last real position, and those of the `riders` behind it.
        """
        x = torch.cat((images, self.embed_tokens(prompt)))
        count, n = len(images), len(x)
        position = torch.arange(n, device=x.device)
        bias = torch.zeros(1, n, dtype=self.dtype, device=x.device).masked_fill_(position >= length, MASKED)
        if PrefixMask(mask) is PrefixMask.CAUSAL_PROMPT:
            bias = bias + self._prefix_bias(count, n)
        rows, turn = length - 1, self.turn(0, n)
        if riders is not None:
            x = torch.cat((x, self.embed_tokens(riders.tokens)))
            theirs = self.turn_at(riders.positions)
            turn = Turn(torch.cat((turn.cos, theirs.cos)), torch.cat((turn.sin, theirs.sin)), 0)
            rows = torch.cat((rows, torch.arange(n, len(x), device=x.device)))

        def over_prefix(i, q, k, v):
            store(i, k[:n], v[:n])
            mine = n if len(q) == len(k) else 1
            seen = bias if len(bias) == 1 or mine == n else bias[length - 1]
            out = attend(q[:mine], k[:n], v[:n], seen)
            return out if riders is None else torch.cat((out, riders.attend(i, q[mine:], k[n:], v[n:])))

        return self.trunk(x, turn, over_prefix, rows)

    def denoise_padded(self, noise, kv, n, length, tables):
        """Denoise over the first `length int64 [1]` of `n` padded positions in `kv`; the chunk's keys go behind n."""
        stop = n + len(noise)
        position = torch.arange(stop, device=noise.device)
        padding = (position >= length) & (position < n)
        bias = torch.zeros(1, stop, dtype=self.dtype, device=noise.device).masked_fill_(padding, MASKED)
        turn = self.turn_at(length + torch.arange(len(noise), device=noise.device))
        actions, keys = noise, ChunkKeys(kv, n, len(noise), bias)
        for table in tables:
            actions = actions - self.expert.velocity(actions, turn, keys.attend, table) / len(tables)
        return actions

    def velocity(self, actions, kv, length, table):
        """
        Velocity `[H, A]` of `actions float32 [H, A]` over the prefix of `length` positions in `kv`.

        The chunk's own keys are written behind the prefix, so `kv` needs H positions more.
        """
        turn = self.turn(length, length + len(actions))
        return self.expert.velocity(actions, turn, ChunkKeys(kv, length, len(actions)).attend, table)

    def free_velocity(self, actions, kv, length, table):
        """The same as `velocity`, without a change of `kv`, and differentiable in `actions`."""
        def over_prefix_and_chunk(i, q, k, v):
            return attend(q, torch.cat((kv[i, 0, :length], k)), torch.cat((kv[i, 1, :length], v)))

        return self.expert.velocity(actions, self.turn(length, length + len(actions)), over_prefix_and_chunk, table)

    def velocity_by_row(self, actions, kv, length, times):
        """The same as `free_velocity` with a time of its own for each row of the chunk, `times [H]`."""
        def over_prefix_and_chunk(i, q, k, v):
            return attend(q[0], torch.cat((kv[i, 0, :length], k[0])), torch.cat((kv[i, 1, :length], v[0])))[None]

        turn = self.turn(length, length + len(actions))
        return self.expert.velocity_conditioned(actions[None], turn, over_prefix_and_chunk, times[None])[0]

    def denoise(self, noise, kv, length, tables, guidance=None):
        """
        Euler from `noise float32 [H, A]` at t = 1 to the normalised chunk `[H, A]` at t = 0.

        `guidance` is an engine.guidance.Guidance or Frozen, which continue actions already under way.
        """
        actions, dt = noise, -1.0 / len(tables)
        turn, keys = self.turn(length, length + len(noise)), ChunkKeys(kv, length, len(noise))
        for step, table in enumerate(tables):
            if guidance is None:
                velocity = self.expert.velocity(actions, turn, keys.attend, table)
            else:
                velocity = guidance.velocity(
                    actions, 1.0 + step * dt, lambda x: self.expert.velocity(x, turn, keys.attend, table),
                    lambda x: self.free_velocity(x, kv, length, table),
                    lambda x, times: self.velocity_by_row(x, kv, length, times))
            actions = actions + dt * velocity
        return actions

    def denoise_unfolded(self, noise, kv, length, times):
        """The same with all that depends on the time alone computed anew at each of `times [S]`."""
        stop = length + len(noise)

        def over_prefix_and_chunk(i, q, k, v):
            kv[i, 0, length:stop], kv[i, 1, length:stop] = k[0], v[0]
            return attend(q[0], kv[i, 0, :stop], kv[i, 1, :stop])[None]

        actions, turn = noise[None], self.turn(length, stop)
        for time in times:
            velocity = self.expert.velocity_conditioned(actions, turn, over_prefix_and_chunk, time[None])
            actions = actions - velocity / len(times)
        return actions[0]

    def extend(self, tokens, positions, attend_layer):
        """
        Run text rows `tokens, positions int64 [M]` of any streams through the trunk -> final hidden `[M, W]`.

        `attend_layer(layer, q, k, v) -> [M, heads * D]` stores each row's keys with its stream and attends.
        """
        return self.trunk(self.embed_tokens(tokens), self.turn_at(positions), attend_layer)


def expected_tensors(config):
    """`{canonical name: shape}` of the tensors `load_tensors` needs; the language head is optional beside them."""
    return {name: place.shape for name, place in tensors.places(Pi05(config, device='meta', max_positions=1)).items()}
