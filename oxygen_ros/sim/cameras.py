"""Pictures of a scene, rendered off-screen."""
import os
import sys

from oxygen_ros.sim.culling import can_cull, cull
from oxygen_ros.sim.pictures import Pictures
from oxygen_ros.sim.scene import mujoco, SimulatorMissing


class SceneCameras(Pictures):
    """Renders a scene's cameras from its snapshots; the physics may run on meanwhile."""

    def __init__(self, scene, sizes):
        known = [scene.model.camera(i).name for i in range(scene.model.ncam)]
        for camera in sizes:
            if camera not in known:
                raise ValueError(f"the scene has no camera '{camera}'; it has: {', '.join(known)}")
        self._model = scene.model
        frame = self._model.vis.global_
        for width, height in sizes.values():
            frame.offwidth, frame.offheight = max(width, frame.offwidth), max(height, frame.offheight)
        super().__init__(sizes)

    def _open(self):
        problem, hook = '', sys.unraisablehook
        # A GLContext that was made half complains once it is dropped; the sentence below says it all.
        sys.unraisablehook = lambda _: None
        try:
            self._data = mujoco.MjData(self._model)
            self._renderers = {(width, height): mujoco.Renderer(self._model, height, width)
                               for width, height in set(self.sizes.values())}
        except (ImportError, AttributeError, RuntimeError, mujoco.FatalError) as error:
            problem = str(error)
        finally:
            sys.unraisablehook = hook
        if problem:  # out here, where the exception holds the half-made context no longer
            raise SimulatorMissing(f'MuJoCo cannot open OpenGL with MUJOCO_GL={os.environ.get("MUJOCO_GL")} '
                                   f'({problem}); install EGL with: sudo apt-get install libegl1 libgl1')

    def _draw(self, camera, snapshot, out):
        self._data.qpos[:] = snapshot
        # What mj_forward does for the poses alone.
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        renderer = self._renderers[self.sizes[camera]]
        renderer.update_scene(self._data, camera)
        if can_cull(self._model):
            cull(renderer.scene, self._model, self._data, renderer.width / renderer.height)
        renderer.render(out=out)

    def _close(self):
        for renderer in self._renderers.values():
            renderer.close()
        # Dropped here so that no destructor runs in another thread, or after EGL is gone.
        del self._renderers, self._data
