"""All keys and values of an engine, allocated once: prefix blocks shared by reference count, and decode slots."""
import heapq

import torch


class KVPool:
    """
    `prefix [L, 2, P, positions, D]` and `slots [L, 2, S, positions, D]` at fixed addresses, keys at 0, values at 1.

    The lowest free number is given out first, so that what is in use stays a short range. Callers ask `can_take_...`
    first; taking from an empty pool, sharing or releasing what is not taken is an error in the caller. `spare_slot`
    adds a last slot that is never given out: padding rows write there.
    """

    def __init__(self, config, blocks, block_positions, slots, slot_positions, dtype=torch.float32, device='cpu',
                 spare_slot=False):
        shape = (config.depth, 2)
        kind = {'dtype': dtype, 'device': device}
        self.prefix = torch.zeros(*shape, blocks, block_positions, config.head_dim, **kind)
        self.slots = torch.zeros(*shape, slots + spare_slot, slot_positions, config.head_dim, **kind)
        self.references = [0] * blocks
        self.taken = [False] * slots
        self._free_blocks = list(range(blocks))
        self._free_slots = list(range(slots))

    @property
    def bytes(self):
        return self.prefix.numel() * self.prefix.element_size() + self.slots.numel() * self.slots.element_size()

    @property
    def blocks_used(self):
        return len(self.references) - len(self._free_blocks)

    @property
    def slots_used(self):
        return len(self.taken) - len(self._free_slots)

    def block(self, number):
        """Keys and values of one prefix block, `[L, 2, positions, D]`, a view."""
        return self.prefix[:, :, number]

    def can_take_block(self):
        return bool(self._free_blocks)

    def take_block(self):
        """Number of a free block, now with one reference."""
        assert self._free_blocks, 'no free prefix block'
        number = heapq.heappop(self._free_blocks)
        self.references[number] = 1
        return number

    def share_block(self, number):
        assert self.references[number], f'prefix block {number} is not in use'
        self.references[number] += 1

    def release_block(self, number):
        """Give one reference back; the last one frees the block."""
        assert self.references[number], f'prefix block {number} is not in use'
        self.references[number] -= 1
        if not self.references[number]:
            heapq.heappush(self._free_blocks, number)

    def can_take_slot(self):
        return bool(self._free_slots)

    def take_slot(self):
        assert self._free_slots, 'no free slot'
        number = heapq.heappop(self._free_slots)
        self.taken[number] = True
        return number

    def release_slot(self, number):
        assert self.taken[number], f'slot {number} is not in use'
        self.taken[number] = False
        heapq.heappush(self._free_slots, number)
