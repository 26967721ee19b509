"""Appending tokens to streams: which row belongs where, and attention over shared prefix and own keys."""
from dataclasses import dataclass

import torch

from oxygen_ros.model.attention import MASKED, group_scores
from oxygen_ros.model.transfer import to_device

DENSE_SHARE = 0.8


class Append:
    """
    One forward that appends `pending[i]` tokens to stream i of the pool; suffix, decode and draft alike.

    Rows are flat, so the weights are read once for all of them. For the scores they are grouped twice, by prefix
    block (a block is read once for all streams that share it) and by slot, each group padded to the longest. A row
    sees its whole prefix, and of its slot what was stored before it and itself. `wanted` are the rows whose logits
    count: the last `wanted_counts[i]` of each stream, in the order of `streams`; there are `count`.
    """

    def __init__(self, pool, streams, pending, wanted_counts, extent=None):
        """`extent` pads rows, groups and keys to fixed sizes; without one they are what the streams need."""
        self.device = pool.prefix.device
        capacity = pool.slots.shape[3]
        # In the order of blocks, a batch with one row a block needs no regrouping of the long score rows.
        order = sorted(range(len(streams)), key=lambda i: (streams[i].block, streams[i].slot))
        if extent is None:
            blocks, slots = [s.block for s in streams], [s.slot for s in streams]
            self.blocks, self.slots = slice(min(blocks), max(blocks) + 1), slice(min(slots), max(slots) + 1)
        else:
            self.blocks, self.slots = slice(0, extent.blocks), slice(0, extent.slots)
            if any(s.block >= extent.blocks or s.slot >= extent.slots for s in streams):
                raise ValueError(f'blocks {[s.block for s in streams]} and slots {[s.slot for s in streams]} '
                                 f'do not fit {extent}')
        filled = [0] * (self.blocks.stop - self.blocks.start)
        tokens, positions, cells, in_block, in_slot, lengths, own = [], [], [], [], [], [], []
        ends = [0] * len(streams)
        for i in order:
            stream, new = streams[i], pending[i]
            group = stream.block - self.blocks.start
            for j, token in enumerate(new):
                tokens.append(token)
                positions.append(stream.prefix_length + stream.stored + j)
                cells.append(stream.slot * capacity + stream.stored + j)
                in_block.append((group, filled[group] + j))
                in_slot.append((stream.slot - self.slots.start, j))
                lengths.append(stream.prefix_length)
                own.append(stream.stored + j + 1)
            filled[group] += len(new)
            ends[i] = len(tokens)
        self.rows, widest, deepest = len(tokens), max(map(len, pending), default=0), max(filled)
        self.keys = read(max(lengths, default=0), pool.prefix.shape[3], len(filled))
        self.own = read(max(own, default=0), capacity, self.slots.stop - self.slots.start)
        wanted = [row for end, count in zip(ends, wanted_counts) for row in range(end - count, end)]
        self.count = len(wanted)
        if extent is not None:
            if self.rows > extent.rows or deepest > extent.per_block or widest > extent.per_slot:
                raise ValueError(f'{self.rows} rows, {deepest} a block and {widest} a slot do not fit {extent}')
            deepest, widest = extent.per_block, extent.per_slot
            self.keys, self.own = extent.keys, capacity
            # A spare row writes to the spare slot and reads what row 0 reads; nobody looks at its result.
            spare = extent.rows - self.rows
            tokens += [0] * spare
            positions += [0] * spare
            cells += [(pool.slots.shape[2] - 1) * capacity] * spare
            lengths += [1] * spare
            own += [1] * spare
            wanted += [0] * (extent.rows - len(wanted))
        self.tokens, self.positions, self.cells = to_device(torch.tensor([tokens, positions, cells]), self.device)
        self.wanted = to_device(torch.tensor(wanted), self.device)
        self.by_block = Groups(len(filled), deepest, in_block, len(tokens), self.device)
        self.by_slot = Groups(self.slots.stop - self.slots.start, widest, in_slot, len(tokens), self.device)
        key, own_key = torch.arange(self.keys), torch.arange(self.own)
        hidden = torch.cat((key >= torch.tensor(lengths)[:, None], own_key >= torch.tensor(own)[:, None]), 1)
        bias = torch.zeros(hidden.shape).masked_fill_(hidden, MASKED)[:, None]
        self.bias = to_device(bias.to(pool.prefix.dtype), self.device)  # [M, 1, N + C]
        # Views of each layer, made once: where new keys go, and what is read of blocks and slots.
        self._places = [x.unbind() for x in pool.slots.flatten(2, 3).unbind()]
        self._prefix = [x.unbind() for x in pool.prefix[:, :, self.blocks, :self.keys].unbind()]
        self._own = [x.unbind() for x in pool.slots[:, :, self.slots, :self.own].unbind()]

    def copy_(self, other):
        """Take another append of the same extent into the tensors of this one."""
        for name in ('tokens', 'positions', 'cells', 'wanted', 'bias'):
            getattr(self, name).copy_(getattr(other, name), non_blocking=True)
        self.by_block.copy_(other.by_block)
        self.by_slot.copy_(other.by_slot)

    def attend(self, layer, q, k, v):
        """`q [M, heads, D]`, `k, v [M, D]` -> `[M, heads * D]`; stores the new keys first."""
        rows, heads, dim = q.shape
        for place, new in zip(self._places[layer], (k, v)):
            place.index_copy_(0, self.cells, new)
        (keys, values), (own_keys, own_values) = self._prefix[layer], self._own[layer]
        scores = torch.cat((self.by_block.scores(q, keys), self.by_slot.scores(q, own_keys)), -1)
        weights = scores.add_(self.bias).softmax(-1)  # [M, heads, N + C]
        out = self.by_block.sums(weights[..., :self.keys], values)
        out += self.by_slot.sums(weights[..., self.keys:], own_values)
        return out.view(rows, heads * dim)


def read(needed, capacity, groups):
    """
    Positions to read of groups that hold `capacity` each: those needed, or all where they are most of them.

    torch copies what several groups of a batched product hold when these do not lie close to each other; up to a
    quarter more of positions that are hidden anyway costs less than that.
    """
    return capacity if groups > 1 and needed >= DENSE_SHARE * capacity else needed


@dataclass(frozen=True)
class Extent:
    """Fixed sizes of an append: rows, rows a prefix block, rows a slot; and how much is read: keys, blocks, slots."""

    rows: int
    per_block: int
    per_slot: int
    keys: int
    blocks: int
    slots: int

    @property
    def padded_rows(self):
        """What its padding costs: rows of the products, and of the scores over blocks and slots."""
        return self.rows + self.per_block * self.blocks + self.per_slot * self.slots


class Groups:
    """
    How flat rows lie in `groups` padded groups of `rows` each.

    `places [(group, row)]` of the first rows; `index [count]` is each row's place, `taken [groups * rows]` the row at
    each place, 0 where there is none.
    """

    def __init__(self, groups, rows, places, count, device):
        self.groups, self.rows = groups, rows
        index = [group * rows + row for group, row in places]
        taken = [0] * (groups * rows)
        for row, place in enumerate(index):
            taken[place] = row
        self.in_order = count == groups * rows and index == list(range(count))
        self.index = to_device(torch.tensor(index + [0] * (count - len(index))), device)
        self.taken = to_device(torch.tensor(taken), device)

    def copy_(self, other):
        self.index.copy_(other.index, non_blocking=True)
        self.taken.copy_(other.taken, non_blocking=True)
        self.in_order = False

    def scores(self, q, keys):
        """`q [M, heads, D]` over `keys [G, N, D]` -> `[M, heads, N]`."""
        found = group_scores(self._group(q), keys).reshape(self.groups * self.rows, q.shape[1], -1)
        return found if self.in_order else found[self.index]

    def sums(self, weights, values):
        """`weights [M, heads, N]` over `values [G, N, D]` -> `[M, heads, D]`."""
        out = torch.bmm(self._group(weights), values).view(-1, weights.shape[1], values.shape[2])
        return out if self.in_order else out[self.index]

    def _group(self, x):
        """`[M, heads, X] -> [G, rows * heads, X]`."""
        x = x if self.in_order else x[self.taken]
        return x.reshape(self.groups, self.rows * x.shape[1], x.shape[2])
