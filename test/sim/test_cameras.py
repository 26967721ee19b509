import threading

import numpy as np
import pytest

from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.joints import START
from oxygen_ros.sim.scene import mujoco, Scene


@pytest.fixture(scope='module')
def scene():
    return Scene()


@pytest.fixture(scope='module')
def cameras(scene):
    made = SceneCameras(scene, {'top': (640, 480), 'left_wrist': (320, 200)})
    yield made
    made.close()
    made.close()


def test_a_picture_equals_mujocos_own_renderer(scene, cameras):
    scene.reset(4)
    mujoco.mj_forward(scene.model, scene.data)  # a step leaves the poses of its beginning
    for camera, width, height in (('top', 640, 480), ('left_wrist', 320, 200)):
        with mujoco.Renderer(scene.model, height, width) as renderer:
            renderer.update_scene(scene.data, camera)
            np.testing.assert_array_equal(cameras.picture(camera, scene.snapshot()), renderer.render())


def test_a_picture_shows_its_snapshot_whatever_the_physics_does_meanwhile(scene, cameras):
    scene.reset(4)
    snapshot = scene.snapshot()
    still = cameras.picture('top', snapshot).copy()
    moved = START.copy()
    moved[[0, 7]] = 1.0
    scene.command(moved)
    scene.advance(300)
    np.testing.assert_array_equal(cameras.picture('top', snapshot), still)
    assert (cameras.picture('top', scene.snapshot()) != still).mean() > 0.005


def test_any_thread_may_ask_for_a_picture(scene, cameras):
    wanted = cameras.picture('top', scene.snapshot()).copy()
    given = []
    threads = [threading.Thread(target=lambda: given.append(cameras.picture('top', scene.snapshot()).copy()))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 3 and all(np.array_equal(wanted, each) for each in given)


def test_an_unknown_camera_is_named_with_the_known_ones(scene):
    with pytest.raises(ValueError, match="no camera 'nose'; it has: .*top"):
        SceneCameras(scene, {'nose': (640, 480)})
