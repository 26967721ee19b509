"""The files of a LeRobot policy folder: config.json and the two processor pipelines with their statistics."""
from pathlib import PurePosixPath

from safetensors import SafetensorError, safe_open

from oxygen_ros.model.safetensors_header import read_header
from oxygen_ros.profile.facts import CheckpointFacts, FoundStatistics
from oxygen_ros.profile.profile import NEEDS, Normalisation, NormalisationRule, Statistics
from oxygen_ros.profile.small_json import member, read_json

MODES = {'QUANTILES': Normalisation.QUANTILE, 'MEAN_STD': Normalisation.MEAN_STD, 'MIN_MAX': Normalisation.MIN_MAX,
         'IDENTITY': Normalisation.IDENTITY}
# steps that this package does itself, or that move data only
KNOWN = ('rename_observations_processor', 'to_batch_processor', 'device_processor', 'tokenizer_processor',
         'normalizer_processor', 'unnormalizer_processor', 'relative_actions_processor', 'absolute_actions_processor',
         'pi05_prepare_state_tokenizer_processor_step')
MAX_COLUMNS = 4096


def read_lerobot_config(path, table):
    """CheckpointFacts of a LeRobot config.json (`type: pi05`)."""
    kind = member(path, table, 'type', str, '')
    if kind != 'pi05':
        raise ValueError(f'{path} is of a {kind or "nameless"} policy, not of pi05')
    for key in ('use_visual_memory', 'use_proprioceptive_memory'):
        if table.get(key):
            raise ValueError(f'{path}: {key} is on, which this package does not support')
    inputs = member(path, table, 'input_features', dict, {})
    outputs = member(path, table, 'output_features', dict, {})

    def size(features, key):
        shape = member(path, member(path, features, key, dict, {}), 'shape', list, [])
        return shape[0] if len(shape) == 1 and isinstance(shape[0], int) else None

    cameras = tuple(str(name) for name, feature in inputs.items()
                    if isinstance(feature, dict) and feature.get('type') == 'VISUAL')
    resolution = member(path, table, 'image_resolution', list, [])
    mapping = member(path, table, 'normalization_mapping', dict, {})
    variants = tuple(member(path, table, key, str, '') for key in ('paligemma_variant', 'action_expert_variant'))
    return CheckpointFacts(
        str(path), chunk_horizon=member(path, table, 'chunk_size', int),
        state_size=size(inputs, 'observation.state'), action_size=size(outputs, 'action'),
        action_dim=member(path, table, 'max_action_dim', int), image_size=resolution[0] if resolution else None,
        max_prompt_tokens=member(path, table, 'tokenizer_max_length', int), cameras=cameras,
        empty_cameras=member(path, table, 'empty_cameras', int, 0), state_in_prompt=True,
        relative_actions=member(path, table, 'use_relative_actions', bool),
        relative_exclude=tuple(str(n).lower() for n in member(path, table, 'relative_exclude_joints', list, [])),
        state_mode=mode_of(path, mapping, 'STATE'), action_mode=mode_of(path, mapping, 'ACTION'),
        variants=variants if all(variants) else ())


def mode_of(path, mapping, key):
    word = member(path, mapping, key, str)
    if word is None:
        return None
    if word not in MODES:
        raise ValueError(f'{path}: normalisation of {key} is {word}, known are {sorted(MODES)}')
    return MODES[word]


def find_step(path, table, name):
    """The one step with this registry name (its position differs between versions), or None."""
    steps = member(path, table, 'steps', list, [])
    for step in steps:
        if not isinstance(step, dict):
            raise ValueError(f'{path}: a step should be a mapping, it is {str(step)[:60]}')
        if step.get('registry_name') not in KNOWN:
            unknown = step.get('registry_name') or step.get('class')
            raise ValueError(f'{path} has the step {unknown}, which this package '
                             f'does not know: the actions would differ')
    found = [step for step in steps if step.get('registry_name') == name]
    if len(found) > 1:
        raise ValueError(f'{path} has {len(found)} steps {name}')
    return found[0] if found else None


def read_processors(folder):
    """
    FoundStatistics of the pre- and post-processor of a policy folder, or None if it has no processor files.

    LeRobot passes a feature without statistics through unchanged and says nothing; here that is an error with the path.
    """
    names = ('policy_preprocessor.json', 'policy_postprocessor.json')
    present = [name for name in names if (folder / name).is_file()]
    if not present:
        return None
    if len(present) == 1:
        raise ValueError(f'{folder} has {present[0]} but not {[n for n in names if n not in present][0]}')
    pre, post = (folder / name for name in names)
    before = read_step(pre, 'normalizer_processor', 'observation.state', 'STATE')
    after = read_step(post, 'unnormalizer_processor', 'action', 'ACTION')
    relative, absolute = (enabled(path, name) for path, name in
                          ((pre, 'relative_actions_processor'), (post, 'absolute_actions_processor')))
    if relative != absolute:
        raise ValueError(f'{folder}: the preprocessor has relative actions {"on" if relative else "off"}, the '
                         f'postprocessor has absolute actions {"on" if absolute else "off"}')
    return FoundStatistics(before[0], after[0], NormalisationRule.LEROBOT, f'{pre} and {post.name}', before[1],
                           after[1])


def enabled(path, name):
    step = find_step(path, read_json(path), name)
    return bool(step and member(path, member(path, step, 'config', dict, {}), 'enabled', bool, False))


def read_step(path, registry_name, feature, kind):
    """`(Statistics, mode)` of one feature from the normaliser step of a pipeline file."""
    step = find_step(path, read_json(path), registry_name)
    if step is None:
        raise ValueError(f'{path} has no step {registry_name}')
    config = member(path, step, 'config', dict, {})
    mode = mode_of(path, member(path, config, 'norm_map', dict, {}), kind) or Normalisation.IDENTITY
    state_file = member(path, step, 'state_file', str)
    if mode is Normalisation.IDENTITY:
        return Statistics(), mode
    if state_file is None:
        raise ValueError(f'{path}: {registry_name} has no statistics file, so LeRobot would not normalise at all; give '
                         'the statistics of the training data (assets/<id>/norm_stats.json, or in the profile)')
    if PurePosixPath(state_file).name != state_file or '\\' in state_file:
        raise ValueError(f'{path}: the statistics file {state_file[:80]!r} is not in the folder')
    file = path.parent / state_file
    if not file.is_file():
        raise ValueError(f'{path}: the statistics file {state_file} is missing')
    return read_statistics(file, feature, mode), mode


def read_statistics(file, feature, mode):
    """Statistics of one feature, keys `<feature>.q01` and so on."""
    entries, _ = read_header(file)
    columns = {}
    for key in ('mean', 'std', 'q01', 'q99', 'min', 'max'):
        entry = entries.get(f'{feature}.{key}')
        if entry is None:
            continue
        if entry.dtype not in ('F32', 'F64') or len(entry.shape) > 1 or entry.bytes > 8 * MAX_COLUMNS:
            raise ValueError(f'{file}: {feature}.{key} is {entry.dtype} {list(entry.shape)}, not a list of numbers')
        try:
            with safe_open(file, 'np') as opened:
                columns[key] = opened.get_tensor(f'{feature}.{key}').reshape(-1)
        except SafetensorError as error:
            raise ValueError(f'{file} cannot be read: {error}') from None
    missing = [key for key in NEEDS[mode] if key not in columns]
    if missing:
        raise ValueError(f'{file} lacks {", ".join(f"{feature}.{key}" for key in missing)}, so LeRobot would pass '
                         f'{feature} through without {mode.value} normalisation; recompute the statistics')
    try:
        return Statistics(**columns)
    except ValueError as error:
        raise ValueError(f'{file}: {feature}: {error}') from None
