"""The files that openpi puts beside its weights: assets/<id>/norm_stats.json and config.json."""
from oxygen_ros.profile.facts import CheckpointFacts, FoundStatistics
from oxygen_ros.profile.profile import NormalisationRule, Statistics
from oxygen_ros.profile.small_json import member, read_json

MAX_COLUMNS = 4096


def find_norm_stats(folder, asset_id=''):
    """
    Path of the norm_stats.json below `folder`/assets, or None if there is no assets folder.

    `asset_id` picks one (a profile's `statistics: {asset_id: droid}`); without it there must be exactly one. Raises
    ValueError with the ids that exist.
    """
    assets = folder / 'assets'
    own = folder / 'norm_stats.json'
    if not assets.is_dir():
        return own if own.is_file() and not asset_id else None
    # an asset id may hold one slash: physical-intelligence/libero
    found = sorted([*assets.glob('*/norm_stats.json'), *assets.glob('*/*/norm_stats.json')])
    ids = [str(path.parent.relative_to(assets)) for path in found]
    if asset_id:
        if asset_id not in ids:
            raise ValueError(f'{assets} has no norm_stats.json of {asset_id}; it has {ids}')
        return found[ids.index(asset_id)]
    if len(found) > 1:
        raise ValueError(f'{assets} has norm_stats.json of {ids}: say which with `statistics: {{asset_id: ...}}` in '
                         'the profile')
    return found[0] if found else None


def read_norm_stats(path):
    """Return the FoundStatistics of a norm_stats.json."""
    table = read_json(path)
    table = member(path, table, 'norm_stats', dict, table)
    parts = {}
    for what in ('state', 'actions'):
        rows = member(path, table, what, dict)
        if rows is None:
            raise ValueError(f'{path} has no {what}, only {sorted(table)[:8]}')
        columns = {}
        for key in ('mean', 'std', 'q01', 'q99'):
            value = member(path, rows, key, list)
            if value is None:
                continue
            if len(value) > MAX_COLUMNS or not all(isinstance(v, (int, float)) and not isinstance(v, bool)
                                                   for v in value):
                raise ValueError(f'{path}: {what} {key} should be at most {MAX_COLUMNS} numbers')
            columns[key] = value
        try:
            parts[what] = Statistics(**columns)
        except ValueError as error:
            raise ValueError(f'{path}: {what}: {error}') from None
    return FoundStatistics(parts['state'], parts['actions'], NormalisationRule.OPENPI, str(path))


def read_openpi_config(path, table):
    """CheckpointFacts of openpi's five-field config.json."""
    variants = tuple(member(path, table, key, str, '') for key in ('paligemma_variant', 'action_expert_variant'))
    return CheckpointFacts(str(path), chunk_horizon=member(path, table, 'action_horizon', int),
                           action_dim=member(path, table, 'action_dim', int),
                           variants=variants if all(variants) else ())
