"""Pictures of a scene, rendered off-screen in a thread of their own."""
from concurrent.futures import ThreadPoolExecutor
import os

import numpy as np

from oxygen_ros.sim.scene import mujoco, SimulatorMissing


class SceneCameras:
    """
    Renders `uint8 [height, width, 3]` RGB pictures of a scene from its snapshots.

    The OpenGL context is made, used and freed in one thread, as EGL asks. `picture` may be called from any thread.
    The arrays it gives are reused: a camera's picture stays valid until the next one of that camera is asked for.
    """

    def __init__(self, scene, cameras, width=640, height=480):
        known = [scene.model.camera(i).name for i in range(scene.model.ncam)]
        for camera in cameras:
            if camera not in known:
                raise ValueError(f"the scene has no camera '{camera}'; it has: {', '.join(known)}")
        self.width, self.height = width, height
        self._model = scene.model
        self._model.vis.global_.offwidth = max(width, self._model.vis.global_.offwidth)
        self._model.vis.global_.offheight = max(height, self._model.vis.global_.offheight)
        self._buffers = {camera: np.empty((height, width, 3), np.uint8) for camera in cameras}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='render')
        try:
            self._thread.submit(self._open).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def picture(self, camera, snapshot):
        """Picture of `camera` at a snapshot of `Scene.snapshot`, uint8 [height, width, 3]."""
        return self._thread.submit(self._render, camera, snapshot).result()

    def close(self):
        """Free the OpenGL context in its thread; a second call does nothing."""
        if self._thread is not None:
            self._thread.submit(self._close).result()
            self._thread.shutdown()
            self._thread = None

    def _open(self):
        try:
            self._data = mujoco.MjData(self._model)
            self._renderer = mujoco.Renderer(self._model, self.height, self.width)
        except (ImportError, AttributeError, RuntimeError, mujoco.FatalError) as error:
            raise SimulatorMissing(
                f'MuJoCo cannot open OpenGL with MUJOCO_GL={os.environ.get("MUJOCO_GL")} ({error}); install EGL with: '
                'sudo apt-get install libegl1 libgl1') from None

    def _render(self, camera, snapshot):
        self._data.qpos[:] = snapshot
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, camera)
        return self._renderer.render(out=self._buffers[camera])

    def _close(self):
        self._renderer.close()
        # Kept until here so that no destructor runs in another thread, or after EGL is gone.
        del self._renderer, self._data
