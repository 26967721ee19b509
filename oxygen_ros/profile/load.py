"""A profile from its YAML file, every line checked with a sentence."""
from pathlib import Path

import yaml

from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.profile.profile import Normalisation, NormalisationRule, PrefixMask, Profile, Statistics
from oxygen_ros.share import config_folder

MAX_FILE_BYTES = 1 << 20
ENUMS = {'action_kind': ActionKind, 'normalisation': Normalisation, 'action_normalisation': Normalisation,
         'prefix_mask': PrefixMask, 'normalisation_rule': NormalisationRule}
NUMBERS = {'chunk_horizon': int, 'dt_s': float, 'max_prompt_tokens': int, 'pad_state_to': int,
           'rtc_trained_rows': int}
FLAGS = ('state_in_prompt', 'antialias', 'clip_state')
TEXTS = ('name', 'model', 'robot', 'prompt', 'high_level_prompt', 'time_rule')
NAME_LISTS = ('views', 'optional_views', 'joints', 'actions', 'binary', 'ignore_conflicts')
PAIRS = ('action_ranges',)
MAPS = ('state_maps', 'action_maps')
OTHER = ('delta', 'language_suffix', 'suppressed', 'statistics', 'position_actions')
REQUIRED = ('views', 'joints', 'action_kind', 'chunk_horizon', 'dt_s', 'statistics')
KEYS = (*ENUMS, *NUMBERS, *FLAGS, *TEXTS, *NAME_LISTS, *PAIRS, *MAPS, *OTHER)


def profile_names():
    """Names of the shipped profiles."""
    return sorted(path.stem for path in (config_folder() / 'profiles').glob('*.yaml'))


def profile_path(source):
    """Path of a profile given by file path or by the name of a shipped one; raises FileNotFoundError with the names."""
    path = Path(source)
    if path.suffix in ('.yaml', '.yml') and path.is_file():
        return path
    shipped = config_folder() / 'profiles' / f'{source}.yaml'
    if '/' not in str(source) and shipped.is_file():
        return shipped
    raise FileNotFoundError(f'no profile {source}: give the path of a YAML file or one of {profile_names()}')


def load_profile(source, statistics=None, **overrides):
    """
    Profile from a YAML file or the name of a shipped one.

    `statistics` are the FoundStatistics of a checkpoint, for a profile that says `statistics: checkpoint`.
    `overrides` replace keys of the file. Raises ValueError or FileNotFoundError with file, key and what is wrong.
    """
    path = profile_path(source)
    try:
        return parse_profile({**read_yaml(path), **overrides}, path.stem, statistics)
    except ValueError as error:
        raise ValueError(f'{path}: {error}') from None


def read_yaml(path):
    """Top-level mapping of a profile file."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f'{path.stat().st_size} bytes are too many for a profile (limit {MAX_FILE_BYTES})')
    try:
        table = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f'not YAML: {" ".join(str(error).split())}') from None
    except RecursionError:
        raise ValueError('not a profile: nested too deep') from None
    if not isinstance(table, dict):
        raise ValueError(f'a profile is a mapping of keys, this is a {type(table).__name__}')
    return table


def parse_profile(table, name, statistics=None):
    """Build the Profile of a mapping of YAML values; see `load_profile`."""
    unknown = [str(key) for key in table if key not in KEYS]
    if unknown:
        raise ValueError(f'unknown keys {unknown}; a profile has {sorted(KEYS)}')
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise ValueError(f'missing keys {missing}')
    values = {'name': name}
    for key, value in table.items():
        if key in ENUMS:
            values[key] = choice(key, value, ENUMS[key])
        elif key in NUMBERS:
            values[key] = number(key, value, NUMBERS[key])
        elif key in FLAGS:
            values[key] = typed(key, value, bool, 'true or false')
        elif key in TEXTS:
            values[key] = typed(key, value, str, 'a text')
        elif key in NAME_LISTS:
            values[key] = names(key, value)
        elif key in PAIRS:
            values[key] = tuple((joint, *numbers(f'{key} of {joint}', row, 2)) for joint, row in rows(key, value))
        elif key in MAPS:
            values[key] = tuple(unit_map(key, joint, row) for joint, row in rows(key, value))
    if 'delta' in table:
        values['delta'] = delta_flags(table['delta'], values.get('actions') or values['joints'])
    if 'position_actions' in table:
        values['position_actions'] = tuple((name, number(f'position_actions of {name}', speed)) for name, speed in
                                           rows('position_actions', table['position_actions']))
    if 'language_suffix' in table:
        values['language_suffix'] = tuple(
            (task, typed(f'language_suffix of {task}', suffix, str, 'a text'))
            for task, suffix in rows('language_suffix', table['language_suffix']))
    if 'suppressed' in table:
        values['suppressed'] = tuple(
            (task, *token_range(task, pair)) for task, pairs in rows('suppressed', table['suppressed'])
            for pair in typed(f'suppressed of {task}', pairs, list, 'a list of [first, last] token ids'))
    values['state_statistics'], values['action_statistics'], rule = statistics_of(table['statistics'], statistics)
    values.setdefault('normalisation_rule', rule)
    return Profile(**values)


def statistics_of(value, found):
    """Statistics of state and actions and their rule: those written in the file, or `found` in the checkpoint."""
    if value == 'checkpoint' or (isinstance(value, dict) and set(value) == {'asset_id'}):
        if found is None:
            raise ValueError('statistics come from the checkpoint, and none were read: give a checkpoint that has '
                             'assets/<id>/norm_stats.json or LeRobot processor files, or write them into the profile')
        return found.state, found.actions, found.rule
    if not isinstance(value, dict) or set(value) != {'state', 'actions'}:
        raise ValueError('statistics must be `checkpoint`, `{asset_id: ID}` or have the keys state and actions')
    state, actions = (parse_statistics(what, value[what]) for what in ('state', 'actions'))
    return state, actions, NormalisationRule.OPENPI


def parse_statistics(what, table):
    table = typed(f'statistics of {what}', table, dict, 'a mapping of mean, std, q01, q99, min or max')
    unknown = [str(key) for key in table if key not in ('mean', 'std', 'q01', 'q99', 'min', 'max')]
    if unknown:
        raise ValueError(f'statistics of {what} have unknown keys {unknown}')
    return Statistics(**{key: numbers(f'statistics {key} of {what}', row) for key, row in table.items()
                         if row is not None})


def delta_flags(value, actions):
    """Flags from a list of true/false, or from `{except: [names]}`: every action but those."""
    if isinstance(value, dict) and set(value) == {'except'}:
        absolute = names('delta except', value['except'])
        unknown = [name for name in absolute if name not in actions]
        if unknown:
            raise ValueError(f'delta excepts {unknown}, which are none of {list(actions)}')
        return tuple(name not in absolute for name in actions)
    flags = typed('delta', value, list, 'a list of true or false, or `{except: [names]}`')
    return tuple(typed('delta', flag, bool, 'true or false') for flag in flags)


def unit_map(key, joint, row):
    """Return (joint, scale, offset) from `{scale: a, offset: b}` or `{from: [robot, robot], to: [model, model]}`."""
    row = typed(f'{key} of {joint}', row, dict, '{scale, offset} or {from: [a, b], to: [c, d]}')
    if set(row) == {'from', 'to'}:
        a, b = numbers(f'{key} from of {joint}', row['from'], 2)
        c, d = numbers(f'{key} to of {joint}', row['to'], 2)
        if a == b:
            raise ValueError(f'{key} of {joint}: from {a} to {b} is no range')
        scale = (d - c) / (b - a)
        return joint, scale, c - a * scale
    if not row or not set(row) <= {'scale', 'offset'}:
        raise ValueError(f'{key} of {joint} must have scale and offset, or from and to; got {sorted(map(str, row))}')
    return joint, number(f'{key} scale of {joint}', row.get('scale', 1.0), float), \
        number(f'{key} offset of {joint}', row.get('offset', 0.0), float)


def token_range(task, pair):
    first, last = numbers(f'suppressed of {task}', pair, 2)
    return int(first), int(last)


def typed(key, value, kind, wanted):
    if not isinstance(value, kind):
        raise ValueError(f'{key} must be {wanted}, got {value!r}')
    return value


def choice(key, value, enum):
    try:
        return enum(value)
    except ValueError:
        raise ValueError(f'{key} must be one of {[member.value for member in enum]}, got {value!r}') from None


def number(key, value, kind=float):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (kind is int and value != int(value)):
        raise ValueError(f'{key} must be {"a whole number" if kind is int else "a number"}, got {value!r}')
    return kind(value)


def numbers(key, value, count=None):
    value = typed(key, value, list, f'a list of {count or ""} numbers')
    if count is not None and len(value) != count:
        raise ValueError(f'{key} must have {count} numbers, got {len(value)}')
    return tuple(number(key, item) for item in value)


def names(key, value):
    return tuple(typed(f'{key} entry', item, str, 'a name') for item in typed(key, value, list, 'a list of names'))


def rows(key, value):
    return [(typed(f'{key} key', name, str, 'a name'), row)
            for name, row in typed(key, value, dict, 'a mapping of names').items()]
