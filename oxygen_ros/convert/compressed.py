"""
sensor_msgs CompressedImage: JPEG and PNG, in every spelling of `format` that drivers use.

`format` is '', 'jpeg', 'png' or, from image_transport, '<encoding>; <codec> compressed <order>', where an order that
starts with 'rgb' says that the encoder was fed RGB as if it were BGR, so that red and blue are exchanged in the file
(the reading of image_transport's own compressed subscriber).
"""
import numpy as np

MAX_BYTES = 1 << 26  # 64 MiB of compressed data
CODECS = {'jpeg': 'jpeg', 'jpg': 'jpeg', 'png': 'png'}
_FRAME_MARKERS = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


def parse_format(text):
    """(codec or '', exchanged): codec named by a format string, and whether red and blue are exchanged in the file."""
    lower = text.strip().lower()
    if 'compresseddepth' in lower or lower.split(';')[0].strip() in ('16uc1', '32fc1', '64fc1'):
        raise ValueError(f'compressed image format {text!r} is depth, not colour: map a colour topic to this view')
    if not lower:
        return '', False
    words = lower.rpartition(';')[2].split()
    if not words:
        return '', False
    if words[0] not in CODECS:
        raise ValueError(f'compressed image format {text!r}: codec {words[0]!r} is not supported; use jpeg or png')
    order = words[words.index('compressed') + 1:] if 'compressed' in words else []
    return CODECS[words[0]], bool(order) and order[0].startswith('rgb')


def sniff(data):
    """Codec by the first bytes, or '' where they are neither JPEG's nor PNG's."""
    head = bytes(memoryview(data)[:8])
    if head[:3] == b'\xff\xd8\xff':
        return 'jpeg'
    return 'png' if head == b'\x89PNG\r\n\x1a\n' else ''


def check(format_text, data):
    """(height, width) from the file's own header, so that a size can be refused before memory is taken."""
    named, _ = parse_format(format_text)
    if len(data) > MAX_BYTES:
        raise ValueError(f'compressed image of {len(data)} bytes: at most {MAX_BYTES}')
    codec = sniff(data)
    if not codec:
        head = bytes(memoryview(data)[:4]).hex()
        raise ValueError(f'compressed image {format_text!r}: {len(data)} bytes, starting {head or "with nothing"}, '
                         'are neither JPEG nor PNG')
    # A codec that is named wrongly is no danger: the decoder goes by the bytes.
    size = _jpeg_size(data) if codec == 'jpeg' else _png_size(data)
    if size is None:
        lack = 'without a complete header' if codec == 'jpeg' else 'whose chunks are not all there'
        raise ValueError(f'compressed image {format_text!r}: {len(data)} bytes of {codec} {lack}')
    return size


def decode(format_text, data):
    """Decode to uint8 [h, w, 3] RGB; ValueError where the data do not decode."""
    import cv2
    _, exchanged = parse_format(format_text)
    buffer = np.frombuffer(data, np.uint8)
    try:
        # UNCHANGED also leaves an EXIF rotation alone, as image_transport does.
        image = cv2.imdecode(buffer, cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        image, reason = None, f': {error.err}'
    else:
        reason = ''
    if image is None:
        raise ValueError(f'compressed image {format_text!r}: {len(buffer)} bytes do not decode{reason}')
    if image.dtype == np.uint16:
        image = ((image.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    if image.ndim == 2:
        return np.repeat(image[..., None], 3, axis=-1)
    return np.ascontiguousarray(image[..., :3] if exchanged else image[..., 2::-1])


def _png_size(data):
    """(height, width), or None where a chunk reaches beyond the file: OpenCV takes as much memory as a chunk claims."""
    view, place, size = memoryview(data), 8, None
    while place + 12 <= len(view):  # length, name, data, checksum
        length, name = int.from_bytes(view[place:place + 4], 'big'), bytes(view[place + 4:place + 8])
        if size is None:
            if name != b'IHDR' or length != 13:
                return None
            width, height = (int.from_bytes(view[at:at + 4], 'big') for at in (place + 8, place + 12))
            size = height, width
        place += 12 + length
        if name == b'IEND' and place <= len(view):
            return size
    return None


def _jpeg_size(data):
    view, place = memoryview(data), 2
    while place + 9 <= len(view):
        if view[place] != 0xFF:
            return None
        marker = view[place + 1]
        if marker == 0xFF:  # fill byte
            place += 1
            continue
        if marker in _FRAME_MARKERS:
            return int.from_bytes(view[place + 5:place + 7], 'big'), int.from_bytes(view[place + 7:place + 9], 'big')
        if marker == 0x00:
            return None  # no marker: the decoder would read on behind it, and see another frame than this does
        if marker == 0xD8 or marker == 0x01 or 0xD0 <= marker <= 0xD7:
            place += 2
            continue
        length = int.from_bytes(view[place + 2:place + 4], 'big')
        if length < 2:
            return None
        place += 2 + length
    return None
