"""Appending tokens to streams: which row belongs where, and attention over shared prefix and own keys."""
import torch

from oxygen_ros.model.attention import MASKED, attend_groups, merge


class Append:
    """
    One forward that appends `pending[i]` tokens to stream i of the pool; suffix, decode and draft alike.

    Rows are flat: weights are read once for all of them. For attention they are grouped twice, by prefix block (a
    block is read once for all streams that share it) and by slot, each group padded to the longest; the two results
    are merged by their softmax totals. A row sees its whole prefix, and of its slot what was stored before it.
    """

    def __init__(self, pool, streams, pending):
        self.pool = pool
        device = pool.prefix.device
        counts = [len(tokens) for tokens in pending]
        capacity = pool.slots.shape[3]
        blocks = [s.block for s in streams]
        self.first_block, stop_block = min(blocks), max(blocks) + 1
        self.first_slot, stop_slot = min(s.slot for s in streams), max(s.slot for s in streams) + 1
        filled = [0] * (stop_block - self.first_block)
        widest = max(counts)
        tokens, positions, cells, by_block, by_slot = [], [], [], [], []
        for stream, new in zip(streams, pending):
            group = stream.block - self.first_block
            for j, token in enumerate(new):
                tokens.append(token)
                positions.append(stream.prefix_length + stream.stored + j)
                cells.append(stream.slot * capacity + stream.stored + j)
                by_block.append((group, filled[group] + j))
                by_slot.append((stream.slot - self.first_slot) * widest + j)
            filled[group] += len(new)
        self.block_rows, self.slot_rows = max(filled), widest
        self.blocks, self.slots = len(filled), stop_slot - self.first_slot
        index = [tokens, positions, cells, [g * self.block_rows + r for g, r in by_block], by_slot]
        self.tokens, self.positions, self.cells, self.by_block, self.by_slot = torch.tensor(index).to(device)
        ends = torch.tensor(counts).cumsum(0) - 1
        self.last = ends.to(device)

        lengths = [0] * self.blocks
        for stream in streams:
            lengths[stream.block - self.first_block] = stream.prefix_length
        self.keys = max(lengths)
        self.prefix_bias = self._bias(torch.tensor(lengths)[:, None], self.keys, device)  # [P, 1, N]
        seen = torch.zeros(self.slots, widest, dtype=torch.long)
        for stream, count in zip(streams, counts):
            seen[stream.slot - self.first_slot, :count] = stream.stored + 1 + torch.arange(count)
        self.own = max(s.stored + c for s, c in zip(streams, counts))
        self.slot_bias = self._bias(seen, self.own, device)  # [S, T, C]

    @staticmethod
    def _bias(lengths, width, device):
        """`lengths [G, R]` -> `[G, R, width]`: 0 where the key counts."""
        hidden = torch.arange(width) >= lengths[..., None]
        return torch.zeros(hidden.shape).masked_fill_(hidden, MASKED).to(device)

    def attend(self, layer, q, k, v):
        """`q [M, heads, D]`, `k, v [M, D]` -> `[M, heads * D]`; stores the new keys first."""
        heads, dim = q.shape[1:]
        slots = self.pool.slots[layer]
        slots[0].view(-1, dim).index_copy_(0, self.cells, k)
        slots[1].view(-1, dim).index_copy_(0, self.cells, v)
        keys, values = slots[:, self.first_slot:self.first_slot + self.slots, :self.own]
        bias = self.slot_bias
        if self.slot_rows > 1:
            bias = bias.repeat_interleave(heads, 1)
        own, own_total = self._grouped(q, self.by_slot, self.slots, self.slot_rows, keys, values, bias)
        keys, values = self.pool.prefix[layer, :, self.first_block:self.first_block + self.blocks, :self.keys]
        shared, total = self._grouped(q, self.by_block, self.blocks, self.block_rows, keys, values, self.prefix_bias)
        return merge(shared, total, own, own_total).view(len(q), heads * dim)

    @staticmethod
    def _grouped(q, index, groups, rows, keys, values, bias):
        heads, dim = q.shape[1:]
        padded = q.new_zeros(groups * rows, heads, dim).index_copy_(0, index, q)
        out, total = attend_groups(padded.view(groups, rows * heads, dim), keys, values, bias)
        return out.view(-1, heads, dim)[index], total.view(-1, heads)[index]
