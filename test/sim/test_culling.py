import numpy as np
import pytest

from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.culling import can_cull, cull
from oxygen_ros.sim.joints import LOWER, UPPER
from oxygen_ros.sim.scene import make_task, mujoco, Scene


@pytest.fixture(scope='module')
def scene():
    return Scene(make_task('blocks'))


def test_no_pixel_changes_at_random_poses_of_the_arms(scene):
    sizes = {'tight': (224, 224), 'top': (320, 240), 'left_wrist': (160, 240), 'right_wrist': (320, 96)}
    random = np.random.default_rng(5)
    cameras = SceneCameras(scene, sizes)
    renderers = {camera: mujoco.Renderer(scene.model, h, w) for camera, (w, h) in sizes.items()}
    hidden = dict.fromkeys(sizes, 0)
    for _ in range(12):
        scene.reset(int(random.integers(1000)))
        scene.data.qpos[scene._position] = random.uniform(LOWER, UPPER)
        mujoco.mj_forward(scene.model, scene.data)
        for camera, renderer in renderers.items():
            renderer.update_scene(scene.data, camera)
            whole = renderer.render()
            np.testing.assert_array_equal(cameras.picture(camera, scene.snapshot()), whole)
            hidden[camera] += cull(renderer.scene, scene.model, scene.data, renderer.width / renderer.height)
    for renderer in renderers.values():
        renderer.close()
    cameras.close()
    assert min(hidden[camera] for camera in ('tight', 'left_wrist', 'right_wrist')) > 12, hidden


def test_nothing_is_left_out_where_shadows_fall(scene):
    assert can_cull(scene.model) and not can_cull(Scene(shadows=True).model)
