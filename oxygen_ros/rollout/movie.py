"""A GIF of episodes: the policy's camera beside a wide one, the instruction and what the model says over it."""
import cv2
import numpy as np
from PIL import Image

from oxygen_ros.sim.cameras import SceneCameras

SIZE, BAR = 224, 46
WIDE = 'angle'


class Movie:
    """Gathers frames; `frame` fits ClosedLoop's `watch`."""

    def __init__(self, every=1):
        self._cameras, self._frames, self._every = None, [], every

    def frame(self, scene, instruction, talk):
        if self._cameras is None:
            self._cameras = SceneCameras(scene, {'tight': (SIZE, SIZE), WIDE: (SIZE, SIZE)})
        snapshot = scene.snapshot()
        pictures = [self._cameras.picture(camera, snapshot).copy() for camera in ('tight', WIDE)]
        canvas = np.zeros((SIZE + BAR, 2 * SIZE, 3), np.uint8)
        canvas[BAR:] = np.concatenate(pictures, 1)
        lines = [f'> {instruction}', talk.newest.get('subtask', ''), talk.newest.get('answer', '')]
        for i, (line, colour) in enumerate(zip(lines, ((255, 255, 255), (140, 220, 140), (240, 200, 90)))):
            cv2.putText(canvas, line, (6, 13 + 14 * i), cv2.FONT_HERSHEY_SIMPLEX, 0.38, colour, 1, cv2.LINE_AA)
        self._frames.append(canvas)

    def end(self, success):
        """Hold the last picture of an episode, framed by its outcome."""
        last = self._frames[-1].copy()
        cv2.rectangle(last, (0, BAR), (2 * SIZE - 1, SIZE + BAR - 1), (60, 200, 60) if success else (220, 60, 60), 3)
        self._frames += [last] * 4

    def close(self):
        if self._cameras is not None:
            self._cameras.close()

    def save(self, path, frame_ms=200):
        """Write the GIF."""
        images = [Image.fromarray(frame).quantize(96) for frame in self._frames]
        images[0].save(path, save_all=True, append_images=images[1:], duration=frame_ms, loop=0, optimize=True)
