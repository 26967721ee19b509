import cv2
import numpy as np
import pytest

from oxygen_ros.sim import replay
from oxygen_ros.sim.replay import read_pictures, RecordedCameras


def write(path, value, width=64, height=48):
    picture = np.full((height, width, 3), value, np.uint8)
    picture[0, 0] = (1, 2, 3)  # BGR on disk
    cv2.imwrite(str(path), picture)


def test_each_camera_plays_its_pictures_in_the_order_of_their_names(tmp_path):
    write(tmp_path / 'top_0001.png', 20)
    write(tmp_path / 'top_0000.png', 10)
    write(tmp_path / 'left_wrist_3.png', 99, 32, 24)
    write(tmp_path / 'left_wrist_4.png', 98, 32, 24)
    cameras = RecordedCameras(read_pictures(tmp_path), ('top', 'left_wrist'))
    assert cameras.sizes == {'top': (64, 48), 'left_wrist': (32, 24)}
    assert [int(cameras.picture('top', None)[5, 5, 0]) for _ in range(3)] == [10, 20, 10]
    assert cameras.picture('left_wrist', None).shape == (24, 32, 3)
    assert cameras.picture('top', None)[0, 0].tolist() == [3, 2, 1]  # RGB
    cameras.close()


def test_a_single_picture_is_a_camera(tmp_path):
    write(tmp_path / 'top.png', 10)
    assert list(read_pictures(tmp_path / 'top.png')) == ['top']


def test_what_cannot_be_played_is_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r'no picture \(.png, .jpg, .jpeg\) at'):
        read_pictures(tmp_path)
    (tmp_path / 'top.png').write_bytes(b'GIF89a')
    with pytest.raises(ValueError, match='top.png: .* are neither JPEG nor PNG'):
        read_pictures(tmp_path)
    write(tmp_path / 'top.png', 10)
    write(tmp_path / 'top_2.png', 10, 32, 24)
    with pytest.raises(ValueError, match='top_2.png is 32x24; the pictures of top before it are 64x48'):
        read_pictures(tmp_path)
    (tmp_path / 'top_2.png').unlink()
    with pytest.raises(ValueError, match="no recorded picture of camera 'left'; there are of: top"):
        RecordedCameras(read_pictures(tmp_path), ('left',))
    monkeypatch.setattr(replay, 'MAX_MEMORY_BYTES', 9000)
    with pytest.raises(ValueError, match='top.png: 64x48 is more than 4096 a side, or makes'):
        read_pictures(tmp_path)
    monkeypatch.setattr(replay, 'MAX_FILE_BYTES', 10)
    with pytest.raises(ValueError, match='bytes, more than 10'):
        read_pictures(tmp_path)
    monkeypatch.setattr(replay, 'MAX_FILES', 0)
    with pytest.raises(ValueError, match='has 1 pictures; 0 at most'):
        read_pictures(tmp_path)


def test_a_picture_whose_header_claims_a_huge_size_is_not_decoded(tmp_path, monkeypatch):
    write(tmp_path / 'top.png', 10)
    content = bytearray((tmp_path / 'top.png').read_bytes())
    content[16:24] = (60_000).to_bytes(4, 'big') * 2
    (tmp_path / 'top.png').write_bytes(content)
    monkeypatch.setattr(replay.compressed, 'decode', lambda *_: pytest.fail('it was decoded'))
    with pytest.raises(ValueError, match='60000x60000 is more than 4096 a side'):
        read_pictures(tmp_path)
