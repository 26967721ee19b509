"""Which units an evaluation consists of, and where each one's result is kept."""
from dataclasses import dataclass, replace
import hashlib
import json
from pathlib import Path

from oxygen_ros import __version__
from oxygen_ros.bag.read import Bag
from oxygen_ros.evaluate.unit import described, Unit
from oxygen_ros.report import run_file

MAX_RESULT_BYTES = 1 << 28


@dataclass(frozen=True)
class Settings:
    """What an evaluation was asked for."""

    config: str
    modes: tuple[str, ...] = ('oxygen',)
    seed: int = 0
    delay_ms: float = 100.0
    part_s: float = 60.0
    threads: int = 1
    overrides: tuple = ()
    curves: bool = True

    def __post_init__(self):
        if not self.modes or len(set(self.modes)) != len(self.modes):
            raise ValueError(f'modes must be named, each once: {list(self.modes)}')
        if not 0 <= self.delay_ms <= 60_000:
            raise ValueError(f'--delay-ms must be 0 to 60000, got {self.delay_ms}')
        if not 1 <= self.part_s <= 86_400:
            raise ValueError(f'--part must be 1 to 86400 s, got {self.part_s}')


def units_of(bag_path, settings):
    """Units of one bag, all modes; BagError with a sentence where the bag is no good."""
    with Bag(bag_path) as bag:
        start_ns, end_ns = bag.start_ns, bag.end_ns + 1
    part_ns = round(settings.part_s * 1e9)
    count = max(1, -(-(end_ns - start_ns) // part_ns))
    whole = Unit(str(bag_path), settings.config, '', 0, start_ns, end_ns, start_ns, end_ns,
                 round(settings.delay_ms * 1e6), settings.seed, settings.threads, settings.overrides, settings.curves)
    return [replace(whole, mode=mode, part=part, start_ns=start_ns + part * part_ns,
                    stop_ns=min(start_ns + (part + 1) * part_ns, end_ns))
            for mode in settings.modes for part in range(count)]


def fingerprint(unit):
    """Hex digest of all that decides about a unit's result: settings, parameter file, the bag's files as they are."""
    path = Path(unit.bag)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    facts = [__version__, described(unit), unit.parameters().plain(),
             [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:24]


class Store:
    """Finished units in a folder, so that an interrupted evaluation goes on where it was; None keeps nothing."""

    def __init__(self, folder):
        self._folder = Path(folder) if folder else None
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)

    def _path(self, unit):
        return self._folder / f'{Path(unit.bag).stem}-{unit.mode}-{unit.part}-{fingerprint(unit)}.json'

    def load(self, unit):
        """(result, RunData or None), or None where the unit has not been run or its file is damaged."""
        if self._folder is None:
            return None
        path = self._path(unit)
        try:
            if path.stat().st_size > MAX_RESULT_BYTES:
                return None
            table = json.loads(path.read_text())
            return table['result'], run_file.from_plain(table['run']) if table['run'] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, unit, result, run):
        if self._folder is None:
            return
        path = self._path(unit)
        half = path.with_suffix('.part')
        half.write_text(json.dumps({'result': result, 'run': run_file.to_plain(run) if run else None}))
        half.replace(path)  # a file is whole or not there

    def clear(self, units):
        """Forget units whose figures have been written out: what is kept is for going on, not for the next time."""
        if self._folder is not None:
            for unit in units:
                self._path(unit).unlink(missing_ok=True)
            if not any(self._folder.iterdir()):
                self._folder.rmdir()
