import numpy as np
from oxygen_ros.convert.letterbox import fitted, letterbox
from PIL import Image
import pytest
import torch


def picture(height, width, seed=0):
    """A ramp with hard edges and noise: what filters treat differently."""
    y, x = np.mgrid[0:height, 0:width]
    ramp = np.stack([x * 255 // width, y * 255 // height, (x // 7 + y // 5) % 2 * 255], axis=2)
    return np.clip(ramp + np.random.default_rng(seed).integers(-20, 20, ramp.shape), 0, 255).astype(np.uint8)


def openpi(image, size):
    """resize_with_pad of openpi's image_tools, written down again: PIL bilinear, centred, black."""
    height, width = image.shape[:2]
    ratio = max(width / size, height / size)
    small = Image.fromarray(image).resize((int(width / ratio), int(height / ratio)), resample=Image.BILINEAR)
    canvas = Image.new('RGB', (size, size), 0)
    canvas.paste(small, (max(0, int((size - small.width) / 2)), max(0, int((size - small.height) / 2))))
    return np.asarray(canvas).astype(np.float32).transpose(2, 0, 1) / 255 * 2 - 1


def lerobot(image, size):
    """resize_with_pad_torch of LeRobot, written down again: float bilinear without averaging."""
    height, width = image.shape[:2]
    ratio = max(width / size, height / size)
    target = int(height / ratio), int(width / ratio)
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255
    small = torch.nn.functional.interpolate(pixels, size=target, mode='bilinear', align_corners=False).clamp(0, 1)
    top, rest = divmod(size - target[0], 2)
    left, side = divmod(size - target[1], 2)
    padded = torch.nn.functional.pad(small, (left, left + side, top, top + rest), value=0.0)
    return (padded[0] * 2 - 1).numpy()


SIZES = [(480, 640), (640, 480), (480, 848), (100, 100), (225, 223), (720, 1280), (30, 40), (224, 300)]


@pytest.mark.parametrize('size', [224, 56])
@pytest.mark.parametrize('shape', SIZES)
def test_the_averaging_way_equals_pil_within_one_grey_value(shape, size):
    image = picture(*shape)
    assert np.abs(letterbox(image, size) - openpi(image, size)).max() <= 2 / 255 + 1e-6  # 1/255 of [0, 1]


@pytest.mark.parametrize('size', [224, 56])
@pytest.mark.parametrize('shape', SIZES)
def test_the_plain_way_equals_lerobot(shape, size):
    image = picture(*shape)
    assert np.abs(letterbox(image, size, antialias=False) - lerobot(image, size)).max() < 1e-6


def test_the_two_ways_differ_visibly():
    image = picture(480, 640)
    assert np.abs(letterbox(image, 224) - letterbox(image, 224, antialias=False)).max() > 0.2


def test_the_padding_is_black_and_centred_with_the_odd_row_below():
    out = letterbox(np.full((480, 640, 3), 255, np.uint8), 224)
    rows = out[0, :, 0]
    assert (rows[:28] == -1).all() and (rows[28:196] == 1).all() and (rows[196:] == -1).all()
    out = letterbox(np.full((223, 448, 3), 255, np.uint8), 224)  # 111 rows: 56 above, 57 below
    rows = out[0, :, 0]
    assert (rows[:56] == -1).all() and (rows[56:167] == 1).all() and (rows[167:] == -1).all()


def test_a_picture_of_the_right_size_is_only_scaled():
    image = picture(224, 224)
    for antialias in (True, False):
        assert np.allclose(letterbox(image, 224, antialias), image.transpose(2, 0, 1) / 255 * 2 - 1, atol=1e-6)


@pytest.mark.parametrize('shape', [(1, 1), (1, 2000), (2000, 1), (3, 7)])
def test_extreme_shapes_keep_at_least_a_pixel(shape):
    out = letterbox(np.full((*shape, 3), 255, np.uint8), 56)
    assert out.shape == (3, 56, 56) and out.max() == 1 and min(fitted(*shape, 56)) >= 1


def test_a_reversed_view_of_an_image_is_accepted():
    image = picture(48, 64)
    assert np.array_equal(letterbox(image[..., ::-1], 56), letterbox(np.ascontiguousarray(image[..., ::-1]), 56))


@pytest.mark.parametrize('bad', [np.zeros((4, 4, 3), np.float32), np.zeros((4, 4), np.uint8), np.zeros((3, 4, 4))])
def test_anything_but_rgb_bytes_is_refused(bad):
    with pytest.raises(ValueError, match='uint8'):
        letterbox(bad, 56)
