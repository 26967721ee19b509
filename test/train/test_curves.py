import cv2
import numpy as np
import pytest

from oxygen_ros.train.curves import draw

COLUMNS = ('step', 'samples', 'flow', 'place', 'word', 'val_flow', 'val_joint_rad', 'rate', 'elapsed_s')


def test_curves_become_a_picture_with_lines_in_it(tmp_path):
    rows = [','.join(COLUMNS)]
    rows += [','.join(str(step if name == 'step' else step * 32 if name == 'samples' else 1 / step)
                      for name in COLUMNS) for step in range(1, 20)]
    (tmp_path / 'curves.csv').write_text('\n'.join(rows) + '\n')
    draw(tmp_path / 'curves.csv', tmp_path / 'curves.png')
    picture = cv2.imread(str(tmp_path / 'curves.png'))
    assert picture.shape == (600, 1040, 3)
    assert (np.abs(picture.astype(int) - (180, 90, 20)).max(-1) < 20).sum() > 500


def test_an_empty_log_is_refused(tmp_path):
    (tmp_path / 'curves.csv').write_text(','.join(COLUMNS) + '\n')
    with pytest.raises(ValueError, match='no rows'):
        draw(tmp_path / 'curves.csv', tmp_path / 'curves.png')
