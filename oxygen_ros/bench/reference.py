"""The baseline to compare with: openpi's algorithm in plain eager torch, left as it is."""
import math

import torch
import torch.nn.functional as F

from oxygen_ros.model.tensors import EXPERT, PROJECTOR, TRUNK, VISION, save_pairs
from oxygen_ros.model.time_condition import euler_times, time_embedding

MASKED = -2.3819763e38


class Reference:
    """
    One request after the other, each with its own prefill (openpi `pi0_pytorch.py` and HF eager Gemma at batch 1).

    One vision call per view slot, masked views and prompt padding included, separate Q, K, V, gate and up, keys
    repeated for every head, softmax in float32, a cache that is concatenated at every step, adaptive norms from the
    time at every denoising step, one forward for each of the N tokens. Call it under `with reference.device`.
    """

    def __init__(self, model):
        self.config, self.dtype, self.device = model.config, model.dtype, model.device
        self.w = dict(save_pairs(model))

    def linear(self, name, x):
        return F.linear(x, self.w[name + '.weight'], self.w.get(name + '.bias'))

    def vision(self, image):  # [1, 3, S, S]
        c, w = self.config, self.w
        embed = VISION + 'embeddings.'
        x = F.conv2d(image, w[embed + 'patch_embedding.weight'], w[embed + 'patch_embedding.bias'], stride=c.patch)
        x = (x.flatten(2).transpose(1, 2) + w[embed + 'position_embedding.weight']).to(self.dtype)
        for i in range(c.vision_depth):
            p = f'{VISION}encoder.layers.{i}.'
            h = self.layer_norm(p + 'layer_norm1', x)
            q, k, v = (self.linear(f'{p}self_attn.{n}_proj', h).view(1, x.shape[1], c.vision_heads, -1).transpose(1, 2)
                       for n in 'qkv')
            a = F.softmax((q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).float(), -1).to(self.dtype) @ v
            x = x + self.linear(p + 'self_attn.out_proj', a.transpose(1, 2).flatten(2))
            h = self.layer_norm(p + 'layer_norm2', x)
            x = x + self.linear(p + 'mlp.fc2', F.gelu(self.linear(p + 'mlp.fc1', h), approximate='tanh'))
        return self.linear(PROJECTOR[:-1], self.layer_norm(VISION + 'post_layernorm', x))

    def layer_norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.w[name + '.weight'], self.w[name + '.bias'], 1e-6)

    def norm(self, name, x, condition):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        if condition is None:
            return (wide * (1 + self.w[name + '.weight'])).to(x.dtype), None
        scale, shift, gate = self.linear(name + '.dense', condition)[:, None].chunk(3, -1)
        return (wide * (1 + scale) + shift).to(x.dtype), gate.to(x.dtype)

    def rotate(self, x, positions):  # [1, heads, T, D]
        steps = self.config.rope_theta ** -(torch.arange(0, x.shape[-1], 2, dtype=torch.float32) / x.shape[-1])
        angle = positions[:, None, :, None].float() * steps
        cos, sin = angle.cos(), angle.sin()
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)

    def tower(self, prefix, x, mask, positions, past, condition=None):
        """`x [1, T, W]`, additive `mask [1, 1, T, N]`; returns hidden and the grown cache."""
        c, cache = self.config, []
        for i in range(c.depth):
            p = f'{prefix}layers.{i}.'
            h, gate = self.norm(p + 'input_layernorm', x, condition)
            q, k, v = (self.linear(f'{p}self_attn.{n}_proj', h).view(1, x.shape[1], -1, c.head_dim).transpose(1, 2)
                       for n in 'qkv')
            q, k = self.rotate(q, positions), self.rotate(k, positions)
            if past:
                k, v = torch.cat((past[i][0], k), 2), torch.cat((past[i][1], v), 2)
            cache.append((k, v))
            k, v = (t.expand(-1, c.heads, -1, -1).reshape(1, c.heads, -1, c.head_dim) for t in (k, v))
            scores = q @ k.transpose(-1, -2) * c.head_dim ** -0.5 + mask
            a = F.softmax(scores.float(), -1).to(self.dtype) @ v
            out = self.linear(p + 'self_attn.o_proj', a.transpose(1, 2).flatten(2))
            x = x + (out if gate is None else out * gate)
            h, gate = self.norm(p + 'post_attention_layernorm', x, condition)
            out = self.linear(p + 'mlp.down_proj', F.gelu(self.linear(p + 'mlp.gate_proj', h), approximate='tanh')
                              * self.linear(p + 'mlp.up_proj', h))
            x = x + (out if gate is None else out * gate)
        return self.norm(prefix + 'norm', x, condition)[0], cache

    def embed(self, tokens):
        return F.embedding(tokens, self.w[TRUNK + 'embed_tokens.weight']) * math.sqrt(self.config.trunk_width)

    def additive(self, allowed):
        return torch.zeros(allowed.shape, dtype=self.dtype).masked_fill_(~allowed, MASKED)[:, None]

    def prefill(self, images, present, prompt, prompt_mask):
        """`images [V, 3, S, S]` all slots, `present [V]`; `prompt [T]` padded -> hidden, cache, pad [1, n]."""
        parts = [self.vision(image[None]) for image in images]
        count = parts[0].shape[1]
        x = torch.cat((*parts, self.embed(prompt[None]).to(self.dtype)), 1)
        pad = torch.cat((present.repeat_interleave(count), prompt_mask))[None]
        allowed = pad[:, None, :] & pad[:, :, None]
        hidden, cache = self.tower(TRUNK, x, self.additive(allowed), pad.long().cumsum(1) - 1, None)
        return hidden, cache, pad

    def actions(self, images, present, prompt, prompt_mask, noise, steps):
        """A request for a chunk: prefill, then S Euler steps; `noise [H, A]` -> `[H, A]`."""
        _, cache, pad = self.prefill(images, present, prompt, prompt_mask)
        return self.denoise(cache, pad, noise, steps)

    def denoise(self, cache, pad, noise, steps):
        c, horizon = self.config, len(noise)
        positions = pad.long().sum(1, keepdim=True) + torch.arange(horizon)
        own = torch.ones(1, horizon, horizon, dtype=torch.bool)
        mask = self.additive(torch.cat((pad[:, None].expand(-1, horizon, -1), own), 2))
        x, dt = noise[None], -1.0 / steps
        for time in euler_times(steps):
            e = time_embedding(time[None], c.expert_width, c.min_period, c.max_period)
            condition = F.silu(self.linear('time_mlp_out', F.silu(self.linear('time_mlp_in', e))))
            start = self.linear('action_in_proj', x).to(self.dtype)
            h, _ = self.tower(EXPERT, start, mask, positions, cache, condition)
            x = x + dt * self.linear('action_out_proj', h.float())
        return x[0]

    def text(self, images, present, prompt, prompt_mask, count, on_token=lambda token: None):
        """A request for `count` tokens: prefill, then one forward a token, greedy -> list of ids."""
        hidden, cache, pad = self.prefill(images, present, prompt, prompt_mask)
        last = int(pad[0].nonzero()[-1])
        head = self.w[TRUNK + 'embed_tokens.weight']
        logits, tokens = F.linear(hidden[:, last], head), []
        for _ in range(count):
            token = logits.argmax(-1)
            tokens.append(int(token))
            on_token(tokens[-1])
            hidden, cache, pad = self.step(token, cache, pad)
            logits = F.linear(hidden[:, -1], head)
        return tokens

    def step(self, token, cache, pad):
        """One forward of `token [1]` behind the cache -> hidden, the grown cache and pad."""
        position = pad.long().sum(1, keepdim=True)
        pad = torch.cat((pad, torch.ones(1, 1, dtype=torch.bool)), 1)
        hidden, cache = self.tower(TRUNK, self.embed(token)[:, None].to(self.dtype), self.additive(pad[:, None]),
                                   position, cache)
        return hidden, cache, pad
