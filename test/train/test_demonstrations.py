"""What varies in the pictures that are trained on."""
import numpy as np
import pytest

from oxygen_ros.train.demonstrations import Recorder


@pytest.fixture(scope='module')
def recorder():
    recorder = Recorder(56, 10, 0.1)
    yield recorder
    recorder.close()


def light(recorder):
    model = recorder.scene.model
    return np.concatenate([model.light_diffuse.ravel(), model.light_pos.ravel(), model.vis.headlight.diffuse])


def test_pictures_and_light_change_with_the_seed_alone(recorder):
    pictures, lights = [], []
    for seed in (1, 2, 1):
        pictures.append(recorder.episode(seed, most_ticks=1)[0][0])
        lights.append(light(recorder))
    assert (pictures[0] == pictures[2]).all() and (lights[0] == lights[2]).all()
    assert (pictures[0] != pictures[1]).mean() > 0.3 and (lights[0] != lights[1]).all()


def test_the_same_scene_looks_different_in_the_light_of_another_seed(recorder):
    brightness = []
    recorder.episode(1, most_ticks=1)
    snapshot = recorder.scene.snapshot()
    for seed in range(6):
        recorder.episode(seed, most_ticks=1)
        brightness.append(recorder.cameras.picture('tight', snapshot).mean())
    assert np.ptp(brightness) > 5  # of 255
