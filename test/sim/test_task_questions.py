import numpy as np
import pytest

from oxygen_ros.sim.instructions import COLOURS, Goal
from oxygen_ros.sim.questions import answer, ask, Facts, kind_of, location_words, place_of, QUESTIONS, right, subtask
from oxygen_ros.sim.view import CAMERA


def facts(phase='reach', goal=Goal('pick', 'red')):
    blocks = {'red': np.array([0.05, 0.60, 0.02]), 'green': np.array([0.20, 0.40, 0.02]),
              'blue': np.array([0.15, 0.55, 0.02])}
    return Facts(blocks, np.array([0.19, 0.41, 0.1]), goal, phase)


def test_location_words_come_back_as_the_place():
    random = np.random.default_rng(0)
    for _ in range(200):
        point = np.array([*random.uniform((0.0, 0.34), (0.24, 0.66)), 0.02])
        assert np.linalg.norm(place_of(location_words(point)) - point[:2]) < 0.008
    assert place_of('no place at all') is None


def test_the_view_is_that_of_the_simulator():
    mujoco = pytest.importorskip('mujoco')
    from oxygen_ros.sim.blocks import Blocks
    from oxygen_ros.sim.scene import Scene
    scene = Scene(Blocks(), seed=1)
    mujoco.mj_forward(scene.model, scene.data)
    camera = scene.model.camera('tight').id
    axes = scene.data.cam_xmat[camera].reshape(3, 3)  # columns: right, top, backwards
    assert np.abs(axes.T - CAMERA.axes() * [[1], [1], [-1]]).max() < 1e-6
    assert CAMERA.project(CAMERA.target) == pytest.approx((0.5, 0.5))


def test_answers_are_what_the_scene_shows():
    now = facts()
    assert answer('where', 'red', now) == f'{location_words(now.blocks["red"])} front left'
    assert answer('closest', '', now) == 'the green block'
    assert answer('leftmost', '', now) == 'the red block' and answer('rightmost', '', now) == 'the green block'
    assert answer('doing', '', now) == 'reach for the red block' and answer('did', '', now) == 'nothing yet'
    assert answer('holding', '', now) == 'nothing' and answer('holding', '', facts('lift')) == 'the red block'
    assert answer('did', '', facts('hold')) == 'I picked up the red block'
    assert subtask(now) == f'{location_words(now.blocks["red"])} reach for the red block'
    assert subtask(facts('return', Goal('home'))) == 'go home'


def test_every_question_is_recognised():
    for kind, texts in QUESTIONS.items():
        for text in texts:
            for colour in COLOURS:
                assert kind_of(text.format(c=colour)) == (kind, colour if '{c}' in text else '')
    assert kind_of('what is the weather like?') is None


def test_true_answers_count_and_wrong_ones_do_not():
    random, now = np.random.default_rng(1), facts()
    for _ in range(50):
        question, reply = ask(random, now)
        assert right(question, reply, now)
    where = 'where is the red block?'
    assert not right(where, f'{location_words(now.blocks["blue"])} front left', now)
    assert not right(where, f'{location_words(now.blocks["red"])} back right', now)
    assert not right(where, 'front left', now)
    assert not right('which block is leftmost?', 'the blue block', now)
    assert not right('which block is leftmost?', 'no idea', now)


def test_near_a_line_both_sides_count():
    now = facts()
    now.blocks['red'] = np.array([0.05, 0.503, 0.02])
    words = location_words(now.blocks['red'])
    for side in ('front left', 'front right'):
        assert right('where is the red block?', f'{words} {side}', now)
    assert not right('where is the red block?', f'{words} back left', now)
