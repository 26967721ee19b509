"""Writing over the picture: it is legible, fits, and leaves the picture's own pixels alone elsewhere."""
import numpy as np
import pytest

from oxygen_ros.viz.overlay import overlay, wrap
from oxygen_ros.viz.palette import state_colour, STATES


@pytest.mark.parametrize('shape', [(480, 640, 3), (224, 224, 3), (60, 80, 3), (17, 23, 3)])
def test_the_picture_keeps_its_size_and_the_input_its_pixels(shape):
    image = np.full(shape, 130, np.uint8)
    drawn = overlay(image, 'running', 'all is well', 'pick up the cube', [('subtask', 'move left ' * 50)])
    assert drawn.shape == shape and drawn.dtype == np.uint8 and (image == 130).all()


def test_the_middle_of_the_picture_is_untouched_where_little_is_said():
    image = np.random.default_rng(0).integers(0, 255, (480, 640, 3), np.uint8)
    drawn = overlay(image, 'running', '', 'go', [('subtask', 'reach')])
    assert (drawn[60:380] == image[60:380]).all() and (drawn != image).any()


@pytest.mark.parametrize('state', [*STATES, 'something new'])
def test_the_corner_has_the_colour_of_the_state(state):
    assert tuple(overlay(np.zeros((240, 320, 3), np.uint8), state)[2, 2]) == state_colour(state)


def test_text_is_white_on_a_darkened_band_and_follows_what_is_said():
    image = np.full((480, 640, 3), 200, np.uint8)
    nothing, said = overlay(image, 'running'), overlay(image, 'running', '', '', [('answer', 'Zwölf Würfel')])
    assert (nothing[-40:] == 200).all()
    assert (said[-40:] == 255).all(-1).sum() > 30 and np.median(said[-20:]) == 80


@pytest.mark.parametrize('text', ['', 'one', 'a' * 300, 'word ' * 60, 'ü ' * 3 + 'x' * 50 + ' end'])
def test_lines_fit_and_lose_no_letter(text):
    lines = wrap(text, 100, lambda line: 7 * len(line))
    assert all(7 * len(line) <= 100 for line in lines)
    assert ''.join(''.join(lines).split()) == ''.join(text.split())
