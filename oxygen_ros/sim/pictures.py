"""A source of camera pictures that lives in one thread of its own."""
import array
from concurrent.futures import ThreadPoolExecutor
import threading

import numpy as np


class Pictures:
    """
    Gives `uint8 [height, width, 3]` RGB pictures of named cameras.

    A subclass opens, uses and frees what it draws with in the one thread of this object, as OpenGL asks; the methods
    here may be called from any thread. A camera's picture lies in `memory[camera]`, an `array.array('B')` as
    sensor_msgs/Image holds one, and stays valid until the next one of that camera.
    """

    def __init__(self, sizes):
        """`sizes` maps each camera to (width, height) in pixels."""
        self.sizes = dict(sizes)
        self.memory = {camera: array.array('B', bytes(w * h * 3)) for camera, (w, h) in self.sizes.items()}
        self._views = {camera: np.frombuffer(self.memory[camera], np.uint8).reshape(h, w, 3)
                       for camera, (w, h) in self.sizes.items()}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='pictures', initializer=self._remember)
        try:
            self.submit(self._open).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def _remember(self):
        self._owner = threading.get_ident()

    def submit(self, function, *arguments):
        """Run a function in the pictures' thread, where `picture` does not wait; gives its Future."""
        return self._thread.submit(function, *arguments)

    def picture(self, camera, snapshot):
        """Picture of `camera` at a robot's `snapshot()`."""
        out = self._views[camera]
        if threading.get_ident() == self._owner:
            self._draw(camera, snapshot, out)
        else:
            self.submit(self._draw, camera, snapshot, out).result()
        return out

    def close(self):
        """Free everything; a second call does nothing."""
        if self._thread is not None:
            self.submit(self._close).result()
            self._thread.shutdown()
            self._thread = None

    def _open(self):
        """Prepare to draw; in the pictures' thread, as are the next two."""

    def _draw(self, camera, snapshot, out):
        """Write the picture into `out`, uint8 [height, width, 3]."""
        raise NotImplementedError

    def _close(self):
        """Free what `_open` made."""
