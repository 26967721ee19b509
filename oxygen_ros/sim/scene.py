"""
The ALOHA scene of the gym-aloha package as MuJoCo physics with 14 named joints.

A task is a `Task`: it changes the scene's MjSpec before it is compiled and places its objects on a reset. A new one is
a subclass with its line in `TASKS`; nothing here knows what lies on the table.
"""
import importlib
import importlib.util
import os
from pathlib import Path

import numpy as np

# MuJoCo picks its OpenGL when it is first imported; without a screen only EGL works.
os.environ.setdefault('MUJOCO_GL', 'egl')

from oxygen_ros.sim.joints import ARM, JOINTS, SIDES, START  # noqa: E402

INSTALL = "install it with: pip install 'oxygen-ros[sim]'"


class SimulatorMissing(RuntimeError):
    """Something the simulator needs is not installed; the message says what to install."""


try:
    import mujoco
except ModuleNotFoundError as error:
    raise SimulatorMissing(f'the simulator needs MuJoCo ({error}); {INSTALL}') from None
except (ImportError, AttributeError) as error:  # PyOpenGL without libEGL fails in either way
    raise SimulatorMissing(f'MuJoCo finds no OpenGL for MUJOCO_GL={os.environ["MUJOCO_GL"]} ({error}); install EGL '
                           'with: sudo apt-get install libegl1 libgl1') from None

TASKS = {
    'transfer_cube': 'oxygen_ros.sim.scene:TransferCube',
    'blocks': 'oxygen_ros.sim.blocks:Blocks',
}


def assets():
    """Folder of the gym-aloha package's scene and meshes."""
    try:
        found = importlib.util.find_spec('gym_aloha')
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise SimulatorMissing(f'the simulator needs the ALOHA scene of gym-aloha; {INSTALL}')
    return Path(found.origin).parent / 'assets'


def base_spec(shadows=False):
    """
    The stock scene with one free cube, body `box`, as an MjSpec that a task may change.

    Without `shadows` nothing casts one, which halves the time of a picture. The shipped keyframe is dropped: its
    length fits only the stock objects.
    """
    spec = mujoco.MjSpec.from_file(str(assets() / 'bimanual_viperx_transfer_cube.xml'))
    for key in list(spec.keys):
        spec.delete(key)
    if not shadows:
        for light in spec.lights:
            light.castshadow = False
        spec.visual.quality.offsamples = 0
    return spec


# MuJoCo's warnings after which it has put the scene back to its first state.
DIVERGED = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)


class Task:
    """What lies on the table; the base class leaves it empty."""

    cameras = ('top',)  # published when nothing else is asked for
    camera_sizes = {}   # camera -> (width, height) where it differs from what is asked for

    def extend(self, spec):
        """Change the scene before it is compiled."""
        spec.delete(spec.body('box'))

    def place(self, model, data, random):
        """Put the objects down by drawing from the numpy generator `random`; arms are already at their start."""


class TransferCube(Task):
    """gym-aloha's red cube, drawn from the box its task draws from."""

    def extend(self, spec):
        pass

    def place(self, model, data, random):
        address = model.joint('red_box_joint').qposadr[0]
        data.qpos[address:address + 7] = (*random.uniform((0.0, 0.4), (0.2, 0.6)), 0.05, 1.0, 0.0, 0.0, 0.0)


def make_task(name):
    """The task of that name; ValueError lists the known ones."""
    if name not in TASKS:
        raise ValueError(f"task '{name}' is unknown; known are: {', '.join(sorted(TASKS))}")
    module, _, attribute = TASKS[name].partition(':')
    return getattr(importlib.import_module(module), attribute)()


class Scene:
    """
    Physics of the two arms and a task's objects; used from one thread.

    `joints` order everywhere is JOINTS: positions `float64 [14]`, rad and for the grippers the slide of a finger in m.
    """

    joints = JOINTS

    def __init__(self, task=None, shadows=False, seed=0):
        self.task = TransferCube() if task is None else task
        spec = base_spec(shadows)
        self.task.extend(spec)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.step_s = self.model.opt.timestep
        names = [f'vx300s_{side}/{"left_finger" if part == "gripper" else part}' for side in SIDES for part in ARM]
        mirrored = [f'vx300s_{side}/right_finger' for side in SIDES]
        actuator_of = {int(self.model.actuator_trnid[i, 0]): i for i in range(self.model.nu)}

        def rows(joint_names):
            joints = [self.model.joint(name) for name in joint_names]
            return (np.array([j.qposadr[0] for j in joints]), np.array([j.dofadr[0] for j in joints]),
                    np.array([actuator_of[j.id] for j in joints]))

        self._position, self._velocity, self._actuator = rows(names)  # [14] each
        self._mirror_position, _, self._mirror_actuator = rows(mirrored)  # [2] each
        self._gripper = np.array([JOINTS.index(f'{side}_gripper') for side in SIDES])
        self.lower, self.upper = self.model.actuator_ctrlrange[self._actuator].T.copy()  # [14] each
        self.observers = []  # called without arguments after each `advance`, in its thread
        self.reset(seed)

    def reset(self, seed):
        """Arms at their start, objects placed from `seed`, 40 ms of physics so that they lie; time is 0 again."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._position] = START
        self.data.qpos[self._mirror_position] = -START[self._gripper]
        self.command(START)
        self.task.place(self.model, self.data, np.random.default_rng(seed))
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_step(self.model, self.data, nstep=20)
        self.data.time = 0.0

    def place_arms(self, positions):
        """Stand the arms at `positions` [14] at once, commanded there, 10 ms of physics; time is 0 again."""
        self.data.qpos[self._position] = positions
        self.data.qpos[self._mirror_position] = -np.asarray(positions)[self._gripper]
        self.data.qvel[:] = 0.0
        self.command(positions)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_step(self.model, self.data, nstep=5)
        self.data.time = 0.0

    def command(self, positions):
        """Set-points [14], held until the next call; the actuators' limits clamp them."""
        self.data.ctrl[self._actuator] = positions
        self.data.ctrl[self._mirror_actuator] = -np.asarray(positions)[self._gripper]

    def advance(self, steps):
        """Run `steps` steps of `step_s`; RuntimeError if the physics diverged."""
        mujoco.mj_step(self.model, self.data, nstep=steps)
        if any(self.data.warning[kind].number for kind in DIVERGED):
            for kind in DIVERGED:
                self.data.warning[kind].number = 0
            raise RuntimeError('the physics diverged and MuJoCo started the scene again; reset the simulator')
        for observer in self.observers:
            observer()

    def positions(self):
        """Measured positions, float64 [14]."""
        return self.data.qpos[self._position]

    def velocities(self):
        """Measured velocities, rad/s and m/s, float64 [14]."""
        return self.data.qvel[self._velocity]

    def efforts(self):
        """Actuator torques and forces, N m and N, float64 [14]."""
        return self.data.qfrc_actuator[self._velocity]

    def snapshot(self):
        """All that a picture depends on: a copy of the generalised positions."""
        return self.data.qpos.copy()

    def describe(self):
        """One line for the log."""
        return (f'{type(self.task).__name__}: {self.model.nbody} bodies, {self.model.nq} coordinates, '
                f'{1 / self.step_s:.0f} physics steps a second')
