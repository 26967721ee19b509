"""Large memory pages for the weights: a pass over them looks up one address in 512 otherwise each 4 KiB."""
import ctypes
import sys

import torch

PAGE = 1 << 21
COLLAPSE = 25  # MADV_COLLAPSE of Linux 6.1, which needs no setting of the machine
FULL = 0.9  # of a page: one that holds little else costs no memory


def gather(tensors):
    """
    Ask Linux to put these CPU tensors, plain or packed, on pages of 2 MiB where they fill them; returns the pages.

    Their numbers and addresses stay as they are. A machine that cannot, or has no such page free, keeps small ones.
    """
    if not sys.platform.startswith('linux'):
        return 0
    filled = {}
    for tensor in tensors:
        start, size = extent(tensor)
        for page in range(start // PAGE, -(-(start + size) // PAGE)):
            inside = min(start + size, (page + 1) * PAGE) - max(start, page * PAGE)
            filled[page] = filled.get(page, 0) + inside
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return sum(madvise(page * PAGE, PAGE, COLLAPSE) == 0
               for page, inside in sorted(filled.items()) if inside >= FULL * PAGE)


def extent(tensor):
    """(address, bytes) of a tensor's numbers."""
    if tensor.layout is torch._mkldnn:
        return torch.ops.mkldnn.data_ptr(tensor), torch.ops.mkldnn._nbytes(tensor)
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()
