"""JPEG and PNG files made to take memory: what the size check reads is what the decoder reads, or it is refused."""
import struct
from types import SimpleNamespace
import zlib

import cv2
import numpy as np
from oxygen_ros.convert import compressed
from oxygen_ros.convert.images import MAX_PIXELS, to_rgb
import pytest

RGB = np.random.default_rng(1).integers(0, 256, (40, 50, 3)).astype(np.uint8)
SMALL = RGB[:8, :8]
HUGE = 30_000


def encoded(extension, picture):
    return cv2.imencode(extension, picture)[1].tobytes()


def chunk(name, data):
    """One chunk of a PNG file."""
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def header(width, height):
    return chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))


def scanned(data):
    """Height and width by the check and by the decoder; None where it is refused."""
    try:
        return compressed.check('', data), compressed.decode('', data).shape[:2]
    except ValueError:
        return None


def jpeg_of(width, height):
    """A whole JPEG file whose header claims another size."""
    data = bytearray(encoded('.jpg', SMALL))
    place = data.index(b'\xff\xc0') + 5
    data[place:place + 4] = struct.pack('>HH', height, width)
    return bytes(data)


@pytest.mark.parametrize('data', [
    jpeg_of(HUGE, HUGE), encoded('.png', SMALL)[:8] + header(HUGE, HUGE) + encoded('.png', SMALL)[33:]],
    ids=['jpeg', 'png'])
def test_a_small_file_that_claims_a_huge_picture_is_refused_before_it_is_decoded(data, monkeypatch):
    monkeypatch.setattr(cv2, 'imdecode', lambda *a: pytest.fail('decoded'))
    with pytest.raises(ValueError, match=f'{HUGE}x{HUGE} pixels: must be at least 1x1 and at most {MAX_PIXELS}'):
        to_rgb(SimpleNamespace(format='', data=data))


def test_a_second_picture_hidden_behind_any_jpeg_marker_is_not_what_is_decoded():
    hidden, shown = encoded('.jpg', RGB)[2:], encoded('.jpg', SMALL)[2:]
    for marker in range(256):
        sizes = scanned(b'\xff\xd8\xff' + bytes([marker]) + struct.pack('>H', len(hidden) + 2) + hidden + shown)
        assert sizes is None or sizes[0] == sizes[1], f'marker {marker:#x}'


@pytest.mark.parametrize('name', [b'IDAT', b'IEND', b'tEXt', b'zTXt', b'iCCP', b'eXIf', b'PLTE', b'acTL', b'fdAT'])
@pytest.mark.parametrize('length', [4_000, 7_000_000, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 12])
def test_a_png_chunk_that_claims_more_than_the_file_has_is_refused_before_it_is_decoded(name, length, monkeypatch):
    monkeypatch.setattr(cv2, 'imdecode', lambda *a: pytest.fail('decoded'))
    png = encoded('.png', SMALL)
    with pytest.raises(ValueError, match='png whose chunks are not all there'):
        to_rgb(SimpleNamespace(format='', data=png[:33] + struct.pack('>I', length) + name + png[33:]))


def test_a_jpeg_with_other_segments_before_its_frame_is_taken():
    data = encoded('.jpg', SMALL)
    comment = b'\xff\xfe' + struct.pack('>H', 6) + b'note'
    assert scanned(data[:2] + comment + b'\xff' + data[2:]) == ((8, 8), (8, 8))  # and a fill byte


def test_a_second_header_or_a_larger_animation_frame_in_a_png_is_not_what_is_decoded():
    png, rows = encoded('.png', RGB), zlib.compress(b''.join(b'\0' + row.tobytes() for row in RGB))
    frame = struct.pack('>IIIIIHHBB', 0, 50, 40, 0, 0, 1, 10, 0, 0)
    animation = chunk(b'acTL', struct.pack('>II', 1, 0)) + chunk(b'fcTL', frame) + chunk(b'IDAT', rows)
    for data in (png[:8] + header(8, 8) + png[8:], png[:8] + header(8, 8) + animation + chunk(b'IEND', b'')):
        sizes = scanned(data)
        assert sizes is None or sizes[0] == sizes[1]


@pytest.mark.parametrize('extension, options', [
    ('.jpg', []), ('.jpg', [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]), ('.png', [])])
def test_a_picture_that_is_cut_short_is_refused_and_never_filled_up(extension, options):
    data = cv2.imencode(extension, np.repeat(np.repeat(RGB, 4, 0), 4, 1), options)[1].tobytes()
    for share in (0.2, 0.5, 0.9, 0.97):
        assert scanned(data[:int(share * len(data))]) is None
    assert scanned(data) == ((160, 200), (160, 200))
