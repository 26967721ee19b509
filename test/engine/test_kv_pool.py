"""The pool gives out and takes back; nothing leaks and nothing moves."""
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
import numpy as np
import pytest

from oxygen_ros.engine.kv_pool import KVPool
from tiny_engine import CONFIG


def pool(blocks=4, slots=3):
    return KVPool(CONFIG, blocks, 20, slots, 8)


class PoolMachine(RuleBasedStateMachine):
    """Holders of blocks and slots come and go in any order."""

    def __init__(self):
        super().__init__()
        self.pool, self.blocks, self.slots = pool(), [], []

    @precondition(lambda self: self.pool.can_take_block())
    @rule()
    def take_block(self):
        number = self.pool.take_block()
        assert number not in self.blocks
        self.blocks.append(number)

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def share_block(self, data):
        number = data.draw(st.sampled_from(self.blocks))
        self.pool.share_block(number)
        self.blocks.append(number)

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def release_block(self, data):
        number = data.draw(st.sampled_from(self.blocks))
        self.blocks.remove(number)
        self.pool.release_block(number)

    @precondition(lambda self: self.pool.can_take_slot())
    @rule()
    def take_slot(self):
        number = self.pool.take_slot()
        assert number not in self.slots
        self.slots.append(number)

    @precondition(lambda self: self.slots)
    @rule(data=st.data())
    def release_slot(self, data):
        number = data.draw(st.sampled_from(self.slots))
        self.slots.remove(number)
        self.pool.release_slot(number)

    @invariant()
    def counts_agree(self):
        assert self.pool.blocks_used == len(set(self.blocks))
        assert self.pool.references == [self.blocks.count(i) for i in range(4)]
        assert self.pool.slots_used == len(self.slots)
        assert self.pool.can_take_slot() == (len(self.slots) < 3)


PoolMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestPool = PoolMachine.TestCase


def test_ten_thousand_random_events_leave_it_empty():
    made, random = pool(7, 5), np.random.default_rng(0)
    address = made.prefix.data_ptr(), made.slots.data_ptr()
    blocks, slots = [], []
    for _ in range(10_000):
        event = random.integers(5)
        if event == 0 and made.can_take_block():
            blocks.append(made.take_block())
        elif event == 1 and blocks:
            blocks.append(blocks[random.integers(len(blocks))])
            made.share_block(blocks[-1])
        elif event == 2 and blocks:
            made.release_block(blocks.pop(random.integers(len(blocks))))
        elif event == 3 and made.can_take_slot():
            slots.append(made.take_slot())
        elif event == 4 and slots:
            made.release_slot(slots.pop(random.integers(len(slots))))
    for number in blocks:
        made.release_block(number)
    for number in slots:
        made.release_slot(number)
    assert (made.blocks_used, made.slots_used) == (0, 0)
    assert made.references == [0] * 7
    assert (made.prefix.data_ptr(), made.slots.data_ptr()) == address


def test_lowest_number_first_keeps_the_range_short():
    made = pool()
    taken = [made.take_block() for _ in range(3)]
    made.release_block(taken[1])
    assert made.take_block() == taken[1] == 1


def test_what_is_not_taken_cannot_be_given_back():
    made = pool()
    for wrong in (lambda: made.release_block(0), lambda: made.share_block(0), lambda: made.release_slot(0)):
        with pytest.raises(AssertionError, match='not in use'):
            wrong()


def test_bytes_follow_the_formula():
    made = pool(4, 3)
    assert made.bytes == CONFIG.depth * 2 * CONFIG.head_dim * 4 * (4 * 20 + 3 * 8)
