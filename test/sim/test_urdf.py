from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest

from oxygen_ros.sim.joints import JOINTS, LOWER, UPPER
from oxygen_ros.sim.scene import make_task, mujoco, Scene
from oxygen_ros.sim.urdf import camera_frames, link_name, OPTICAL, optical_frame, pose, urdf

yourdfpy = pytest.importorskip('yourdfpy', reason='yourdfpy, the URDF library that the test compares with')


@pytest.fixture(scope='module')
def scene():
    return Scene(make_task('blocks'))


@pytest.fixture(scope='module')
def file(scene, tmp_path_factory):
    file = tmp_path_factory.mktemp('urdf') / 'aloha.urdf'
    file.write_text(urdf(scene.model))
    return file


def local(fname):
    return unquote(urlparse(fname).path)


@pytest.fixture(scope='module')
def robot(file):
    return yourdfpy.URDF.load(str(file), filename_handler=local, load_meshes=False, build_scene_graph=True)


def test_actuated_joints_and_limits_are_those_of_joint_states(robot):
    assert sorted(robot.actuated_joint_names) == sorted(JOINTS)
    for joint, lower, upper in zip(JOINTS, LOWER, UPPER):
        limit = robot.joint_map[joint].limit
        assert (limit.lower, limit.upper) == pytest.approx((lower, upper))
        assert limit.effort > 0 and limit.velocity > 0
    assert robot.validate()


def test_forward_kinematics_equals_mujocos_at_random_poses(robot, scene):
    random = np.random.default_rng(0)
    model, data = scene.model, mujoco.MjData(scene.model)
    bodies = [b for b in range(1, model.nbody) if model.body(b).name.startswith('vx300s_')]
    for _ in range(10):
        positions = random.uniform(LOWER, UPPER)
        data.qpos[scene._position] = positions
        data.qpos[scene._mirror_position] = -positions[scene._gripper]
        mujoco.mj_forward(model, data)
        robot.update_cfg(dict(zip(JOINTS, positions)))
        for body in bodies:
            expected = pose(data.xpos[body], data.xmat[body].reshape(3, 3))
            found = robot.get_transform(link_name(model.body(body).name), 'world')
            np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=model.body(body).name)
        for camera in ('top', 'tight', 'angle'):
            view = data.camera(camera)
            expected = pose(view.xpos, view.xmat.reshape(3, 3) @ OPTICAL)
            np.testing.assert_allclose(robot.get_transform(optical_frame(camera), 'world'), expected, atol=1e-6)


def test_pictures_carry_frames_of_the_urdf(robot, scene):
    frames = camera_frames(scene.model)
    assert frames['top'] == optical_frame('top')
    assert frames['left_wrist'] == 'left_gripper_link'  # MuJoCo keeps this camera level, so no fixed joint is right
    assert set(frames.values()) <= set(robot.link_map)


def test_meshes_lie_where_mujoco_draws_them(file, scene):
    """The corners of each visual mesh, read from its file, against the vertices of the compiled model."""
    trimesh = pytest.importorskip('trimesh')
    robot = yourdfpy.URDF.load(str(file), filename_handler=local, load_meshes=False, build_scene_graph=True)
    scene.reset(0)
    model, data = scene.model, scene.data
    mujoco.mj_forward(model, data)
    robot.update_cfg(dict(zip(JOINTS, scene.positions())))
    seen = 0
    for geom in range(model.ngeom):
        mesh = model.geom_dataid[geom]
        if mesh < 0:
            continue
        start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        drawn = model.mesh_vert[start:start + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        link = robot.link_map[link_name(model.body(model.geom_bodyid[geom]).name)]
        visual = next(v for v in link.visuals if v.material.name == f'geom_{geom}')
        path = Path(local(visual.geometry.mesh.filename))
        vertices = np.asarray(trimesh.load(path).vertices) * visual.geometry.mesh.scale
        place = robot.get_transform(link.name, 'world') @ visual.origin
        found = vertices @ place[:3, :3].T + place[:3, 3]
        # The gripper of a settled scene is not exactly mirrored, hence a millimetre.
        np.testing.assert_allclose(found.min(axis=0), drawn.min(axis=0), atol=1e-3)
        np.testing.assert_allclose(found.max(axis=0), drawn.max(axis=0), atol=1e-3)
        seen += 1
    assert seen == 23
