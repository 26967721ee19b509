"""Message definitions: what a recorded bag must embed, and what an old bag lacks."""
import importlib
import re

from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores

TYPE_NAME = re.compile(r'[a-z][a-z0-9_]*/(msg|srv|action)/[A-Za-z][A-Za-z0-9_]*')
FIELD = re.compile(r'(sequence<)?([A-Za-z0-9_/]+)(<\d+>)?(?:, (\d+)>|>)?(?:\[(\d+)\])?')
BASE = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
IDL_SEPARATOR = '=' * 80 + '\n'


def message_class(type_name):
    """Python class of `package/msg/Name`; LookupError with a sentence where it is not installed here."""
    if not TYPE_NAME.fullmatch(type_name):
        raise LookupError(f'{type_name!r} is not the name of a message type')
    package, kind, name = type_name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError):
        raise LookupError(f'message type {type_name} is not installed here: '
                          f'build or install package {package}') from None


def fields_as_definition(cls):
    """
    Lines of a .msg definition made from the fields of a generated message class.

    Constants and defaults are not among the fields; the type hash (REP 2016) covers neither, so it is the same.
    """
    lines, parts = [], set()
    for field, text in cls.get_fields_and_field_types().items():
        match = FIELD.fullmatch(text)
        if not match:
            raise LookupError(f'field {field} of {cls.__name__} has the type {text!r}, which cannot be recorded')
        sequence, base, string_bound, bound, length = match.groups()
        suffix = f'[<={bound}]' if bound else '[]' if sequence else f'[{length}]' if length else ''
        if '/' in base:
            parts.add('{}/msg/{}'.format(*base.split('/')))
        string = string_bound.replace('<', '<=').rstrip('>') if string_bound else ''
        lines.append(f'{BASE.get(base, base)}{string}{suffix} {field}')
    return '\n'.join(lines) + '\n', parts


def types_of_class(type_name):
    """Field definitions of a type that is installed here and of all types within it, as `rosbags` wants them."""
    types, todo = {}, [type_name]
    while todo:
        name = todo.pop()
        if name not in types:
            text, parts = fields_as_definition(message_class(name))
            types.update(get_types_from_msg(text, name))
            todo += sorted(parts)
    return types


def standard_types():
    """Store of the standard messages; `define` adds to it."""
    return get_typestore(Stores.ROS2_KILTED)


def define(store, type_name):
    """Make `store` know a type that is installed here; LookupError with a sentence where it is not."""
    if type_name not in store.fielddefs:
        store.register({name: fields for name, fields in types_of_class(type_name).items()
                        if name not in store.fielddefs})


def types_in_bag(type_name, definition):
    """
    Field definitions that a bag embeds for one type, {} where it embeds none.

    The text comes from a stranger and `rosbags` turns it into Python code. Its grammar lets only identifiers, numbers
    and quoted constants through; the name of the type is checked here.
    """
    if not TYPE_NAME.fullmatch(type_name):
        raise LookupError(f'{type_name!r} is not the name of a message type')
    if definition.format.name == 'MSG':
        return get_types_from_msg(definition.data, type_name)
    if definition.format.name == 'IDL':
        types, text = {}, definition.data
        # rosbag2 joins the files of several types, each under a line that names it.
        for part in text.split(IDL_SEPARATOR)[1:] if text.startswith(IDL_SEPARATOR) else [f'\n{text}']:
            types.update(get_types_from_idl(part.partition('\n')[2]))
        return types
    return {}
