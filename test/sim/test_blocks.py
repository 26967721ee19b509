import numpy as np
import pytest

from oxygen_ros.sim.blocks import APART_M, AREA_M, Blocks, COLOURS, HALF_M
from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.scene import make_task, Scene


@pytest.fixture(scope='module')
def scene():
    return Scene(make_task('blocks'))


def test_blocks_lie_apart_within_their_area_for_any_seed(scene):
    seen = []
    for seed in range(50):
        scene.reset(seed)
        centres = np.array([scene.data.body(name).xpos for name in COLOURS])
        assert centres[:, 2] == pytest.approx(HALF_M, abs=2e-3)
        for axis, (low, high) in enumerate(AREA_M):
            assert (centres[:, axis] > low - 0.003).all() and (centres[:, axis] < high + 0.003).all()
        gaps = [np.linalg.norm(centres[a, :2] - centres[b, :2]) for a, b in ((0, 1), (0, 2), (1, 2))]
        assert min(gaps) > APART_M - 0.005
        seen.append(centres)
    assert np.std(seen, axis=0)[:, :2].min() > 0.02


def test_the_close_camera_shows_three_blocks_of_their_colours(scene):
    scene.reset(0)
    cameras = SceneCameras(scene, Blocks.camera_sizes)
    picture = cameras.picture('tight', scene.snapshot()).astype(int)
    cameras.close()
    assert picture.shape == (224, 224, 3)
    for channel, name in enumerate(COLOURS):
        others = np.delete(picture, channel, axis=2).max(axis=2)
        assert (picture[..., channel] > others + 40).sum() > 200, name
