"""
A robot without physics or OpenGL: recorded pictures and joints that follow their command.

For machines without EGL and for measuring timing; what it shows does not depend on what it is commanded.
"""
import math
from pathlib import Path

import numpy as np

from oxygen_ros.convert import compressed
from oxygen_ros.sim.joints import JOINTS, LOWER, START, UPPER
from oxygen_ros.sim.pictures import Pictures

MAX_FILES = 2000
MAX_FILE_BYTES = 32 << 20
MAX_MEMORY_BYTES = 1 << 30
MAX_SIDE = 4096
SUFFIXES = ('.png', '.jpg', '.jpeg')


class FollowingArms:
    """14 joints that approach their command with a time constant of 50 ms; the same surface as `Scene`."""

    joints = JOINTS
    step_s = 0.002
    lower, upper = LOWER, UPPER
    lag_s = 0.05

    def __init__(self):
        self._velocity = np.zeros(len(JOINTS))
        self.reset(0)

    def reset(self, seed):
        """Back to the start; there is nothing to place, so `seed` changes nothing."""
        self._position, self._target = START.copy(), START.copy()
        self._velocity[:] = 0.0

    def command(self, positions):
        """Set-points [14], held until the next call."""
        self._target = np.clip(positions, LOWER, UPPER)

    def advance(self, steps):
        """Move on by `steps` steps of `step_s`."""
        if steps > 0:
            before = self._position
            self._position = self._target + (before - self._target) * math.exp(-steps * self.step_s / self.lag_s)
            self._velocity = (self._position - before) / (steps * self.step_s)

    def positions(self):
        """Positions [14]."""
        return self._position.copy()

    def velocities(self):
        """Mean velocities of the last advance [14]."""
        return self._velocity.copy()

    def efforts(self):
        """Not known: nothing is simulated. Empty, as sensor_msgs/JointState has it."""
        return np.zeros(0)

    def snapshot(self):
        """Recorded pictures depend on nothing."""
        return None

    def describe(self):
        """One line for the log."""
        return f'{len(JOINTS)} joints that follow their command, without physics'


def read_pictures(path):
    """
    The pictures of a file or folder, as {camera: [uint8 [height, width, 3] RGB, ..]}, of one size a camera.

    `top_0001.png` belongs to camera `top`; the pictures of a camera are played in the order of their names.
    ValueError names what cannot be used.
    """
    path = Path(path)
    files = [path] if path.is_file() else sorted(p for p in path.glob('*') if p.suffix.lower() in SUFFIXES)
    if not files:
        raise ValueError(f'no picture ({", ".join(SUFFIXES)}) at {path}')
    if len(files) > MAX_FILES:
        raise ValueError(f'{path} has {len(files)} pictures; {MAX_FILES} at most are taken')
    pictures, held_bytes = {}, 0
    for file in files:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f'{file} has {file.stat().st_size} bytes, more than {MAX_FILE_BYTES}')
        content = file.read_bytes()
        try:
            height, width = compressed.check('', content)
            held_bytes += 3 * height * width
            if not 0 < max(height, width) <= MAX_SIDE or held_bytes > MAX_MEMORY_BYTES:
                raise ValueError(f'{width}x{height} is more than {MAX_SIDE} a side, or makes the pictures need more '
                                 f'than {MAX_MEMORY_BYTES >> 20} MiB')
            decoded = compressed.decode('', content)
        except ValueError as error:
            raise ValueError(f'{file}: {error}') from None
        name, _, number = file.stem.rpartition('_')
        camera = name if name and number.isdigit() else file.stem
        others = pictures.setdefault(camera, [])
        if others and others[0].shape != decoded.shape:
            raise ValueError(f'{file} is {decoded.shape[1]}x{decoded.shape[0]}; the pictures of {camera} before it are '
                             f'{others[0].shape[1]}x{others[0].shape[0]}')
        others.append(decoded)
    return pictures


class RecordedCameras(Pictures):
    """Plays each camera's pictures in turn, over and over."""

    def __init__(self, pictures, cameras):
        for camera in cameras:
            if camera not in pictures:
                raise ValueError(f"there is no recorded picture of camera '{camera}'; there are of: "
                                 f"{', '.join(sorted(pictures))}")
        self._pictures = pictures
        self._next = dict.fromkeys(cameras, 0)
        super().__init__({camera: pictures[camera][0].shape[1::-1] for camera in cameras})

    def _draw(self, camera, snapshot, out):
        recorded = self._pictures[camera]
        out[:] = recorded[self._next[camera] % len(recorded)]
        self._next[camera] += 1
