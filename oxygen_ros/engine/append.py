"""Appending tokens to streams: which row belongs where, and attention over shared prefix and own keys."""
import torch

from oxygen_ros.model.attention import MASKED, group_scores


class Append:
    """
    One forward that appends `pending[i]` tokens to stream i of the pool; suffix, decode and draft alike.

    Rows are flat, so the weights are read once for all of them. For the scores they are grouped twice, by prefix
    block (a block is read once for all streams that share it) and by slot, each group padded to the longest. A row
    sees its whole prefix, and of its slot what was stored before it and itself. `wanted` are the rows whose logits
    count: the last `wanted_counts[i]` of each stream, in the order of `streams`.
    """

    def __init__(self, pool, streams, pending, wanted_counts):
        self.pool = pool
        self.device = pool.prefix.device
        capacity = pool.slots.shape[3]
        # In the order of blocks, a batch with one row a block needs no regrouping of the long score rows.
        order = sorted(range(len(streams)), key=lambda i: (streams[i].block, streams[i].slot))
        blocks, slots = [s.block for s in streams], [s.slot for s in streams]
        self.blocks, self.slots = slice(min(blocks), max(blocks) + 1), slice(min(slots), max(slots) + 1)
        filled = [0] * (self.blocks.stop - self.blocks.start)
        widest = max(len(new) for new in pending)
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
                in_slot.append((stream.slot - self.slots.start) * widest + j)
                lengths.append(stream.prefix_length)
                own.append(stream.stored + j + 1)
            filled[group] += len(new)
            ends[i] = len(tokens)
        rows = max(filled)
        in_block = [group * rows + row for group, row in in_block]
        index = torch.tensor([tokens, positions, cells, in_block, in_slot])
        self.tokens, self.positions, self.cells, in_block, in_slot = index.to(self.device)
        wanted = [row for end, count in zip(ends, wanted_counts) for row in range(end - count, end)]
        self.wanted = torch.tensor(wanted).to(self.device)
        self.by_block = Groups(len(filled), rows, in_block, len(filled) * rows == len(tokens))
        self.by_slot = Groups(self.slots.stop - self.slots.start, widest, in_slot, False)
        self.keys, self.own = max(lengths), max(own)
        key, own_key = torch.arange(self.keys), torch.arange(self.own)
        hidden = torch.cat((key >= torch.tensor(lengths)[:, None], own_key >= torch.tensor(own)[:, None]), 1)
        bias = torch.zeros(hidden.shape).masked_fill_(hidden, MASKED)[:, None]
        self.bias = bias.to(self.device, pool.prefix.dtype)  # [M, 1, N + C]

    def attend(self, layer, q, k, v):
        """`q [M, heads, D]`, `k, v [M, D]` -> `[M, heads * D]`; stores the new keys first."""
        rows, heads, dim = q.shape
        slots = self.pool.slots[layer]
        slots[0].view(-1, dim).index_copy_(0, self.cells, k)
        slots[1].view(-1, dim).index_copy_(0, self.cells, v)
        keys, values = self.pool.prefix[layer, :, self.blocks, :self.keys]
        own_keys, own_values = slots[:, self.slots, :self.own]
        q = q * dim ** -0.5
        scores = torch.cat((self.by_block.scores(q, keys), self.by_slot.scores(q, own_keys)), -1)
        weights = scores.add_(self.bias).softmax(-1)  # [M, heads, N + C]
        out = self.by_block.sums(weights[..., :self.keys], values)
        out += self.by_slot.sums(weights[..., self.keys:], own_values)
        return out.view(rows, heads * dim)


class Groups:
    """How flat rows lie in `groups` padded groups of `rows` each; `index [M]` is each row's place."""

    def __init__(self, groups, rows, index, in_order):
        self.groups, self.rows, self.index, self.in_order = groups, rows, index, in_order

    def scores(self, q, keys):
        """`q [M, heads, D]` over `keys [G, N, D]` -> `[M, heads, N]`."""
        found = group_scores(self._group(q), keys).unflatten(1, (self.rows, q.shape[1])).flatten(0, 1)
        return found if self.in_order else found[self.index]

    def sums(self, weights, values):
        """`weights [M, heads, N]` over `values [G, N, D]` -> `[M, heads, D]`."""
        out = torch.bmm(self._group(weights), values).view(-1, weights.shape[1], values.shape[2])
        return out if self.in_order else out[self.index]

    def _group(self, x):
        """`[M, heads, X] -> [G, rows * heads, X]`."""
        if not self.in_order:
            x = x.new_zeros(self.groups * self.rows, *x.shape[1:]).index_copy_(0, self.index, x)
        return x.reshape(self.groups, self.rows * x.shape[1], x.shape[2])
