from types import SimpleNamespace

import cv2
from hypothesis import given, settings, strategies as st
import numpy as np
from oxygen_ros.convert import images
from oxygen_ros.convert.cv_bridge import bridge, find_bridge, sound
from oxygen_ros.convert.images import check, ENCODINGS, to_rgb
import pytest

RGB = np.random.default_rng(0).integers(0, 256, (6, 10, 3)).astype(np.uint8)


def image(pixels, encoding, pad=0, big=False, **over):
    """An Image message; pixels [h, w] or [h, w, C] of uint8 or uint16."""
    if pixels.dtype == np.uint16:
        pixels = pixels.astype('>u2' if big else '<u2')
    rows = pixels.reshape(pixels.shape[0], -1).view(np.uint8)
    padded = np.full((rows.shape[0], rows.shape[1] + pad), 0xEE, np.uint8)
    padded[:, :rows.shape[1]] = rows
    fields = dict(encoding=encoding, height=pixels.shape[0], width=pixels.shape[1], step=padded.shape[1],
                  is_bigendian=int(big), data=padded.tobytes(), header=None)
    return SimpleNamespace(**{**fields, **over})


def compressed(form, data):
    return SimpleNamespace(format=form, data=data)


def alpha(pixels):
    return np.concatenate([pixels, np.full(pixels.shape[:2] + (1,), 77, pixels.dtype)], axis=2)


def deep(pixels):
    return pixels.astype(np.uint16) * 257


@pytest.mark.parametrize('pad', [0, 1, 7])
@pytest.mark.parametrize('encoding, pixels', [
    ('rgb8', RGB), ('bgr8', RGB[..., ::-1]), ('rgba8', alpha(RGB)), ('bgra8', alpha(RGB[..., ::-1])),
    ('8UC3', RGB[..., ::-1]), ('8UC4', alpha(RGB[..., ::-1])),
])
def test_row_padding_is_honoured_in_every_colour_order(encoding, pixels, pad):
    assert np.array_equal(to_rgb(image(np.ascontiguousarray(pixels), encoding, pad)), RGB)


@pytest.mark.parametrize('big', [False, True])
@pytest.mark.parametrize('encoding, pixels', [
    ('rgb16', deep(RGB)), ('bgr16', deep(RGB[..., ::-1])), ('rgba16', deep(alpha(RGB))),
    ('bgra16', deep(alpha(RGB[..., ::-1]))),
])
def test_sixteen_bits_in_either_byte_order(encoding, pixels, big):
    assert np.array_equal(to_rgb(image(np.ascontiguousarray(pixels), encoding, 3, big)), RGB)


@pytest.mark.parametrize('encoding, pixels', [
    ('mono8', RGB[..., 0]), ('8UC1', RGB[..., 0]), ('mono16', deep(RGB[..., 0]))])
def test_grey_is_repeated(encoding, pixels):
    assert np.array_equal(to_rgb(image(np.ascontiguousarray(pixels), encoding, 5)), np.repeat(RGB[..., :1], 3, 2))


def test_sixteen_bits_are_rounded_not_cut():
    values = np.array([[0, 128, 129, 257, 65535, 65406]], np.uint16)
    assert to_rgb(image(values, 'mono16'))[0, :, 0].tolist() == [0, 0, 1, 1, 255, 254]


@pytest.mark.parametrize('pattern', ['rggb', 'bggr', 'gbrg', 'grbg'])
@pytest.mark.parametrize('bits', [8, 16])
def test_bayer_patterns_give_back_a_flat_colour(pattern, bits):
    colour = {'r': 200, 'g': 100, 'b': 50}
    flat = np.zeros((8, 8), np.uint8)
    for i, letter in enumerate(pattern):
        flat[i // 2::2, i % 2::2] = colour[letter]
    pixels = flat if bits == 8 else deep(flat)
    rgb = to_rgb(image(pixels, f'bayer_{pattern}{bits}', 4))
    assert np.array_equal(rgb[4, 4], [200, 100, 50])


@pytest.mark.parametrize('encoding, luma, u, v', [
    ('yuyv', 0, 1, 3), ('yuv422_yuy2', 0, 1, 3), ('uyvy', 1, 0, 2), ('yuv422', 1, 0, 2)])
def test_packed_yuv_gives_the_colour_of_bt601(encoding, luma, u, v):
    packed = np.zeros((4, 4, 2), np.uint8)
    flat = packed.reshape(4, -1)
    flat[:, luma::2] = 81  # red of BT.601
    flat[:, u::4], flat[:, v::4] = 90, 240
    rgb = to_rgb(image(packed, encoding, 6))
    assert np.abs(rgb.astype(int) - [254, 0, 0]).max() <= 2


@pytest.mark.parametrize('encoding, first', [('nv12', 90), ('nv21', 240)])
def test_planar_yuv_with_interleaved_colour(encoding, first):
    planes = np.full((6, 4), 81, np.uint8)
    planes[4:, 0::2], planes[4:, 1::2] = first, 330 - first
    rgb = to_rgb(image(planes, encoding, 2, height=4))
    assert rgb.shape == (4, 4, 3) and np.abs(rgb.astype(int) - [254, 0, 0]).max() <= 2


def test_same_picture_whatever_the_spelling_of_the_format():
    ramp = np.ascontiguousarray(np.broadcast_to(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], (48, 64, 3)))
    ramp = ramp * np.array([1, 0, 0], np.uint8) + np.array([0, 40, 10], np.uint8)  # red, and visibly not blue
    jpeg = cv2.imencode('.jpg', ramp[..., ::-1])[1].tobytes()
    decoded = [to_rgb(compressed(form, jpeg)) for form in (
        'jpeg', 'jpg', '', 'JPEG', 'rgb8; jpeg compressed bgr8', 'bgr8; jpeg compressed bgr8', 'bgr8; jpeg compressed ',
        'rgb8;jpeg compressed bgr8')]
    assert all(np.array_equal(decoded[0], other) for other in decoded[1:])
    assert np.abs(decoded[0].astype(int) - ramp).mean() < 8
    # image_transport's word for an encoder that was fed RGB as BGR
    swapped = cv2.imencode('.jpg', ramp)[1].tobytes()
    assert np.abs(to_rgb(compressed('rgb8; jpeg compressed rgb8', swapped)).astype(int) - ramp).mean() < 8


@pytest.mark.parametrize('pixels', [RGB[..., ::-1], alpha(RGB[..., ::-1]), deep(RGB[..., ::-1])])
def test_png_of_any_depth(pixels):
    png = cv2.imencode('.png', np.ascontiguousarray(pixels))[1].tobytes()
    assert np.array_equal(to_rgb(compressed('png', png)), RGB)


def test_grey_jpeg():
    jpeg = cv2.imencode('.jpg', np.full((16, 16), 128, np.uint8))[1].tobytes()
    assert to_rgb(compressed('mono8; jpeg compressed ', jpeg)).shape == (16, 16, 3)


@pytest.mark.parametrize('message, words', [
    (image(np.zeros((4, 4), np.uint16), '16UC1'), 'depth'),
    (image(np.zeros((4, 4, 4), np.uint8), '32FC1'), 'depth'),
    (image(RGB, 'hsv8'), "'hsv8' is not supported; supported: rgb8"),
    (image(RGB, 'rgb8', step=29), 'step is 29 bytes, a row needs 30'),
    (image(RGB, 'rgb8', data=bytes(10)), '10 bytes of data'),
    (image(RGB, 'rgb8', height=0), '10x0'),
    (image(RGB, 'rgb8', width=1 << 31, height=1 << 31), 'at most'),
    (image(RGB[:, :5], 'yuyv', width=5), 'even'),
    (compressed('16UC1; compressedDepth png', b'\x89PNG\r\n\x1a\n'), 'depth'),
    (compressed('32FC1; compressedDepth', b''), 'depth'),
    (compressed('theora', b'\xff\xd8\xff'), "codec 'theora'"),
    (compressed('jpeg', b''), 'neither JPEG nor PNG'),
    (compressed('jpeg', b'GIF89a'), 'neither JPEG nor PNG'),
    (compressed('jpeg', b'\xff\xd8\xff\xe0'), 'without a complete header'),
])
def test_what_cannot_be_a_colour_picture_is_refused_with_the_reason(message, words):
    with pytest.raises(ValueError, match='.') as refusal:
        to_rgb(message)
    assert words in str(refusal.value)
    with pytest.raises(ValueError):
        check(message)


def test_a_claimed_size_is_refused_before_memory_is_taken(monkeypatch):
    png = bytearray(cv2.imencode('.png', RGB)[1].tobytes())
    png[16:24] = (100_000).to_bytes(4, 'big') * 2
    monkeypatch.setattr(cv2, 'imdecode', lambda *a: pytest.fail('decoded'))
    with pytest.raises(ValueError, match='100000x100000'):
        to_rgb(compressed('png', bytes(png)))


def test_a_truncated_jpeg_either_decodes_or_is_refused():
    jpeg = cv2.imencode('.jpg', RGB)[1].tobytes()
    for length in range(0, len(jpeg), 7):
        try:
            assert to_rgb(compressed('jpeg', jpeg[:length])).shape == RGB.shape
        except ValueError:
            pass


@settings(max_examples=300, deadline=None)
@given(encoding=st.sampled_from([*ENCODINGS, '16UC1', '']) | st.text(max_size=8), height=st.integers(0, 9),
       width=st.integers(0, 9), step=st.integers(0, 80), big=st.integers(0, 255), data=st.binary(max_size=800))
def test_any_header_is_decoded_or_refused_with_a_sentence(encoding, height, width, step, big, data):
    message = SimpleNamespace(encoding=encoding, height=height, width=width, step=step, is_bigendian=big, data=data)
    try:
        rgb = to_rgb(message)
    except ValueError as refusal:
        assert str(refusal)
    else:
        assert rgb.shape == (height, width, 3) and rgb.dtype == np.uint8


@settings(max_examples=150, deadline=None)
@given(form=st.sampled_from(['jpeg', 'png', '', 'rgb8; jpeg compressed bgr8', ';', 'x;']) | st.text(max_size=12),
       head=st.sampled_from([b'', b'\xff\xd8\xff', b'\x89PNG\r\n\x1a\n']), tail=st.binary(max_size=300))
def test_any_compressed_bytes_are_decoded_or_refused_with_a_sentence(form, head, tail):
    try:
        to_rgb(compressed(form, head + tail))
    except ValueError as refusal:
        assert str(refusal)


def test_the_message_types_of_ros_work_as_they_come():
    messages = pytest.importorskip('sensor_msgs.msg')
    plain = messages.Image(height=6, width=10, step=31, encoding='rgb8')
    plain.data = image(RGB, 'rgb8', 1).data
    assert np.array_equal(to_rgb(plain), RGB)
    squeezed = messages.CompressedImage(format='rgb8; png compressed bgr8')
    squeezed.data = cv2.imencode('.png', RGB[..., ::-1])[1].tobytes()
    assert np.array_equal(to_rgb(squeezed), RGB)
    plain.data = np.frombuffer(bytes(plain.data), np.uint8)  # as a bag reader gives it
    assert np.array_equal(to_rgb(SimpleNamespace(**{name: getattr(plain, name) for name in (
        'height', 'width', 'step', 'encoding', 'is_bigendian', 'data')})), RGB)


def test_the_cv_bridge_of_pypi_is_told_by_its_file(tmp_path):
    (tmp_path / 'boost').mkdir()
    (tmp_path / 'boost' / 'cv_bridge_boost.py').touch()
    function, reason = find_bridge([str(tmp_path)])
    assert function is None and 'PyPI' in reason


def test_a_cv_bridge_that_ignores_padding_is_found_out():
    def careless(message):
        return np.frombuffer(message.data, np.uint8)[:45].reshape(3, 5, 3)[..., ::-1]
    assert not sound(careless) and sound(lambda message: to_rgb(message))


@pytest.mark.skipif(bridge() is None, reason=f'no sound cv_bridge here: {find_bridge()[1]}')
@pytest.mark.parametrize('encoding', [name for name in ENCODINGS if '8UC' not in name and not name.startswith('nv')])
def test_cv_bridge_and_own_decoding_give_the_same_pixels(encoding, monkeypatch):
    bits, samples, _ = ENCODINGS[encoding]
    pixels = np.random.default_rng(1).integers(0, 2**bits, (8, 8, samples)).astype(f'u{bits // 8}')
    message = image(pixels, encoding, 4)
    theirs = bridge()(message)
    monkeypatch.setattr(images, 'bridge', lambda: None)
    assert np.array_equal(theirs, to_rgb(message))
