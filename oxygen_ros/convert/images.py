"""
sensor_msgs Image and CompressedImage to RGB pixels; also the same messages as read from a bag.

Everything is decoded here, in one place, so that live and recorded pictures give the same pixels. Rows are padded by
real drivers (`step`), 16-bit data may be big-endian, and a depth stream is refused by name rather than read as colour.
"""
import numpy as np

from oxygen_ros.convert import compressed
from oxygen_ros.convert.cv_bridge import bridge

MAX_PIXELS = 1 << 25  # 33.5 million, an 8K frame; a message that claims more is refused before memory is taken

# encoding -> (bits a sample, samples a pixel, layout)
ENCODINGS = {
    'rgb8': (8, 3, 'rgb'), 'bgr8': (8, 3, 'bgr'), 'rgba8': (8, 4, 'rgb'), 'bgra8': (8, 4, 'bgr'),
    'rgb16': (16, 3, 'rgb'), 'bgr16': (16, 3, 'bgr'), 'rgba16': (16, 4, 'rgb'), 'bgra16': (16, 4, 'bgr'),
    'mono8': (8, 1, 'grey'), 'mono16': (16, 1, 'grey'), '8UC1': (8, 1, 'grey'),
    '8UC3': (8, 3, 'bgr'), '8UC4': (8, 4, 'bgr'),  # OpenCV's order, by its convention
    'yuv422': (8, 2, 'uyvy'), 'uyvy': (8, 2, 'uyvy'), 'yuv422_yuy2': (8, 2, 'yuyv'), 'yuyv': (8, 2, 'yuyv'),
    'nv12': (8, 1, 'nv12'), 'nv21': (8, 1, 'nv21'),
}
for _pattern in ('rggb', 'bggr', 'gbrg', 'grbg'):
    ENCODINGS[f'bayer_{_pattern}8'] = (8, 1, _pattern)
    ENCODINGS[f'bayer_{_pattern}16'] = (16, 1, _pattern)
# OpenCV names a Bayer pattern by its second row, ROS by its first.
_BAYER = {'rggb': 'COLOR_BayerBG2RGB', 'bggr': 'COLOR_BayerRG2RGB', 'gbrg': 'COLOR_BayerGR2RGB',
          'grbg': 'COLOR_BayerGB2RGB'}
_YUV = {'uyvy': 'COLOR_YUV2RGB_UYVY', 'yuyv': 'COLOR_YUV2RGB_YUYV', 'nv12': 'COLOR_YUV2RGB_NV12',
        'nv21': 'COLOR_YUV2RGB_NV21'}
DEPTH = ('16UC1', '32FC1', '64FC1')


def check(message):
    """
    Check what an image message says about itself, without decoding it; gives (height, width).

    Cheap enough for a callback. Raises ValueError with one sentence that names the value at fault.
    """
    if hasattr(message, 'format'):
        height, width = compressed.check(message.format, message.data)
        _check_size(height, width)
        return height, width
    if message.encoding in DEPTH:
        raise ValueError(f'image encoding {message.encoding} is depth, not colour: map a colour topic to this view')
    if message.encoding not in ENCODINGS:
        raise ValueError(f'image encoding {message.encoding!r} is not supported; supported: {", ".join(ENCODINGS)}')
    bits, samples, layout = ENCODINGS[message.encoding]
    height, width, step = int(message.height), int(message.width), int(message.step)
    _check_size(height, width)
    if layout in _YUV and (width % 2 or layout.startswith('nv') and height % 2):
        raise ValueError(f'{message.encoding} image {width}x{height}: the size must be even, colour is shared by pairs')
    row = width * samples * bits // 8
    if step < row:
        raise ValueError(f'{message.encoding} image {width}x{height}: step is {step} bytes, a row needs {row}')
    rows = _rows(layout, height)
    if len(message.data) < step * (rows - 1) + row:  # the last row may come without its padding
        raise ValueError(
            f'{message.encoding} image {width}x{height}: {len(message.data)} bytes of data, step {step} needs '
            f'{step * rows}')
    return height, width


def to_rgb(message):
    """
    Decode an image message to uint8 [h, w, 3] RGB.

    16-bit samples are scaled by 255/65535 and rounded, alpha is dropped, grey is repeated. Raises ValueError with one
    sentence for anything else than a colour picture.
    """
    height, width = check(message)
    if hasattr(message, 'format'):
        image = compressed.decode(message.format, message.data)
        _check_size(*image.shape[:2])
        return image
    bits, samples, layout = ENCODINGS[message.encoding]
    real = bridge()
    # 8UCn has no colour order for cv_bridge, and its byte swap fails with numpy 2: those are decoded here.
    if real is not None and bits == 8 and '8UC' not in message.encoding and not layout.startswith('nv') \
            and len(message.data) >= message.step * height:
        return real(message)
    return _colour(_samples(message, height, width, bits, samples, layout), layout)


def _check_size(height, width):
    if height < 1 or width < 1 or height * width > MAX_PIXELS:
        raise ValueError(f'image of {width}x{height} pixels: must be at least 1x1 and at most {MAX_PIXELS} pixels')


def _rows(layout, height):
    return height * 3 // 2 if layout.startswith('nv') else height


def _samples(message, height, width, bits, samples, layout):
    """Pixels without row padding, native byte order: [h, w, C] or [h, w]."""
    rows, step, row = _rows(layout, height), int(message.step), width * samples * bits // 8
    data = np.frombuffer(memoryview(message.data).cast('B'), np.uint8, step * (rows - 1) + row)
    # A strided view, not a reshape: the last row need not carry its padding.
    pixels = np.lib.stride_tricks.as_strided(data, (rows, row), (step, 1), writeable=False)
    pixels = np.ascontiguousarray(pixels)
    if bits == 16:
        pixels = pixels.view('>u2' if message.is_bigendian else '<u2').astype(np.uint16)
    return pixels.reshape((rows, width, samples) if samples > 1 else (rows, width))


def _eight_bits(pixels):
    if pixels.dtype == np.uint8:
        return pixels
    return ((pixels.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)


def _colour(pixels, layout):
    if layout == 'rgb':
        return np.ascontiguousarray(_eight_bits(pixels[..., :3]))
    if layout == 'bgr':
        return np.ascontiguousarray(_eight_bits(pixels[..., 2::-1]))
    if layout == 'grey':
        return np.repeat(_eight_bits(pixels)[..., None], 3, axis=-1)
    import cv2
    if layout in _YUV:
        return cv2.cvtColor(pixels, getattr(cv2, _YUV[layout]))
    if min(pixels.shape) < 3:
        raise ValueError(f'bayer image {pixels.shape[1]}x{pixels.shape[0]}: too small to interpolate, needs 3x3')
    return cv2.cvtColor(_eight_bits(pixels), getattr(cv2, _BAYER[layout]))
