"""Three coloured blocks on the table and a camera close above them: the scene of the task that `nano` is trained on."""
import numpy as np

from oxygen_ros.sim.scene import mujoco, Task
from oxygen_ros.sim.view import CAMERA

COLOURS = {'red': (0.9, 0.1, 0.1, 1.0), 'green': (0.1, 0.75, 0.15, 1.0), 'blue': (0.1, 0.2, 0.9, 1.0)}
HALF_M = 0.02  # half an edge
MASS_KG = 0.05
# Given as a number because the scene's compiler takes no inertia from plain geoms, and refuses a body without one.
INERTIA_KG_M2 = 2e-4
AREA_M = ((0.02, 0.22), (0.36, 0.64))  # x and y of a block's centre, where the right arm grasps from above
APART_M = 0.075


class Blocks(Task):
    """
    Bodies `red`, `green`, `blue`, each with a free joint `<colour>_joint`, and the camera `tight`.

    `suits`, a function of colour -> (x, y), restricts the places that are drawn; `vary_light` draws the lamps too.
    """

    cameras = ('tight',)
    camera_sizes = {'tight': (224, 224)}

    def __init__(self, yaw_rad=0.35, vary_light=True):
        self.yaw_rad = yaw_rad  # a block lies turned by at most this much
        self.suits = None
        self.vary_light = vary_light
        self._lamps = None

    def extend(self, spec):
        spec.delete(spec.body('box'))
        for name, rgba in COLOURS.items():
            body = spec.worldbody.add_body(name=name, pos=[0.1, 0.5, 0.05], mass=MASS_KG, ipos=[0, 0, 0],
                                           inertia=[INERTIA_KG_M2] * 3, explicitinertial=True)
            body.add_freejoint(name=f'{name}_joint')
            body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=[HALF_M] * 3, rgba=rgba, mass=MASS_KG,
                          condim=4, friction=[1, 0.005, 0.0001], solref=[0.01, 1])
        spec.worldbody.add_camera(name='tight', pos=CAMERA.position, quat=CAMERA.quaternion(), fovy=CAMERA.fovy_deg)

    def place(self, model, data, random):
        while True:
            centres = np.stack([random.uniform(*span, len(COLOURS)) for span in AREA_M], axis=1)  # [3, 2]
            distances = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
            if distances[np.triu_indices(len(COLOURS), 1)].min() > APART_M and (
                    self.suits is None or self.suits(dict(zip(COLOURS, map(tuple, centres))))):
                break
        for name, centre in zip(COLOURS, centres):
            address = model.joint(f'{name}_joint').qposadr[0]
            half_yaw = random.uniform(-self.yaw_rad, self.yaw_rad) / 2
            data.qpos[address:address + 7] = (*centre, HALF_M + 0.001, np.cos(half_yaw), 0.0, 0.0, np.sin(half_yaw))
        if self.vary_light:
            self._light(model, random)

    def _light(self, model, random):
        if self._lamps is None:
            self._lamps = model.light_diffuse.copy(), model.light_pos.copy(), model.vis.headlight.diffuse.copy()
        diffuse, position, head = self._lamps
        tint = random.uniform(0.9, 1.1, 3)
        model.light_diffuse[:] = diffuse * random.uniform(0.6, 1.3, (len(diffuse), 1)) * tint
        model.light_pos[:] = position + random.normal(0, 0.1, position.shape)
        model.vis.headlight.diffuse[:] = head * random.uniform(0.7, 1.3) * tint
