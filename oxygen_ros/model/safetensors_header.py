"""The table of contents of a safetensors file, checked before anything is allocated."""
from dataclasses import dataclass
import json
from math import prod

MAX_HEADER_BYTES = 16 << 20  # the 812 tensors of pi0.5 need 0.1 MB
MAX_TENSORS = 20000
BYTES = {'F64': 8, 'F32': 4, 'BF16': 2, 'F16': 2, 'I64': 8, 'I32': 4, 'I16': 2, 'I8': 1, 'U8': 1, 'BOOL': 1,
         'F8_E4M3': 1, 'F8_E5M2': 1, 'U16': 2, 'U32': 4, 'U64': 8}


@dataclass(frozen=True)
class Entry:
    """One tensor of a file."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int


def read_header(path):
    """
    Return `({name: Entry}, metadata)` of a safetensors file.

    Raises ValueError with file and reason for a truncated file, an oversized or malformed header, and for entries
    whose type, shape and place do not agree.
    """
    size = path.stat().st_size
    with open(path, 'rb') as file:
        start = file.read(8)
        if len(start) < 8:
            raise ValueError(f'{path} has {size} bytes, too few for a safetensors file')
        length = int.from_bytes(start, 'little')
        if start[:2] == b'PK' or start[0] == 0x80:
            raise ValueError(f'{path} is a pickled PyTorch file, which can run code when it is read; convert it to '
                             'safetensors where you trust it')
        if length > MAX_HEADER_BYTES:
            raise ValueError(f'{path} is not safetensors: its header would have {length} bytes '
                             f'(limit {MAX_HEADER_BYTES})')
        if 8 + length > size:
            raise ValueError(f'{path} is cut short: the header needs {8 + length} bytes, the file has {size}')
        text = file.read(length)
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'{path} is not safetensors: its header is not JSON ({error})') from None
    if not isinstance(table, dict) or len(table) > MAX_TENSORS:
        raise ValueError(f'{path} is not safetensors: its header is no table of at most {MAX_TENSORS} tensors')
    metadata = table.pop('__metadata__', None) or {}
    entries, room = {}, size - 8 - length
    for name, row in table.items():
        entries[name] = entry(path, name, row, room)
    used = sum(e.bytes for e in entries.values())
    if used > room:
        raise ValueError(f'{path} is cut short: its tensors have {used} bytes, the file has room for {room}')
    return entries, metadata


def entry(path, name, row, room):
    where = f'{path}: tensor {name[:120]}'
    try:
        dtype, shape, (start, stop) = row['dtype'], row['shape'], row['data_offsets']
        numbers = [*shape, start, stop]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f'{where} is described wrongly: {str(row)[:120]}') from None
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 48 for n in numbers) or len(shape) > 8:
        raise ValueError(f'{where} has the shape {str(shape)[:60]} at {start}..{stop}')
    if not isinstance(dtype, str) or dtype not in BYTES:
        raise ValueError(f'{where} has the unknown type {str(dtype)[:20]}')
    size = prod(shape) * BYTES[dtype]
    if stop - start != size or stop > room:
        raise ValueError(f'{where} {dtype} {shape} needs {size} bytes, the file gives it {start}..{stop} of {room}: '
                         'it is cut short or damaged')
    return Entry(dtype, tuple(shape), size)
