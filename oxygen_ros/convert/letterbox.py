"""
Resize with padding, the two ways in use for pi0.5.

openpi resizes uint8 pictures with PIL's bilinear filter, which averages when it shrinks
(`image_tools.resize_with_pad`); LeRobot resizes floats without averaging (`resize_with_pad_torch`). Stretching instead
of padding, or the wrong one of the two, degrades the policy without an error, so the checkpoint's profile says which.
"""
import numpy as np
import torch


def fitted(height, width, size):
    """(height, width) of a picture scaled into a square of `size`, rounded down as both code bases do."""
    ratio = max(width / size, height / size)
    return max(1, int(height / ratio)), max(1, int(width / ratio))


def letterbox(image, size, antialias=True):
    """
    Fit uint8 RGB [h, w, 3] into a square, centred on black: float32 [3, size, size] in [-1, 1].

    The odd pixel of padding goes right and below. `antialias` is openpi's filter (equal to PIL within 1/255); without
    it LeRobot's. A picture that already has the size is only scaled.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(f'letterbox takes uint8 [h, w, 3], got {image.dtype} {list(image.shape)}')
    height, width = image.shape[:2]
    # A decoded message may be a read-only view, which torch does not take.
    image = np.require(image, requirements=['C', 'W'])
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None]  # [1, 3, h, w]
    if (height, width) != (size, size):
        target = fitted(height, width, size)
        if antialias:
            # uint8 in, uint8 out: the rounding to whole grey values is part of what the policy was trained on.
            pixels = torch.nn.functional.interpolate(
                pixels, size=target, mode='bilinear', align_corners=False, antialias=True)
        else:
            pixels = torch.nn.functional.interpolate(
                pixels.float() / 255, size=target, mode='bilinear', align_corners=False).clamp(0, 1) * 255
        canvas = torch.zeros((3, size, size), dtype=torch.float32)
        top, left = (size - target[0]) // 2, (size - target[1]) // 2
        canvas[:, top:top + target[0], left:left + target[1]] = pixels[0]
    else:
        canvas = pixels[0].float()
    return (canvas / 255 * 2 - 1).numpy()
