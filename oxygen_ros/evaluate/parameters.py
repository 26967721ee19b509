"""The node's parameters from its YAML file, for a run without a node."""
from pathlib import Path

import yaml

from oxygen_ros.params import rows, TABLE

MAX_FILE_BYTES = 1 << 20
NAMES = ('oxygen', '*', '**')


def flat(table, prefix=''):
    """{'a.b': value} of nested mappings, as ROS 2 names parameters."""
    found = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found.update(flat(value, f'{prefix}{name}.'))
        else:
            found[f'{prefix}{name}'] = value
    return found


def sections(table):
    """Parameter mappings of a ROS 2 YAML file that are meant for the node `oxygen`, in the file's order."""
    for name, value in table.items():
        if not isinstance(value, dict):
            continue
        if 'ros__parameters' in value:
            if str(name).rpartition('/')[2] in NAMES:
                yield value['ros__parameters'] or {}
        else:
            yield from sections(value)


class FileParameters:
    """What `params.Parameters` is to the node: values by name, checked by the same table."""

    def __init__(self, path, overrides=None):
        path = Path(path)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f'{path} has {path.stat().st_size} bytes, too many for a parameter file')
        try:
            found = list(sections(yaml.safe_load(path.read_text(encoding='utf-8'))))
        except (yaml.YAMLError, UnicodeDecodeError, AttributeError, RecursionError) as error:
            raise ValueError(f'{path} is no ROS 2 parameter file: {" ".join(str(error).split())}') from None
        if not found:
            raise ValueError(f'{path} has no parameters for the node oxygen (a section oxygen: ros__parameters:)')
        self._values = {}
        for section in found:
            self._values.update(flat(section))
        self._values.update(overrides or {})
        self._rows = {row.name: row for row in TABLE}
        self._rows.update(rows(view=self['views'], task=self['language.tasks'], output=self['outputs']))
        unknown = [name for name in self._values if name not in self._rows and not name.startswith((
            'limits.', 'qos_overrides.', 'use_sim_time'))]
        if unknown:
            raise ValueError(f'{path}: parameter {", ".join(sorted(unknown))} is not known')

    def __getitem__(self, name):
        row = self._rows[name]
        if name == 'robot_description' or name.startswith('output.') and name.endswith('.controller'):
            return ''  # there is no other node to ask
        value = self._values.get(name, row.default)
        return None if value is None else row.check(value)

    def limits(self, joints):
        """Table {joint: {quantity: value}} of the limits that are set."""
        known = rows(joint=('default', *joints))
        table = {}
        for name in self._values:
            if name.startswith('limits.'):
                if name not in known:
                    raise ValueError(f'parameter {name} is not known; the joints are {", ".join(joints)}')
                joint, quantity = name.removeprefix('limits.').rsplit('.', 1)
                table.setdefault(joint, {})[quantity] = known[name].check(self._values[name])
        return table

    def require(self):
        """Nothing is put off here: what is wrong was said when it was read."""

    def plain(self):
        """All values, for telling two runs apart."""
        return dict(sorted(self._values.items()))
