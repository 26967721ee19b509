"""The facts of a checkpoint that its weights do not say."""
from dataclasses import dataclass, fields
from enum import Enum

import numpy as np

from oxygen_ros.engine.chunk import ActionKind

VIEWS = ('base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb')  # the model's camera slots, in their fixed order


class PrefixMask(str, Enum):
    """How prompt tokens attend within the prefix: openpi and LeRobot, or the OxyGen paper's code."""

    BIDIRECTIONAL = 'bidirectional'
    CAUSAL_PROMPT = 'causal_prompt'


class Normalisation(str, Enum):
    """
    How numbers meet the model's scale.

    quantile maps [q01, q99] and min_max maps [min, max] to [-1, 1], mean_std standardises, identity leaves the numbers
    alone.
    """

    QUANTILE = 'quantile'
    MEAN_STD = 'mean_std'
    MIN_MAX = 'min_max'
    IDENTITY = 'identity'


class NormalisationRule(str, Enum):
    """Whose epsilon: openpi adds 1e-6 to every span, LeRobot 1e-8 to deviations and to spans that are zero."""

    OPENPI = 'openpi'
    LEROBOT = 'lerobot'


NEEDS = {Normalisation.QUANTILE: ('q01', 'q99'), Normalisation.MEAN_STD: ('mean', 'std'),
         Normalisation.MIN_MAX: ('min', 'max'), Normalisation.IDENTITY: ()}


@dataclass(frozen=True)
class Statistics:
    """Per-dimension statistics of state or actions, each float64 [J] or None where the mode does not need it."""

    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    q01: np.ndarray | None = None
    q99: np.ndarray | None = None
    min: np.ndarray | None = None
    max: np.ndarray | None = None

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            value = np.array(value, dtype=np.float64)  # a copy: nobody else holds it
            if value.ndim != 1 or not len(value):
                raise ValueError(f'statistics {field.name} must be a list of numbers, got shape {value.shape}')
            if not np.isfinite(value).all():
                raise ValueError(f'statistics {field.name} has non-finite numbers: {value}')
            value.flags.writeable = False
            object.__setattr__(self, field.name, value)
        for low, high in (('q01', 'q99'), ('min', 'max')):
            a, b = getattr(self, low), getattr(self, high)
            if a is None or b is None:
                continue
            if len(a) != len(b):
                raise ValueError(f'statistics {low} has {len(a)} numbers and {high} has {len(b)}')
            if (a > b).any():
                at = int(np.argmax(a > b))
                raise ValueError(f'statistics {low} is above {high} in dimension {at}: {a[at]} > {b[at]}')
        if self.std is not None and (self.std < 0).any():
            raise ValueError(f'statistics std is negative in dimension {int(np.argmax(self.std < 0))}')

    def require(self, mode, size, what):
        """Raise ValueError unless the arrays that `mode` uses are present with at least `size` dimensions."""
        for name in NEEDS[mode]:
            value = getattr(self, name)
            if value is None:
                raise ValueError(f'{mode.value} normalisation of {what} needs {name}, which the statistics do not have')
            if len(value) < size:
                raise ValueError(f'statistics {name} of {what} has {len(value)} numbers, the profile has {size} names')


@dataclass(frozen=True)
class Profile:
    """
    What a checkpoint expects and gives; the wrong value changes every action without an error, so all are explicit.

    `views` are the camera slots it uses, a subset of VIEWS in that order; those in `optional_views` may be absent.
    `joints` names the state columns in the checkpoint's order, `actions` the action columns (the joints again where
    empty). `chunk_horizon` is H, `dt_s` the spacing of its rows. `state_in_prompt` writes the discretised state into
    the prompt, `pad_state_to` first pads it with zeros (LeRobot up to 0.4.4: 32; 0 for no padding), `clip_state` writes
    bin 0 where the peers write -1, below the range.

    `robot` names the robot transform (see profile/robot.py), `state_maps` and `action_maps` give (name, scale, offset)
    with model = robot * scale + offset. `delta` flags the action columns that the model gives relative to the state at
    the start of the chunk. `action_ranges` bounds columns (name, low, high) in robot units; `binary` thresholds columns
    at the middle of their range.

    `prompt` is the template with `{task}` and, if `state_in_prompt`, `{state}`. `language_suffix` maps a language task
    to the text appended for it; `suppressed` lists (task, first, last) token ids that it must not give.
    `ignore_conflicts` names what may differ from the checkpoint's own files.

    `position_actions` lists (name, greatest speed) of columns that are positions among velocities; they leave as the
    velocity that gets there. With `high_level_prompt`, a template with `{task}`, the model makes its own subtask from
    it, and the actions obey the subtask (engine/hierarchy.py); empty: the actions obey the instruction. `time_rule` is
    how the times of the denoising steps are computed, openpi's or LeRobot's (model/time_condition.py).

    `rtc_trained_rows` is for how many rows the checkpoint was trained to continue a running chunk (arXiv 2512.05964).
    """

    name: str
    views: tuple[str, ...]
    joints: tuple[str, ...]
    action_kind: ActionKind
    chunk_horizon: int
    dt_s: float
    state_statistics: Statistics
    action_statistics: Statistics
    normalisation: Normalisation = Normalisation.QUANTILE
    prefix_mask: PrefixMask = PrefixMask.BIDIRECTIONAL
    state_in_prompt: bool = True
    max_prompt_tokens: int = 200
    antialias: bool = True
    language_suffix: tuple[tuple[str, str], ...] = ()
    model: str = 'pi05'
    optional_views: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    action_normalisation: Normalisation | None = None  # None: as the state
    normalisation_rule: NormalisationRule = NormalisationRule.OPENPI
    robot: str = 'none'
    state_maps: tuple[tuple[str, float, float], ...] = ()
    action_maps: tuple[tuple[str, float, float], ...] = ()
    delta: tuple[bool, ...] = ()
    action_ranges: tuple[tuple[str, float, float], ...] = ()
    binary: tuple[str, ...] = ()
    prompt: str = ''
    pad_state_to: int = 0
    clip_state: bool = False
    suppressed: tuple[tuple[str, int, int], ...] = ()
    ignore_conflicts: tuple[str, ...] = ()
    position_actions: tuple[tuple[str, float], ...] = ()
    high_level_prompt: str = ''
    time_rule: str = 'lerobot'
    rtc_trained_rows: int = 0

    def __post_init__(self):
        if not self.actions:
            object.__setattr__(self, 'actions', tuple(self.joints))
        if self.action_normalisation is None:
            object.__setattr__(self, 'action_normalisation', self.normalisation)
        if not self.prompt:
            object.__setattr__(self, 'prompt', STATE_PROMPT if self.state_in_prompt else PLAIN_PROMPT)
        try:
            self.check()
        except ValueError as error:
            raise ValueError(f'profile {self.name}: {error}') from None

    def check(self):
        if not self.views or list(self.views) != [view for view in VIEWS if view in self.views]:
            raise ValueError(f'views must be some of {list(VIEWS)} in that order, got {list(self.views)}')
        if not set(self.optional_views) < set(self.views):
            raise ValueError(f'optional_views {list(self.optional_views)} must leave at least one of the views '
                             f'{list(self.views)} required')
        for what in ('joints', 'actions'):
            names = getattr(self, what)
            if not names or len(set(names)) != len(names):
                raise ValueError(f'{what} must be different names, got {list(names)}')
        if not 1 <= self.chunk_horizon <= 1000:
            raise ValueError(f'chunk_horizon must be 1..1000, got {self.chunk_horizon}')
        if not 0 <= self.rtc_trained_rows < self.chunk_horizon:
            raise ValueError(f'rtc_trained_rows must be 0..{self.chunk_horizon - 1}, got {self.rtc_trained_rows}')
        if not 0.001 <= self.dt_s <= 10:
            raise ValueError(f'dt_s must be 0.001..10 s, got {self.dt_s}')
        if not 16 <= self.max_prompt_tokens <= 4096:
            raise ValueError(f'max_prompt_tokens must be 16..4096, got {self.max_prompt_tokens}')
        if self.delta and len(self.delta) != len(self.actions):
            raise ValueError(f'delta has {len(self.delta)} flags for {len(self.actions)} actions')
        if any(self.delta) and self.action_kind is not ActionKind.JOINT_POSITION:
            raise ValueError(f'delta flags make absolute positions of the actions, which {self.action_kind.value} are '
                             'not: leave delta out')
        if any(self.delta) and len(self.actions) > len(self.joints):
            raise ValueError(f'delta adds the state to the actions, but there are {len(self.actions)} actions and '
                             f'{len(self.joints)} joints')
        if self.action_kind is not ActionKind.EEF_DELTA and self.actions != self.joints:
            raise ValueError(f'{self.action_kind.value} actions are named by the joints: leave actions out')
        for what, names in (('state_maps', self.joints), ('action_maps', self.actions),
                            ('action_ranges', self.actions)):
            for name, a, b in getattr(self, what):
                if name not in names:
                    raise ValueError(f'{what} names {name}, which is none of {list(names)}')
                if not np.isfinite([a, b]).all():
                    raise ValueError(f'{what} of {name} must be finite, got {a}, {b}')
                if what == 'action_ranges' and not a < b:
                    raise ValueError(f'action_ranges of {name} must rise, got {a}..{b}')
                if what != 'action_ranges' and a == 0:
                    raise ValueError(f'{what} of {name} has scale 0, which has no inverse')
        for name, speed in self.position_actions:
            if self.action_kind is not ActionKind.JOINT_VELOCITY or name not in self.joints or not 0 < speed < 1e6:
                raise ValueError(f'position_actions ({name}: {speed}) are joints with a speed above 0 among '
                                 f'joint_velocity actions, here the actions are {self.action_kind.value}')
        if self.time_rule not in ('lerobot', 'openpi'):
            raise ValueError(f'time_rule must be lerobot or openpi, got {self.time_rule!r}')
        if self.high_level_prompt and '{task}' not in self.high_level_prompt:
            raise ValueError(f'high_level_prompt must contain {{task}}, got {self.high_level_prompt!r}')
        if '{state}' in self.high_level_prompt:
            raise ValueError('high_level_prompt cannot contain {state}')
        for name in self.binary:
            if name not in [row[0] for row in self.action_ranges]:
                raise ValueError(f'binary names {name}, which has no action_ranges to switch between')
        if '{task}' not in self.prompt:
            raise ValueError(f'prompt must contain {{task}}, got {self.prompt!r}')
        if self.state_in_prompt != ('{state}' in self.prompt):
            raise ValueError(f'state_in_prompt is {self.state_in_prompt} but the prompt is {self.prompt!r}')
        for what, low, high in self.suppressed:
            if not 0 <= low <= high:
                raise ValueError(f'suppressed token ids of {what} must be 0 <= first <= last, got {low}..{high}')
        self.state_statistics.require(self.normalisation, len(self.joints), 'the state')
        self.action_statistics.require(self.action_normalisation, len(self.actions), 'the actions')

    @property
    def required_views(self):
        return tuple(view for view in self.views if view not in self.optional_views)


# openpi src/openpi/models/tokenizer.py, PaligemmaTokenizer.tokenize: with and without the discrete state
STATE_PROMPT = 'Task: {task}, State: {state};\nAction: '
PLAIN_PROMPT = '{task}\n'
