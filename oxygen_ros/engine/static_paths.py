"""The frame's stages in fixed shapes and at fixed addresses, for CUDA graphs: buckets made in warm-up, none later."""
import torch

from oxygen_ros.engine.append import Append, Extent
from oxygen_ros.engine.replay import Captures, Replay
from oxygen_ros.engine.ride import Ride

MOST_SUFFIX = 64  # tokens of a suffix that have a bucket; longer ones are run eagerly
MOST_PENDING = 8  # tokens of a stream in a round, its newest and a draft


class Prefill:
    """Vision and prefill of `views` pictures and up to `words` prompt tokens into any prefix block."""

    def __init__(self, model, pool, mask, views, words, captures, extent=None):
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

        self.replay = Replay(run, device, captures)

    def __call__(self, images, prompt, block, riders=None):
        """-> hidden of the last prompt token `[1, W]`, logits of the riders' wanted rows or None."""
        self.images.copy_(images, non_blocking=True)
        self.prompt[:len(prompt)].copy_(prompt, non_blocking=True)
        self.length.fill_(self.count + len(prompt))
        torch.arange(block * self.capacity, block * self.capacity + self.positions, out=self.cells)
        if riders is not None:
            self.riders.copy_(riders)
        hidden, logits = self.replay()
        # Both are read after the denoising, whose graph may use the memory that they lie in.
        return hidden.clone(), None if logits is None else logits.clone()


class Denoise:
    """All S Euler steps over a prefix of up to `positions`, which is read into `scratch [L, 2, 1, n, D]`."""

    def __init__(self, model, pool, positions, tables, scratch, captures):
        c, device = model.config, model.device
        self.noise = torch.zeros(c.horizon, c.action_dim, device=device)
        self.length = torch.ones(1, dtype=torch.long, device=device)
        self.block = torch.zeros(1, dtype=torch.long, device=device)
        blocks, prefix = pool.prefix[:, :, :, :positions], scratch[:, :, :, :positions]

        def run():
            torch.index_select(blocks, 2, self.block, out=prefix)
            return model.denoise_padded(self.noise, scratch[:, :, 0], positions, self.length, tables)

        self.replay = Replay(run, device, captures)

    def __call__(self, noise, block, length):
        """-> normalised chunk `[H, A]`."""
        self.noise.copy_(noise, non_blocking=True)
        self.length.fill_(length)
        self.block.fill_(block)
        return self.replay()


class Round:
    """One decode round of up to `extent.rows` rows."""

    def __init__(self, model, pool, extent, captures):
        self.append = Append(pool, [], [], [], extent)

        def run():
            hidden = model.extend(self.append.tokens, self.append.positions, self.append.attend)
            return model.logits(hidden[self.append.wanted])

        self.replay = Replay(run, model.device, captures)

    def __call__(self, append):
        """-> logits of the wanted rows, padded to the extent."""
        self.append.copy_(append)
        return self.replay()


class FirstTokens:
    """The logits of up to `count` streams whose text continues their prompt."""

    def __init__(self, model, count, captures):
        self.hidden = torch.zeros(count, model.config.trunk_width, dtype=model.dtype, device=model.device)
        self.replay = Replay(lambda: model.logits(self.hidden), model.device, captures)

    def __call__(self, hidden):
        """`hidden [n, W]` of the prompts' last tokens -> logits `[n, vocabulary]`."""
        self.hidden[:len(hidden)].copy_(hidden)
        return self.replay()[:len(hidden)]


class StaticPaths:
    """
    Every bucket that an engine may need, made once.

    Prompts are padded to the next of `words`, rounds to the least of `extents` that holds them; what none holds as a
    whole is cut into `parts`. Rows ride in a prefill in the extents of plain rounds, not in those of suffixes.
    """

    def __init__(self, model, pool, mask, tables, config, view_counts):
        self.captures = captures = Captures(model.device)
        most, image_tokens = config.max_prompt_tokens, model.config.image_tokens
        self.words = sorted({min(most, words) for words in (16, 32, 48, 64, 100, 128, 160, most)})
        keys = max(view_counts) * image_tokens + most
        plain, suffixes = extents(config, pool.prefix.shape[2], keys)
        self.extents = sorted({*plain, *suffixes}, key=lambda extent: extent.padded_rows)
        self.rounds = {e: Round(model, pool, e, captures) for e in self.extents}
        self.first = [FirstTokens(model, count, captures) for count in powers(config.slots)]
        self.scratch = torch.zeros(*pool.prefix.shape[:2], 1, keys + model.config.horizon, model.config.head_dim,
                                   dtype=model.dtype, device=model.device)
        self.prefills, self.denoises = {}, {}
        for views in view_counts:
            for words in self.words:
                positions = views * image_tokens + words
                scratch = self.scratch[:, :, :, :positions + model.config.horizon]
                self.denoises[views, words] = Denoise(model, pool, positions, tables, scratch, captures)
                for extent in (None, *(plain if config.ride is not Ride.OFF else ())):
                    self.prefills[views, words, extent] = Prefill(model, pool, mask, views, words, captures, extent)

    @property
    def bytes(self):
        """Memory of keys and values besides the pool."""
        return self.scratch.numel() * self.scratch.element_size()

    def bucket(self, tokens):
        """The prompt bucket of `tokens` words."""
        return next(words for words in self.words if words >= tokens)

    def extent(self, streams, pending):
        """The extent with the least padding that holds these rows, or None."""
        in_block = {}
        for stream, new in zip(streams, pending):
            in_block[stream.block] = in_block.get(stream.block, 0) + len(new)
        rows, deepest, widest = sum(map(len, pending)), max(in_block.values()), max(map(len, pending))
        blocks, slots = max(in_block) + 1, max(stream.slot for stream in streams) + 1
        return next((e for e in self.extents
                     if e.rows >= rows and e.per_block >= deepest and e.per_slot >= widest
                     and e.blocks >= blocks and e.slots >= slots), None)

    def parts(self, streams, pending):
        """Cut a round into few forwards that have an extent -> `[(slice of streams, Extent)]`, None for one alone."""
        found, start, fits = [], 0, self.extent(streams, pending)
        if fits is not None:
            return [(slice(None), fits)]
        for stop in range(1, len(streams) + 1):
            extent = self.extent(streams[start:stop], pending[start:stop])
            if extent is None and stop - start > 1:
                found.append((slice(start, stop - 1), fits))
                start = stop - 1
                extent = self.extent(streams[start:stop], pending[start:stop])
            fits = extent
        return [*found, (slice(start, len(streams)), fits)]

    def first_logits(self, hidden):
        """Logits after each prompt's last `hidden [n, W]`."""
        return next(first for first in self.first if len(first.hidden) >= len(hidden))(hidden)


def powers(most):
    """1, 2, 4 ... up to the first that is not below `most`."""
    found = [1]
    while found[-1] < most:
        found.append(found[-1] * 2)
    return found


def extents(config, blocks, keys):
    """
    Extents of plain rounds and those of rounds with a suffix, for a pool of so many `blocks`.

    The lowest blocks and slots are given out first, so n streams lie in the first n slots and n + 1 blocks or little
    beyond; a batch that reaches farther takes the next larger extent.
    """
    # One new token each on a prefix each; several streams on one prefix; drafts.
    kinds = {(1, 1), (4, 1), (8, 1)} | ({(4, 4), (MOST_PENDING, MOST_PENDING)} if config.draft_tokens else set())
    plain = {Extent(n, min(n, block), min(n, slot), keys, min(blocks, n + 1) if n < config.slots else blocks,
                    min(config.slots, n))
             for n in powers(config.slots * (1 + min(config.draft_tokens, MOST_PENDING - 1))) for block, slot in kinds}
    longest = min(config.max_suffix_tokens, MOST_SUFFIX)
    suffixes = {Extent(n, n, n, keys, blocks, config.slots) for n in powers(longest) if n >= min(8, longest)}
    return plain, suffixes
