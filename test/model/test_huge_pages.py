"""Large pages change where numbers lie, not the numbers, and take no page that the weights do not fill."""
import mmap

import pytest
import torch

from oxygen_ros.model.huge_pages import gather, PAGE
from oxygen_ros.model.linear import can_pack, Linear


def large_bytes():
    """Memory of this process on large pages."""
    with open('/proc/self/smaps_rollup') as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith('AnonHugePages'))


def test_numbers_stay_and_pages_grow():
    # Memory of its own: what malloc gives may lie on large pages from before.
    memory = mmap.mmap(-1, 16 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    x = torch.frombuffer(memory, dtype=torch.float32).normal_()
    copy, before = x.clone(), large_bytes()
    pages = gather([x])
    if not pages:
        pytest.skip('this machine gives no large pages on request (Linux 6.1 does)')
    assert 15 <= pages <= 16  # wherever it begins
    assert large_bytes() - before > pages * PAGE // 2
    assert torch.equal(x, copy)


def test_a_page_that_is_not_filled_is_left_alone():
    assert gather([torch.randn(PAGE // 16), torch.randn(3)]) == 0
    assert gather([]) == 0


def test_packed_weights_are_found():
    layer = Linear(1024, 4096)
    layer.weight.data.normal_()
    if not can_pack(layer.weight):
        pytest.skip('this build of torch packs nothing')
    x, plain = torch.randn(3, 1024), layer.weight.detach().clone()
    layer.pack()
    gather([layer.packed])
    assert (layer(x) - x @ plain.T).abs().max() < 1e-3
