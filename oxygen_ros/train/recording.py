"""What a user recorded on a robot, as frames to train on, whatever it was read from."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.convert.letterbox import letterbox
from oxygen_ros.profile.profile import VIEWS

MAX_FRAMES = 200_000
FRAME_S = 0.1  # between the frames that are kept: neighbours show nearly the same
LEAST_SPAN, LEAST_STD = 2e-2, 1e-3  # of what hardly moves, so that its noise is not blown up


@dataclass(frozen=True)
class Recording:
    """
    N frames. `images uint8 [N, V, 3, S, S]` of `views`, `state float32 [N, J]` and `actions float32 [N, H, J]` in robot
    units by the names `joints`, `dt_s` between the actions' rows; `task` and `said int64 [N]` index `texts`: the
    instruction, and what the model shall say it does; `episode int64 [N]`.
    """

    images: np.ndarray
    state: np.ndarray
    actions: np.ndarray
    task: np.ndarray
    said: np.ndarray
    episode: np.ndarray
    texts: tuple
    views: tuple
    joints: tuple
    dt_s: float

    def __len__(self):
        return len(self.state)

    def rows(self, wanted):
        """The Recording of those frames."""
        columns = ('images', 'state', 'actions', 'task', 'said', 'episode')
        return Recording(**{**vars(self), **{name: getattr(self, name)[wanted] for name in columns}})

    def statistics(self):
        """{state, actions} as a profile's YAML has them, JSON types only."""
        low, high = np.quantile(self.state.astype(np.float64), (0.01, 0.99), axis=0)
        middle, half = (low + high) / 2, np.maximum(high - low, LEAST_SPAN) / 2
        flat = self.actions.reshape(-1, self.actions.shape[-1]).astype(np.float64)
        return {'state': {'q01': (middle - half).round(6).tolist(), 'q99': (middle + half).round(6).tolist()},
                'actions': {'mean': flat.mean(0).round(6).tolist(),
                            'std': np.maximum(flat.std(0), LEAST_STD).round(6).tolist()}}

    def profile(self, base):
        """The mapping of a profile for what is trained here; texts and ranges are those of `base`, another mapping."""
        kept = {key: base[key] for key in ('prompt', 'language_suffix', 'max_prompt_tokens') if key in base}
        ranges = {name: pair for name, pair in base.get('action_ranges', {}).items() if name in self.joints}
        return {'model': 'nano', 'views': list(self.views), 'joints': list(self.joints),
                'action_kind': 'joint_position', 'chunk_horizon': self.actions.shape[1], 'dt_s': self.dt_s,
                'normalisation': 'quantile', 'action_normalisation': 'mean_std', 'clip_state': True,
                **({'action_ranges': ranges} if ranges else {}), 'statistics': self.statistics(), **kept}


class Gathered:
    """Frames of one recording after another, bounded; `done` makes the Recording."""

    def __init__(self, views, joints, image_size, horizon, dt_s):
        if not views or list(views) != [view for view in VIEWS if view in views]:
            raise ValueError(f'views must be some of {list(VIEWS)} in that order, got {list(views)}')
        self.views, self.joints = tuple(views), tuple(joints)
        self.image_size, self.horizon, self.dt_s = image_size, horizon, dt_s
        self._texts, self._rows, self._episodes = {}, [], 0

    def small(self, picture):
        """RGB uint8 [h, w, 3] -> as the model sees it, uint8 [3, S, S]."""
        return np.rint((letterbox(picture, self.image_size) + 1) * 127.5).astype(np.uint8)

    def episode(self, times_s, pictures, states, tasks, said, command_times_s, commands):
        """
        Add an episode: frames at `times_s` [n] with `pictures` [n][V] from `small`, `states` [n, J], texts; and the
        commands [m, J] at `command_times_s`, between which the actions lie on straight lines. After the last command it
        stands.
        """
        ahead = np.arange(self.horizon) * self.dt_s
        states, commands = np.asarray(states, np.float64), np.asarray(commands, np.float64)
        if not (np.isfinite(states).all() and np.isfinite(commands).all()):
            raise ValueError(f'episode {self._episodes} has states or actions that are not finite')
        if len(self._rows) + len(times_s) > MAX_FRAMES:
            raise ValueError(f'more than {MAX_FRAMES} frames, one each {FRAME_S} s: train on a part of the data')
        for time_s, seen, state, task, words in zip(times_s, pictures, states, tasks, said):
            actions = np.stack([np.interp(time_s + ahead, command_times_s, column) for column in commands.T], 1)
            self._rows.append((np.stack(seen), state, actions, self._text(task), self._text(words), self._episodes))
        self._episodes += 1

    def _text(self, text):
        return self._texts.setdefault(text, len(self._texts))

    def done(self):
        if not self._rows:
            raise ValueError('the data has no frame with all of pictures, state, commands and an instruction')
        kinds = (np.uint8, np.float32, np.float32, np.int64, np.int64, np.int64)
        columns = (np.array(column, dtype=kind) for column, kind in zip(zip(*self._rows), kinds))
        return Recording(*columns, tuple(self._texts), self.views, self.joints, self.dt_s)
