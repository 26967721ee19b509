"""JSON files of a checkpoint folder, which may come from anywhere."""
import json

MAX_BYTES = 16 << 20


def read_json(path):
    """Mapping in a JSON file of bounded size; raises ValueError with the path."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f'{path} has {size} bytes, too many (limit {MAX_BYTES})')
    try:
        table = json.loads(path.read_text(encoding='utf-8'))
    except (ValueError, RecursionError) as error:
        raise ValueError(f'{path} is not JSON: {error}') from None
    if not isinstance(table, dict):
        raise ValueError(f'{path} should be a mapping, it is a {type(table).__name__}')
    return table


def member(path, table, key, kind, default=None):
    """Value of `key` if it has the type `kind`; `default` if absent or null; else ValueError."""
    value = table.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f'{path}: {key} should be a {kind.__name__}, it is {str(value)[:60]!r}')
    return value
