"""The frame's stages in fixed shapes and at fixed addresses, for CUDA graphs: buckets made in warm-up, none later."""
import torch

from oxygen_ros.engine.append import Append, Extent
from oxygen_ros.engine.replay import Replay
from oxygen_ros.engine.ride import Ride


class Prefill:
    """Vision and prefill of `views` pictures and up to `words` prompt tokens into any prefix block."""

    def __init__(self, model, pool, mask, views, words, extent=None, graph_pool=None):
        c, device = model.config, model.device
        self.words = words
        self.images = torch.zeros(views, 3, c.image_size, c.image_size, device=device)
        self.prompt = torch.zeros(words, dtype=torch.long, device=device)
        self.length = torch.ones(1, dtype=torch.long, device=device)
        self.positions = views * c.image_tokens + words
        self.cells = torch.zeros(self.positions, dtype=torch.long, device=device)
        self.count, self.capacity = views * c.image_tokens, pool.prefix.shape[3]
        self.riders = None if extent is None else Append(pool, [], [], [], extent)
        keys, values = pool.prefix.flatten(2, 3).unbind(1)  # each [L, P * positions, D]

        def store(layer, k, v):
            keys[layer].index_copy_(0, self.cells, k)
            values[layer].index_copy_(0, self.cells, v)

        def run():
            hidden = model.prefill_padded(model.embed_images(self.images), self.prompt, self.length, store, mask,
                                          self.riders)
            if self.riders is None:
                return hidden, None
            return hidden[:1], model.logits(hidden[1:][self.riders.wanted])

        self.replay = Replay(run, device, graph_pool)

    def __call__(self, images, prompt, block, riders=None):
        """-> hidden of the last prompt token `[1, W]`, logits of the riders' wanted rows or None."""
        self.images.copy_(images, non_blocking=True)
        self.prompt[:len(prompt)].copy_(prompt, non_blocking=True)
        self.length.fill_(self.count + len(prompt))
        torch.arange(block * self.capacity, block * self.capacity + self.positions, out=self.cells)
        if riders is not None:
            self.riders.copy_(riders)
        hidden, logits = self.replay()
        return hidden.clone(), logits


class Denoise:
    """All S Euler steps over a prefix of up to `positions`; the block is read into a scratch of the expert's own."""

    def __init__(self, model, pool, positions, tables, graph_pool=None):
        c, device = model.config, model.device
        self.noise = torch.zeros(c.horizon, c.action_dim, device=device)
        self.length = torch.ones(1, dtype=torch.long, device=device)
        self.block = torch.zeros(1, dtype=torch.long, device=device)
        shape = (*pool.prefix.shape[:2], positions + c.horizon, c.head_dim)
        scratch = torch.zeros(shape, dtype=model.dtype, device=device)

        def run():
            scratch[:, :, :positions] = pool.prefix.index_select(2, self.block)[:, :, 0, :positions]
            return model.denoise_padded(self.noise, scratch, positions, self.length, tables)

        self.replay = Replay(run, device, graph_pool)

    def __call__(self, noise, block, length):
        """-> normalised chunk `[H, A]`."""
        self.noise.copy_(noise, non_blocking=True)
        self.length.fill_(length)
        self.block.fill_(block)
        return self.replay()


class Round:
    """One decode round of up to `extent.rows` rows."""

    def __init__(self, model, pool, extent, graph_pool=None):
        self.append = Append(pool, [], [], [], extent)

        def run():
            hidden = model.extend(self.append.tokens, self.append.positions, self.append.attend)
            return model.logits(hidden[self.append.wanted])

        self.replay = Replay(run, model.device, graph_pool)

    def __call__(self, append):
        """-> logits of the wanted rows, padded to the extent."""
        self.append.copy_(append)
        return self.replay()


class StaticPaths:
    """
    Every bucket that an engine may need, made once.

    Prompts are padded to the next of `words`, rounds to the next of `extents`. A round that fits no bucket (a long
    suffix) is run eagerly and counted by the engine.
    """

    def __init__(self, model, pool, mask, tables, config, view_counts):
        device = model.device
        graph_pool = torch.cuda.graph_pool_handle() if device.type == 'cuda' else None
        most = config.max_prompt_tokens
        self.words = sorted({min(most, words) for words in (16, 32, 48, 64, 100, 128, 160, most)})
        keys = max(view_counts) * model.config.image_tokens + most
        rows = [1]
        while rows[-1] < config.slots * (1 + config.draft_tokens):
            rows.append(rows[-1] * 2)
        # One new token each on a prefix each; several streams on one prefix; drafts.
        kinds = {(1, 1), (4, 1)} | ({(4, 4), (8, 8)} if config.draft_tokens else set())
        self.extents = sorted((Extent(n, min(n, block), min(n, slot), keys) for n in rows for block, slot in kinds),
                              key=lambda e: (e.rows, e.per_block, e.per_slot))
        self.extents = list(dict.fromkeys(self.extents))
        self.rounds = {e: Round(model, pool, e, graph_pool) for e in self.extents}
        self.prefills, self.denoises = {}, {}
        for views in view_counts:
            for words in self.words:
                positions = views * model.config.image_tokens + words
                self.denoises[views, words] = Denoise(model, pool, positions, tables, graph_pool)
                for extent in (None, *(self.extents if config.ride is not Ride.OFF else ())):
                    self.prefills[views, words, extent] = Prefill(model, pool, mask, views, words, extent, graph_pool)

    @property
    def captures(self):
        """Number of computations prepared."""
        return len(self.rounds) + len(self.prefills) + len(self.denoises)

    def bucket(self, tokens):
        """The prompt bucket of `tokens` words."""
        return next(words for words in self.words if words >= tokens)

    def extent(self, streams, pending):
        """The smallest extent that holds these rows, or None."""
        in_block = {}
        for stream, new in zip(streams, pending):
            in_block[stream.block] = in_block.get(stream.block, 0) + len(new)
        rows, deepest, widest = sum(map(len, pending)), max(in_block.values()), max(map(len, pending))
        return next((e for e in self.extents
                     if e.rows >= rows and e.per_block >= deepest and e.per_slot >= widest), None)
