"""A dataset folder in LeRobot's format, version 2.x or 3.0, into a Recording. Needs pyarrow, and av for videos."""
from collections import defaultdict
import json
from pathlib import Path

import cv2
import numpy as np

from oxygen_ros.profile.profile import VIEWS
from oxygen_ros.profile.small_json import member, read_json
from oxygen_ros.train.recording import FRAME_S, Gathered, MAX_FRAMES

MAX_FILES, MAX_ROWS, MAX_TEXT_BYTES, MAX_PIXELS = 10_000, 20 * MAX_FRAMES, 16 << 20, 1 << 25
STATE, ACTION = 'observation.state', 'action'


class LeRobotDataset:
    """
    The files of a dataset: metadata, tables of frames, videos. Raises ValueError with path and what is wrong.

    Files are where the format puts them: templates of paths in info.json are not used, since a stranger wrote them.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        path = self.folder / 'meta' / 'info.json'
        if not path.is_file():
            raise ValueError(f'{folder} is no LeRobot dataset: it has no meta/info.json')
        info = read_json(path)
        self.version = member(path, info, 'codebase_version', str, '')
        if not self.version.startswith(('v2.', 'v3.')):
            raise ValueError(f'{path}: version {self.version!r} is not supported, known are v2.0, v2.1 and v3.0')
        self.fps = info.get('fps')
        if isinstance(self.fps, bool) or not isinstance(self.fps, (int, float)) or not 1 <= self.fps <= 1000:
            raise ValueError(f'{path}: fps must be 1..1000, got {self.fps!r}')
        self.features = member(path, info, 'features', dict, {})
        for name in (STATE, ACTION):
            if name not in self.features:
                raise ValueError(f'{path}: there is no feature {name}; it has {sorted(self.features)}')
        self.cameras = {name: feature['dtype'] for name, feature in self.features.items()
                        if isinstance(feature, dict) and feature.get('dtype') in ('video', 'image')}

    def joints(self):
        """Names of the state's columns, which must be those of the actions."""
        state, action = (self._names(name) for name in (STATE, ACTION))
        if state != action:
            raise ValueError(f'{self.folder}: state {state} and action {action} must have the same names: only joint '
                             'positions are trained on')
        return state

    def _names(self, feature):
        table = self.features[feature]
        names = table.get('names') if isinstance(table, dict) else None
        while isinstance(names, dict) and len(names) == 1:
            names = next(iter(names.values()))  # {"motors": [...]}
        if isinstance(names, dict):
            names = list(names)
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return [name.removesuffix('.pos') for name in names]
        shape = table.get('shape') if isinstance(table, dict) else None
        if not isinstance(shape, list) or len(shape) != 1 or not isinstance(shape[0], int):
            raise ValueError(f'{self.folder}: feature {feature} must have a shape of one number, got {shape}')
        return [f'joint_{i}' for i in range(shape[0])]

    def files(self, pattern):
        found = sorted(self.folder.glob(pattern))
        if len(found) > MAX_FILES:
            raise ValueError(f'{self.folder}: more than {MAX_FILES} files {pattern}')
        return found

    def tables(self, pattern, columns=None):
        """Each parquet file of a pattern as {column: list or array}, bounded; only `columns` that are there."""
        parquet = _parquet()
        rows = 0
        for path in self.files(pattern):
            try:
                with parquet.ParquetFile(path) as file:
                    rows += file.metadata.num_rows
                    if rows > MAX_ROWS:
                        raise ValueError(f'more than {MAX_ROWS} rows in {pattern}')
                    there = file.schema_arrow.names
                    yield file.read([name for name in there if columns is None or name in columns])
            except (OSError, parquet.lib.ArrowException) as error:
                raise ValueError(f'{path} cannot be read: {" ".join(str(error).split())}') from None

    def texts(self, name):
        """{index: text} of meta/tasks or meta/subtasks, whichever format it is in; {} where there is none."""
        index = name.removesuffix('s') + '_index'
        lines = self.folder / 'meta' / f'{name}.jsonl'
        if lines.is_file():
            if lines.stat().st_size > MAX_TEXT_BYTES:
                raise ValueError(f'{lines} has more than {MAX_TEXT_BYTES} bytes')
            rows = [json.loads(line) for line in lines.read_text(encoding='utf-8').splitlines() if line.strip()]
            return {int(row[index]): str(row[name.removesuffix('s')]) for row in rows}
        for table in self.tables(f'meta/{name}.parquet'):
            text = next((c for c in table.column_names if c != index), None)
            return dict(zip(table[index].to_pylist(), map(str, table[text].to_pylist())))
        return {}

    def videos(self, camera):
        """{episode: (path, second at which it begins)} of a camera's videos."""
        if self.version.startswith('v2.'):
            return {int(path.stem.split('_')[-1]): (path, 0.0)
                    for path in self.files(f'videos/chunk-*/{camera}/episode_*.mp4')}
        found = {}
        names = [f'videos/{camera}/{name}' for name in ('chunk_index', 'file_index', 'from_timestamp')]
        for table in self.tables('meta/episodes/chunk-*/file-*.parquet', ('episode_index', *names)):
            for episode, chunk, file, second in zip(*(table[name].to_pylist() for name in ('episode_index', *names))):
                found[episode] = (self.folder / 'videos' / camera / f'chunk-{int(chunk):03d}'
                                  / f'file-{int(file):03d}.mp4', float(second))
        return found


def read_lerobot(folder, image_size, horizon, dt_s, views=None):
    """
    Recording of a dataset folder; `views` maps views of the model to cameras, default in the order of the dataset.

    A frame says the text of its `subtask_index` where the dataset has one, else its task.
    """
    data = LeRobotDataset(folder)
    views = views or dict(zip(VIEWS, data.cameras))
    unknown = [camera for camera in views.values() if camera not in data.cameras]
    if unknown or not views:
        raise ValueError(f'{folder} has no cameras {unknown}; it has {sorted(data.cameras)}')
    views = {view: views[view] for view in VIEWS if view in views}
    joints = data.joints()
    gathered = Gathered(views, joints, image_size, horizon, dt_s)
    episodes = _episodes(data, [camera for camera in views.values() if data.cameras[camera] == 'image'])
    keep = max(1, round(FRAME_S * data.fps))
    wanted = {number: np.arange(0, len(episode['timestamp']), keep) for number, episode in episodes.items()}
    pictures = {camera: _video_pictures(data, camera, episodes, wanted, gathered.small)
                if kind == 'video' else _stored_pictures(data, camera, episodes, wanted, gathered.small)
                for camera, kind in data.cameras.items() if camera in views.values()}
    tasks, subtasks = data.texts('tasks'), data.texts('subtasks')
    for number, episode in episodes.items():
        rows = wanted[number]
        shape = np.shape(episode[STATE])
        if len(shape) != 2 or shape[1] != len(joints) or np.shape(episode[ACTION]) != shape:
            raise ValueError(f'{folder}: episode {number} has states {list(shape)} and actions '
                             f'{list(np.shape(episode[ACTION]))}, names are {joints}')
        try:
            said = [tasks[index] for index in episode['task_index'][rows]]
        except KeyError as error:
            raise ValueError(f'{folder}: task {error} of episode {number} has no text in meta') from None
        words = said
        if subtasks and 'subtask_index' in episode:
            words = [subtasks.get(index, task) for index, task in zip(episode['subtask_index'][rows], said)]
        seen = list(zip(*(pictures[camera][number] for camera in views.values())))
        gathered.episode(episode['timestamp'][rows], seen, episode[STATE][rows], said, words, episode['timestamp'],
                         episode[ACTION])
    return gathered.done()


def _episodes(data, images):
    """{episode: {column: array}} of all data files, in the order of frames; `images` are read as bytes."""
    columns = [STATE, ACTION, 'timestamp', 'frame_index', 'episode_index', 'task_index', 'subtask_index', *images]
    found = defaultdict(lambda: defaultdict(list))
    for table in data.tables('data/chunk-*/*.parquet', columns):
        missing = [name for name in columns if name not in table.column_names and name != 'subtask_index']
        if missing:
            raise ValueError(f'{data.folder}: the data has no columns {missing}; it has {table.column_names}')
        lists = {name: table[name].to_pylist() for name in table.column_names}
        for row, number in enumerate(lists['episode_index']):
            for name, column in lists.items():
                found[int(number)][name].append(column[row])
    if not found:
        raise ValueError(f'{data.folder} has no frames under data/')
    return {number: {name: column if name in images else np.asarray(column) for name, column in episode.items()}
            for number, episode in sorted(found.items())}


def _stored_pictures(data, camera, episodes, wanted, small):
    """{episode: [picture]} of the wanted frames from the table's own image bytes."""
    found = {}
    for number, rows in wanted.items():
        found[number] = []
        for row in rows:
            packed = (episodes[number][camera][row] or {}).get('bytes')
            picture = None if not packed else cv2.imdecode(np.frombuffer(packed, np.uint8), cv2.IMREAD_COLOR_RGB)
            if picture is None:
                raise ValueError(f'{data.folder}: {camera} of episode {number}, frame {row} holds no picture')
            found[number].append(small(picture))
    return found


def _video_pictures(data, camera, episodes, wanted, small):
    """{episode: [picture]} of the wanted frames; each video file is decoded once, from its beginning."""
    places = data.videos(camera)
    missing = [number for number in wanted if number not in places]
    if missing:
        raise ValueError(f'{data.folder}: no video of {camera} for episodes {missing[:5]}')
    by_file = defaultdict(list)  # path -> [(second, episode, place)]
    for number, rows in wanted.items():
        path, begins = places[number]
        for place, row in enumerate(rows):
            by_file[path].append((begins + float(episodes[number]['timestamp'][row]), number, place))
    found = {number: [None] * len(rows) for number, rows in wanted.items()}
    for path, moments in by_file.items():
        moments.sort()
        for (_, number, place), picture in zip(moments, _frames_at(path, [m[0] for m in moments], 0.5 / data.fps)):
            found[number][place] = small(picture)
    return found


def _frames_at(path, seconds, tolerance_s):
    """The video's RGB frames nearest to rising `seconds`; ValueError where one is further off than the tolerance."""
    try:
        import av
    except ImportError:
        raise ValueError(f'{path} needs the package av: pip install "oxygen-ros[lerobot]"') from None
    at = 0
    try:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                if frame.width * frame.height > MAX_PIXELS:
                    raise ValueError(f'{path} has frames of {frame.width}x{frame.height} pixels, too large')
                while at < len(seconds) and seconds[at] <= frame.time + tolerance_s:
                    if seconds[at] < frame.time - tolerance_s - 1e-3:
                        raise ValueError(f'{path} has no frame at {seconds[at]:.3f} s')
                    yield frame.to_ndarray(format='rgb24')
                    at += 1
                if at == len(seconds):
                    return
    except (av.error.FFmpegError, OSError) as error:
        raise ValueError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    raise ValueError(f'{path} ends before its frame at {seconds[at]:.3f} s')


def _parquet():
    try:
        from pyarrow import lib, parquet
    except ImportError:
        raise ValueError('data in LeRobot format needs the package pyarrow: pip install "oxygen-ros[lerobot]"') \
            from None
    parquet.lib = lib
    return parquet
