"""
Let LeRobot 0.6.1 be imported on Python 3.11 with a CPU torch; import this before it.

LeRobot uses the type-parameter syntax of Python 3.12 in three files on the way to pi0.5; they are rewritten while they
are imported. The torchvision wheel is built for CUDA and cannot be loaded beside a CPU torch; pi0.5 does not use it.
"""

import importlib.machinery
import importlib.util
import re
import sys
import types

REWRITTEN = ('lerobot.processor.pipeline', 'lerobot.motors.motors_bus', 'lerobot.utils.io_utils')
TORCHVISION = ('torchvision', 'torchvision.io', 'torchvision.ops', 'torchvision.ops.misc', 'torchvision.models',
               'torchvision.models._utils', 'torchvision.transforms', 'torchvision.transforms.v2',
               'torchvision.transforms.functional', 'torchvision.transforms.v2.functional')


def downgrade(source):
    """Source text with PEP 695 classes, functions and aliases in the syntax of Python 3.11."""
    names = set()

    def parameters(text):
        found = [part.split(':')[0].strip() for part in text.split(',')]
        names.update(found)
        return found

    def to_class(match):
        bases = ', '.join(b for b in (match[3] or '', f'_Generic[{", ".join(parameters(match[2]))}]') if b)
        return f'class {match[1]}({bases}):'

    def to_function(match):
        parameters(match[2])
        return f'def {match[1]}('

    source = re.sub(r'^class (\w+)\[([^\]]+)\](?:\(([^)]*)\))?:', to_class, source, flags=re.M)
    source = re.sub(r'^def (\w+)\[([^\]]+)\]\(', to_function, source, flags=re.M)
    source = re.sub(r'^type (\w+) = ', r'\1 = ', source, flags=re.M)
    head = 'from typing import Generic as _Generic, TypeVar as _TypeVar\n'
    head += ''.join(f'{name} = _TypeVar({name!r})\n' for name in sorted(names))
    futures = list(re.finditer(r'^from __future__ import .*\n', source, flags=re.M))
    at = futures[-1].end() if futures else 0
    return source[:at] + head + source[at:]


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles the rewritten source and leaves no cache."""

    def source_to_code(self, data, path, *, _optimize=-1):
        return compile(downgrade(bytes(data).decode()), path, 'exec', dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


class Finder:
    """Finds the rewritten modules; all others are left to Python."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in REWRITTEN:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = Loader(name, spec.origin)
        return spec


class Anything(types.ModuleType):
    """A module that has any attribute, as an empty class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in_for_torchvision():
    if importlib.util.find_spec('torchvision') is not None:
        return
    import transformers.utils
    transformers.utils.is_torchvision_available()  # cached, so transformers goes on without it
    if hasattr(transformers.utils, 'is_torchvision_v2_available'):
        transformers.utils.is_torchvision_v2_available()
    for name in TORCHVISION:
        module = Anything(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module
        parent, _, leaf = name.rpartition('.')
        if parent:
            setattr(sys.modules[parent], leaf, module)


if sys.version_info < (3, 12):
    sys.meta_path.insert(0, Finder)
    stand_in_for_torchvision()
