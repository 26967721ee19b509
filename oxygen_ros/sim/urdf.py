"""
A URDF of the simulated robot, made from its MuJoCo model.

Joints carry the names and units of `joint_states`; the right finger of a gripper mimics the left one. Meshes are read
from the installed gym-aloha package. Every camera that keeps its place on a link gets a frame `<camera>_optical_frame`,
the frame id of its pictures. `python -m oxygen_ros sim --urdf` prints it.
"""
from xml.etree import ElementTree

import numpy as np

from oxygen_ros.sim.joints import ARM, JOINTS, SIDES
from oxygen_ros.sim.scene import assets, mujoco

WORLD = 'world'
# The model limits no speed and URDF asks for one: what the vx300s's own URDF states, in rad/s and m/s.
MAX_SPEED = {'revolute': np.pi, 'prismatic': 1.0}
OPTICAL = np.diag([1.0, -1.0, -1.0])  # MuJoCo's cameras look along -z with y up


def _rotation(quat):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quat, float))
    return matrix.reshape(3, 3)


def pose(position, rotation):
    """Homogeneous [4, 4] of a position [3] and a rotation, a quaternion (w, x, y, z) or a matrix [3, 3]."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation if np.shape(rotation) == (3, 3) else _rotation(rotation)
    matrix[:3, 3] = position
    return matrix


def _numbers(values):
    return ' '.join(f'{value + 0.0:.9g}' for value in values)


def _origin(parent, matrix):
    """URDF's fixed-axis roll, pitch, yaw of a homogeneous matrix."""
    r = matrix[:3, :3]
    pitch = np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0]))
    if np.hypot(r[0, 0], r[1, 0]) < 1e-9:  # gimbal lock: roll takes it all
        roll, yaw = np.arctan2(-r[1, 2], r[1, 1]), 0.0
    else:
        roll, yaw = np.arctan2(r[2, 1], r[2, 2]), np.arctan2(r[1, 0], r[0, 0])
    ElementTree.SubElement(parent, 'origin', xyz=_numbers(matrix[:3, 3]), rpy=_numbers((roll, pitch, yaw)))


def link_name(body):
    """Link of a MuJoCo body: `vx300s_left/wrist_link` is `left_wrist_link`, `vx300s_left` is `left_base_link`."""
    arm, _, part = body.removeprefix('vx300s_').partition('/')
    return f'{arm}_{part or "base_link"}' if body.startswith('vx300s_') else body


def joint_name(joint):
    """Joint of a MuJoCo joint, and for a right finger the joint that it mimics or None."""
    side, _, part = joint.removeprefix('vx300s_').partition('/')
    if part == 'right_finger':
        return f'{side}_gripper_right_finger', f'{side}_gripper'
    return f'{side}_{"gripper" if part == "left_finger" else part}', None


class _Writer:
    def __init__(self, model):
        self.model = model
        self.data = mujoco.MjData(model)
        self.robot = ElementTree.Element('robot', name='aloha')
        ElementTree.SubElement(self.robot, 'link', name=WORLD)
        self.files = self._mesh_files()

    def _mesh_files(self):
        """Mesh file of each mesh that is one, by the model's table of paths."""
        model = self.model
        files = {}
        for mesh in range(model.nmesh):
            start = model.mesh_pathadr[mesh]
            if start >= 0:
                name = model.paths[start:model.paths.index(b'\0', start)].decode()
                files[mesh] = assets() / name.rpartition('/')[2]
        return files

    def bodies(self):
        """Bodies of the arms and what the scene holds still; loose objects are no part of the robot."""
        model = self.model
        for body in range(1, model.nbody):
            root = model.body_rootid[body]
            if model.body_jntnum[root] == 0 or model.body(root).name.startswith('vx300s_'):
                yield body

    def link(self, body):
        model = self.model
        link = ElementTree.SubElement(self.robot, 'link', name=link_name(model.body(body).name))
        if model.body_mass[body] > 0 and model.body_jntnum[body]:
            inertial = ElementTree.SubElement(link, 'inertial')
            _origin(inertial, pose(model.body_ipos[body], model.body_iquat[body]))
            ElementTree.SubElement(inertial, 'mass', value=_numbers([model.body_mass[body]]))
            ixx, iyy, izz = model.body_inertia[body]
            ElementTree.SubElement(inertial, 'inertia', ixx=_numbers([ixx]), iyy=_numbers([iyy]), izz=_numbers([izz]),
                                   ixy='0', ixz='0', iyz='0')
        for geom in range(model.ngeom):
            mesh = model.geom_dataid[geom]
            if model.geom_bodyid[geom] != body or model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
                continue
            # The compiler moves a mesh into its principal axes; the file is as it was.
            placed = pose(model.geom_pos[geom], model.geom_quat[geom])
            placed = placed @ np.linalg.inv(pose(model.mesh_pos[mesh], model.mesh_quat[mesh]))
            solid = model.geom_contype[geom] or model.geom_conaffinity[geom]
            for kind in ('visual', 'collision') if solid else ('visual',):
                element = ElementTree.SubElement(link, kind)
                _origin(element, placed)
                geometry = ElementTree.SubElement(element, 'geometry')
                ElementTree.SubElement(geometry, 'mesh', filename=self.files[mesh].as_uri(),
                                       scale=_numbers(model.mesh_scale[mesh]))
                if kind == 'visual':
                    material = ElementTree.SubElement(element, 'material', name=f'geom_{geom}')
                    ElementTree.SubElement(material, 'color', rgba=_numbers(model.geom_rgba[geom]))

    def joint(self, body):
        model = self.model
        parent, child = model.body_parentid[body], link_name(model.body(body).name)
        placed = pose(model.body_pos[body], model.body_quat[body])
        if not model.body_jntnum[body]:
            self.fixed(child, WORLD if parent == 0 else link_name(model.body(parent).name), placed)
            return
        index = model.body_jntadr[body]
        name, mimics = joint_name(model.joint(index).name)
        kind = 'prismatic' if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_SLIDE else 'revolute'
        if model.body_jntnum[body] > 1 or model.jnt_pos[index].any():
            raise ValueError(f'body {model.body(body).name} has more joints than one, or one beside its origin')
        joint = ElementTree.SubElement(self.robot, 'joint', name=name, type=kind)
        ElementTree.SubElement(joint, 'parent', link=link_name(model.body(parent).name))
        ElementTree.SubElement(joint, 'child', link=child)
        _origin(joint, placed)
        ElementTree.SubElement(joint, 'axis', xyz=_numbers(model.jnt_axis[index]))
        lower, upper = model.jnt_range[index]
        ElementTree.SubElement(joint, 'limit', lower=_numbers([lower]), upper=_numbers([upper]),
                               effort=_numbers([self._effort(index)]), velocity=_numbers([MAX_SPEED[kind]]))
        if mimics:
            ElementTree.SubElement(joint, 'mimic', joint=mimics, multiplier='-1', offset='0')

    def _effort(self, joint):
        """The actuator's force limit, or the most that its position servo can ask for within its range."""
        model = self.model
        actuator = list(model.actuator_trnid[:, 0]).index(joint)
        if model.actuator_forcelimited[actuator]:
            return model.actuator_forcerange[actuator, 1]
        return model.actuator_gainprm[actuator, 0] * np.ptp(model.actuator_ctrlrange[actuator])

    def fixed(self, child, parent, placed):
        joint = ElementTree.SubElement(self.robot, 'joint', name=f'{child}_fixed', type='fixed')
        ElementTree.SubElement(joint, 'parent', link=parent)
        ElementTree.SubElement(joint, 'child', link=child)
        _origin(joint, placed)

    def cameras(self):
        for camera, placed in _still_cameras(self.model).items():
            body = self.model.cam_bodyid[self.model.camera(camera).id]
            ElementTree.SubElement(self.robot, 'link', name=optical_frame(camera))
            self.fixed(optical_frame(camera), WORLD if body == 0 else link_name(self.model.body(body).name), placed)


def _still_cameras(model):
    """The optical pose [4, 4] on its body of each camera that no joint turns there; a wrist camera keeps its level."""
    data = mujoco.MjData(model)
    arms = [model.joint(j).qposadr[0] for j in range(model.njnt) if model.joint(j).name.startswith('vx300s_')]
    placed = {}
    for turned in (0.0, 0.3):
        data.qpos[arms] = turned
        mujoco.mj_forward(model, data)
        for camera in range(model.ncam):
            body = model.cam_bodyid[camera]
            base = pose(data.xpos[body], data.xmat[body].reshape(3, 3))
            view = pose(data.cam_xpos[camera], data.cam_xmat[camera].reshape(3, 3) @ OPTICAL)
            placed.setdefault(model.camera(camera).name, []).append(np.linalg.inv(base) @ view)
    return {camera: one for camera, (one, other) in placed.items() if np.allclose(one, other, atol=1e-9)}


def camera_frames(model):
    """Frame id of each camera's pictures: its own, or the link that carries it where MuJoCo turns it on that link."""
    still = _still_cameras(model)
    return {camera: optical_frame(camera) if camera in still else link_name(model.body(model.cam_bodyid[i]).name)
            for i in range(model.ncam) for camera in [model.camera(i).name]}


def optical_frame(camera):
    """Frame of a camera, z forward and y down."""
    return f'{camera}_optical_frame'


def urdf(model):
    """The URDF text of a compiled scene with the two arms."""
    writer = _Writer(model)
    for body in writer.bodies():
        writer.link(body)
        writer.joint(body)
    writer.cameras()
    named = {joint.get('name') for joint in writer.robot.iter('joint')}
    assert named >= {f'{side}_{part}' for side in SIDES for part in ARM} == set(JOINTS)
    ElementTree.indent(writer.robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(writer.robot, encoding='unicode') + '\n'
