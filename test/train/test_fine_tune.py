"""Data of a robot in both formats into training, and what comes out into the engine."""
import json

import cv2
import numpy as np
import pytest

from oxygen_ros import build
from oxygen_ros.__main__ import main
from oxygen_ros.bag.write import BagWriter
from oxygen_ros.engine.observation import Observation
from oxygen_ros.evaluate.parameters import FileParameters
from oxygen_ros.profile.load import load_profile
from oxygen_ros.share import config_file
from oxygen_ros.train.bag_data import read_bags
from oxygen_ros.train.recording import Gathered

JOINTS = load_profile('aloha_sim').joints
SHAPE = 56, 10, 0.1
COUNT, FPS = 24, 20


def picture(episode, frame):
    """RGB [48, 64, 3], different in each frame."""
    pixels = np.full((48, 64, 3), 60, np.uint8)
    pixels[10:30, 2 * frame:2 * frame + 12] = (200, 40 + 100 * episode, 90)
    return pixels


def positions(episode, frame):
    return [0.1 * episode + 0.01 * frame + 0.001 * joint for joint in range(6)]


def lerobot_dataset(folder, version, kind):
    """Two episodes of six joints with one camera, as `version` lays its files out; pictures stored as `kind`."""
    pa, parquet = pytest.importorskip('pyarrow'), pytest.importorskip('pyarrow.parquet')
    meta, camera, names = folder / 'meta', 'observation.images.top', [f'arm_{i}.pos' for i in range(6)]
    vector = {'dtype': 'float32', 'shape': [6], 'names': names}
    meta.mkdir(parents=True)
    (meta / 'info.json').write_text(json.dumps({'codebase_version': version, 'fps': FPS, 'features': {
        'observation.state': vector, 'action': vector, camera: {'dtype': kind, 'shape': [48, 64, 3]}}}))
    rows = [{'observation.state': positions(e, f), 'action': positions(e, f + 1), 'timestamp': f / FPS,
             'frame_index': f, 'episode_index': e, 'index': e * COUNT + f, 'task_index': e,
             **({camera: {'bytes': cv2.imencode('.png', picture(e, f)[..., ::-1])[1].tobytes(), 'path': None}}
                if kind == 'image' else {})}
            for e in range(2) for f in range(COUNT)]
    tasks = ['open the drawer', 'close the drawer']
    v2 = version.startswith('v2.')

    def write(path, rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), path)

    if v2:
        (meta / 'tasks.jsonl').write_text(''.join(json.dumps({'task_index': i, 'task': task}) + '\n'
                                                  for i, task in enumerate(tasks)))
        for e in range(2):
            write(folder / f'data/chunk-000/episode_{e:06d}.parquet', [r for r in rows if r['episode_index'] == e])
    else:
        write(meta / 'tasks.parquet', [{'task_index': i, '__index_level_0__': task} for i, task in enumerate(tasks)])
        write(folder / 'data/chunk-000/file-000.parquet', rows)
        write(meta / 'episodes/chunk-000/file-000.parquet', [
            {'episode_index': e, f'videos/{camera}/chunk_index': 0, f'videos/{camera}/file_index': 0,
             f'videos/{camera}/from_timestamp': e * COUNT / FPS} for e in range(2)])
    if kind == 'video':
        for path, episodes in ([(f'chunk-000/{camera}/episode_{e:06d}.mp4', [e]) for e in range(2)] if v2 else
                               [(f'{camera}/chunk-000/file-000.mp4', [0, 1])]):
            write_video(folder / 'videos' / path, [picture(e, f) for e in episodes for f in range(COUNT)])
    return folder


def write_video(path, pictures):
    av = pytest.importorskip('av')
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), 'w') as container:
        stream = container.add_stream('mpeg4', rate=FPS, options={'qscale': '1'})
        stream.height, stream.width, stream.pix_fmt = 48, 64, 'yuv420p'
        for pixels in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format='rgb24')))
        container.mux(stream.encode())


@pytest.mark.parametrize('version, kind', [('v2.1', 'image'), ('v2.1', 'video'), ('v3.0', 'video')])
def test_a_lerobot_dataset_is_read_frame_by_frame(tmp_path, version, kind):
    from oxygen_ros.train.lerobot_data import read_lerobot
    got = read_lerobot(lerobot_dataset(tmp_path, version, kind), *SHAPE)
    assert got.joints == tuple(f'arm_{i}' for i in range(6)) and got.views == ('base_0_rgb',)
    assert len(got) == 24 and got.episode.tolist() == [0] * 12 + [1] * 12  # each second frame of 20 a second
    small = Gathered(got.views, got.joints, *SHAPE).small
    for row in range(len(got)):
        episode, frame = divmod(row, 12)
        np.testing.assert_allclose(got.state[row], positions(episode, 2 * frame), atol=1e-6)
        # 0.1 s are two frames; beyond the last action it stands
        later = [positions(episode, min(2 * frame + 1 + 2 * k, COUNT)) for k in range(10)]
        np.testing.assert_allclose(got.actions[row], later, atol=1e-6)
        difference = got.images[row, 0].astype(int) - small(picture(episode, 2 * frame))
        assert np.abs(difference).mean() < (0.1 if kind == 'image' else 6)
        assert got.texts[got.task[row]] == got.texts[got.said[row]] == ('open', 'close')[episode] + ' the drawer'


@pytest.mark.parametrize('change, sentence', [
    ({'codebase_version': 'v1.6'}, 'version'), ({'fps': 0}, 'fps'), ({'features': {}}, 'observation.state')])
def test_a_dataset_that_does_not_fit_is_refused_with_a_sentence(tmp_path, change, sentence):
    from oxygen_ros.train.lerobot_data import read_lerobot
    path = lerobot_dataset(tmp_path, 'v2.1', 'image') / 'meta' / 'info.json'
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=sentence):
        read_lerobot(tmp_path, *SHAPE)


def robot_bag(path):
    """Two seconds of ALOHA's arms: two instructions, pictures at 10 Hz, joints and commands at 50 Hz."""
    with BagWriter(path) as bag:
        layout = bag.make('std_msgs/msg/MultiArrayLayout')
        for tick in range(100):
            now_ns = 10**18 + tick * 20_000_000
            state = np.full(14, 0.002 * tick)
            if tick in (0, 50):
                bag.put('/instruction', now_ns, bag.make('std_msgs/msg/String', data=f'go to place {tick}'))
            bag.put('/joint_states', now_ns, bag.make(
                'sensor_msgs/msg/JointState', header=bag.header(now_ns), name=list(JOINTS), position=state,
                velocity=np.zeros(0), effort=np.zeros(0)))
            bag.put('/joint_command', now_ns, bag.make('std_msgs/msg/Float64MultiArray', layout=layout,
                                                       data=state + 0.5))
            if tick % 5 == 4:
                pixels = picture(0, tick // 5)
                bag.put('/top/image_raw', now_ns, bag.make(
                    'sensor_msgs/msg/Image', header=bag.header(now_ns), height=48, width=64, encoding='rgb8', step=192,
                    data=pixels.reshape(-1)))
    return path


def test_a_bag_gives_an_episode_for_each_instruction(tmp_path):
    got = read_bags([robot_bag(tmp_path / 'bag')], config_file('aloha.yaml'), *SHAPE)
    assert got.joints == JOINTS and len(got) == 20 and got.episode.tolist() == [0] * 10 + [1] * 10
    assert [got.texts[task] for task in got.task[[0, -1]]] == ['go to place 0', 'go to place 50']
    np.testing.assert_allclose(got.state[3], 0.002 * 19, atol=1e-6)
    np.testing.assert_allclose(got.actions[3, :, 0], np.minimum(0.002 * (19 + 5 * np.arange(10)), 0.098) + 0.5,
                               atol=1e-6)
    small = Gathered(got.views, got.joints, *SHAPE).small
    assert (got.images[3, 0] == small(picture(0, 3))).all()


@pytest.mark.parametrize('kind', ['lerobot', 'bag'])
def test_a_model_trained_on_data_runs_with_the_profile_beside_it(tmp_path, kind):
    data = lerobot_dataset(tmp_path / 'data', 'v2.1', 'image') if kind == 'lerobot' else robot_bag(tmp_path / 'data')
    folder = tmp_path / 'run'
    begin = ['train', '--folder', str(folder), '--data', str(data), '--batch', '4', '--steps', '3']
    assert main([*begin, '--stop-at', '2']) == 0
    assert main(begin) == 0  # goes on
    steps = [line.split(',')[0] for line in (folder / 'curves.csv').read_text().splitlines()[1:]]
    assert steps == ['2', '3'] and (folder / 'curves.png').is_file()

    # as the node loads it
    settings = build.EngineSettings.read(FileParameters(config_file('aloha.yaml'), {
        'checkpoint': str(folder / 'model.safetensors'), 'profile': str(folder / 'profile.yaml')}))
    profile = build.load_profile(settings)
    engine = build.build_engine(settings, profile, lambda: None)
    chunks = []
    engine.run_frame(Observation(1, {'base_0_rgb': picture(0, 0)}, np.zeros(len(profile.joints)), 'open the drawer', 1),
                     [], chunks.append, lambda event: None)
    assert chunks[0].data.shape == (10, 6 if kind == 'lerobot' else 14) and np.isfinite(chunks[0].data).all()
    assert profile.state_statistics.q99 is not None and profile.dt_s == 0.1
    engine.close()


def test_data_that_is_neither_is_refused(tmp_path, capsys):
    (tmp_path / 'other').mkdir()
    assert main(['train', '--folder', str(tmp_path / 'run'), '--data', str(tmp_path / 'other')]) == 2
    assert 'is not a bag' in capsys.readouterr().err
