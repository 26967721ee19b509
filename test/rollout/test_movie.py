import numpy as np
from PIL import Image
import pytest

from oxygen_ros.__main__ import main
from oxygen_ros.rollout.policy import WEIGHTS


@pytest.mark.skipif(not WEIGHTS.is_file(), reason='needs the trained weights')
def test_an_episode_becomes_a_gif_that_moves(tmp_path):
    path = tmp_path / 'episode.gif'
    assert main(['rollout', '--episodes', '2', '--seed', '3', '--kinds', 'pick', '--longest-s', '1', '--movie',
                 str(path), '--movie-episodes', '1']) == 0
    with Image.open(path) as gif:
        pictures = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            pictures.append(np.asarray(gif.convert('RGB')).astype(int))
            assert gif.info['duration'] >= 200
    # One for each of five frames of the first episode, then its end, of which equal pictures may be one.
    assert 6 <= len(pictures) <= 9 and pictures[0].shape == (270, 448, 3)
    for first, then in zip(pictures[:4], pictures[1:5]):
        assert (np.abs(first - then).max(-1) > 40).any()
    assert (pictures[0][:20].max(-1) > 200).any()  # the instruction over it
    framed = pictures[-1][100:, -3:]
    assert (framed == framed[0, 0]).all() and not (pictures[0][100:, -3:] == framed[0, 0]).all()
