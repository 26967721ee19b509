"""
The real cv_bridge, where one is installed and works; None elsewhere.

The package of that name on PyPI is ROS 1 code that ignores `step`; the released ROS 2 one breaks with OpenCV 5. Neither
is told by its name, so whatever is found must first decode a padded picture as this package does.
"""
from functools import lru_cache
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np

PYPI_FILE = 'boost/cv_bridge_boost.py'  # the real one is a compiled module


@lru_cache(maxsize=1)
def bridge():
    """A function message -> uint8 [h, w, 3] RGB, or None; found once a process."""
    return find_bridge()[0]


def find_bridge(folders=None):
    """(function or None, one sentence why): look for a sound cv_bridge; `folders` overrides where, for tests."""
    if folders is None:
        spec = importlib.util.find_spec('cv_bridge')
        if spec is None:
            return None, 'cv_bridge is not installed; the package decodes images itself'
        folders = spec.submodule_search_locations or []
    if any((Path(folder) / PYPI_FILE).exists() for folder in folders):
        return None, 'the installed cv_bridge is the one from PyPI (ROS 1 code); the package decodes images itself'
    try:
        from cv_bridge import CvBridge
        convert = CvBridge().imgmsg_to_cv2

        def function(message):
            try:
                return np.ascontiguousarray(convert(message, 'rgb8'))
            except Exception as error:  # its own error type is not importable where it is absent
                raise ValueError(f'{message.encoding} image: cv_bridge says {error}') from error

        if not sound(function):
            return None, 'the installed cv_bridge decodes a padded image wrongly; the package decodes images itself'
    except Exception as error:
        return None, f'the installed cv_bridge does not work ({error}); the package decodes images itself'
    return function, 'cv_bridge is used'


def sound(function):
    """True where a function decodes a 5x3 bgr8 picture with padded rows correctly."""
    pixels = np.arange(45, dtype=np.uint8).reshape(3, 5, 3)
    padded = np.full((3, 16), 255, np.uint8)
    padded[:, :15] = pixels.reshape(3, 15)
    message = SimpleNamespace(
        encoding='bgr8', height=3, width=5, step=16, is_bigendian=0, data=padded.tobytes(), header=None)
    return np.array_equal(function(message), pixels[..., ::-1])
