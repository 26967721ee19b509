"""Where the camera of the block task stands, and where things appear in its square picture."""
from dataclasses import dataclass
import math

import numpy as np


@dataclass(frozen=True)
class View:
    """A pinhole camera at `position` that looks at `target`, upright; `fovy_deg` is its whole vertical angle."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    fovy_deg: float

    def axes(self):
        """Unit vectors to the picture's right, to its top and into it, [3, 3] as rows."""
        into = np.subtract(self.target, self.position)
        into = into / np.linalg.norm(into)
        right = np.cross(into, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, into), into])

    def quaternion(self):
        """MuJoCo's (w, x, y, z) for a camera that looks along its own -z."""
        right, top, into = self.axes()
        m = np.stack([right, top, -into], 1)
        w = math.sqrt(max(0.0, 1 + m[0, 0] + m[1, 1] + m[2, 2])) / 2
        if w < 1e-6:
            raise ValueError(f'camera at {self.position} towards {self.target}: half-turn orientations are not handled')
        return [w, (m[2, 1] - m[1, 2]) / (4 * w), (m[0, 2] - m[2, 0]) / (4 * w), (m[1, 0] - m[0, 1]) / (4 * w)]

    def project(self, point):
        """World points [..., 3] in m -> (row, column) as shares 0..1 of the square picture."""
        right, top, into = np.moveaxis(np.subtract(point, self.position) @ self.axes().T, -1, 0)
        half = into * math.tan(math.radians(self.fovy_deg) / 2)
        return 0.5 - top / half / 2, 0.5 + right / half / 2

    def on_plane(self, row, column, height):
        """The world (x, y) in m that appears at (row, column) if it lies at that height."""
        half = math.tan(math.radians(self.fovy_deg) / 2)
        ray = np.array([(2 * column - 1) * half, (1 - 2 * row) * half, 1.0]) @ self.axes()
        reach = (height - self.position[2]) / ray[2]
        return np.array(self.position[:2]) + reach * ray[:2]


# From the left arm's side: the right arm comes from behind the blocks and so hides little of the one it is about.
CAMERA = View(position=(-0.14, 0.5, 0.52), target=(0.13, 0.5, 0.0), fovy_deg=38.0)
