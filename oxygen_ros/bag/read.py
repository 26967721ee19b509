"""One reader for every rosbag2 bag: sqlite3 or mcap, split, compressed by message, file or chunk."""
from contextlib import ExitStack
from dataclasses import dataclass, field
import heapq
from pathlib import Path
import shutil
import tempfile

from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2 import storage_mcap
from rosbags.typesys import get_typestore, Stores
import yaml

from oxygen_ros.bag.definitions import define, standard_types, types_in_bag

try:
    from compression import zstd  # Python 3.14
except ImportError:
    from backports import zstd

MAX_MESSAGE_BYTES = 256 * 2**20
MAX_CHUNK_BYTES = 1024 * 2**20
MAX_METADATA_BYTES = 16 * 2**20
MAX_ELEMENTS = 2**28
SUFFIXES = {'.mcap': 'mcap', '.db3': 'sqlite3'}


class BagError(ValueError):
    """A bag that cannot be used, in one sentence."""


@dataclass
class Topic:
    """One topic of a bag; `qos` are the profiles its publishers offered (rosbags' `Qos`)."""

    name: str
    type: str
    count: int = 0
    qos: list = field(default_factory=list)


def bounded_zstd(data, limit, what):
    """Decompress, refusing to make more than `limit` bytes."""
    parts, size = [], 0
    while data:
        unpack = zstd.ZstdDecompressor()
        parts.append(unpack.decompress(data, max_length=limit - size + 1))
        size += len(parts[-1])
        if size > limit:
            raise BagError(f'{what} unpacks to more than {limit} bytes')
        if not unpack.eof:
            raise BagError(f'{what} ends before its compressed data does')
        data = unpack.unused_data
    return b''.join(parts)


def _chunk(data, size):
    if size > MAX_CHUNK_BYTES:
        raise BagError(f'a chunk claims {size} bytes, more than {MAX_CHUNK_BYTES}')
    return bounded_zstd(data, size, 'a chunk')


def _chunk_lz4(data, size):
    if size > MAX_CHUNK_BYTES:
        raise BagError(f'a chunk claims {size} bytes, more than {MAX_CHUNK_BYTES}')
    import lz4.frame
    unpack = lz4.frame.LZ4FrameDecompressor()
    out = unpack.decompress(data, max_length=size + 1)
    if len(out) > size or not unpack.eof:
        raise BagError(f'a chunk does not unpack to the {size} bytes it claims')
    return out


# The library unpacks without a limit; a chunk of some kilobytes could fill the memory.
storage_mcap.DECOMPRESSORS.update(zstd=_chunk, lz4=_chunk_lz4)


class Bag:
    """
    A bag opened for reading: a folder with metadata.yaml, or one .mcap or .db3 file.

    What is in it is taken from the storage files; metadata.yaml gives their order, the compression and a count to
    check against (a QoS entry that differs between the two makes other readers return nothing, silently). Messages
    stream; memory does not grow with the bag. Raises BagError with a sentence.
    """

    def __init__(self, path, required=()):
        """Open `path`; `required` names topics that must be there."""
        self.path = Path(path)
        self._stack = ExitStack()
        self._store = get_typestore(Stores.EMPTY)
        self._store.max_sequence_length = MAX_ELEMENTS
        self._known = None
        try:
            self._open(required)
        except BaseException:
            self._stack.close()
            raise

    def _open(self, required):
        files, self._compressed, counted = self._files()
        self._storages = []
        for file in files:
            reader = self._guard(file, lambda file=file: self._stack.enter_context(Reader(file)))
            self._storages.append((file, reader))
        self.topics = {}
        for file, reader in self._storages:
            for connection in reader.connections:
                topic = self.topics.setdefault(connection.topic, Topic(connection.topic, connection.msgtype))
                if topic.type != connection.msgtype:
                    raise BagError(f'bag {self.path}: topic {topic.name} carries two types, {topic.type} and '
                                   f'{connection.msgtype}; split the bag by type')
                topic.count += connection.msgcount
                topic.qos += [qos for qos in connection.ext.offered_qos_profiles if qos not in topic.qos]
        held = [reader for _, reader in self._storages if reader.message_count]
        self.count = sum(reader.message_count for reader in held)
        if counted is not None and self.count < counted:
            raise BagError(f'bag {self.path} is truncated: metadata.yaml counts {counted} messages, '
                           f'its files hold {self.count}; copy it again')
        if not self.count:
            raise BagError(f'bag {self.path} holds no messages'
                           + (f' (topics: {", ".join(sorted(self.topics))})' if self.topics else ''))
        self.start_ns = min(reader.start_time for reader in held)
        self.end_ns = max(reader.end_time for reader in held) - 1
        self.require(required)

    def _files(self):
        """Storage files in order, whether messages are compressed one by one, and the count of metadata.yaml."""
        path = self.path
        if path.is_file():
            if path.suffix not in SUFFIXES:
                raise BagError(f'{path} is not a rosbag2 bag: expected a folder, .mcap or .db3')
            return [path], False, None
        if not path.is_dir():
            raise BagError(f'bag {path} does not exist')
        metadata = path / 'metadata.yaml'
        if not metadata.is_file():
            there = sorted(file.name for file in path.iterdir() if file.suffix in SUFFIXES)
            if there:
                raise BagError(f'bag {path} has no metadata.yaml: the recording did not end properly; run `ros2 bag '
                               f'reindex` on it, or name a storage file itself: {", ".join(there)}')
            raise BagError(f'{path} is not a bag: it has neither metadata.yaml nor an .mcap or .db3 file')
        if metadata.stat().st_size > MAX_METADATA_BYTES:
            raise BagError(f'{metadata} has {metadata.stat().st_size} bytes, more than {MAX_METADATA_BYTES}')
        try:
            information = yaml.safe_load(metadata.read_text())['rosbag2_bagfile_information']
            names = [Path(name).name for name in information['relative_file_paths']]
            mode = (information.get('compression_mode') or 'none').lower()
            codec = information.get('compression_format') or ''
            count = int(information['message_count'])
        except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BagError(f'{metadata} cannot be read: {" ".join(str(error).split())}') from None
        if mode not in ('none', 'message', 'file'):
            raise BagError(f'bag {path} has compression mode {mode!r}; known are message and file')
        if mode != 'none' and codec != 'zstd':
            raise BagError(f'bag {path} is compressed with {codec!r}; only zstd is known')
        files = [path / name for name in names]
        if missing := [file.name for file in files if not file.is_file()]:
            raise BagError(f'bag {path} lacks files that its metadata.yaml names: {", ".join(missing)}')
        if mode == 'file':
            files = self._unpacked(files)
        return files, mode == 'message', count

    def _unpacked(self, files):
        """Copies of compressed files in a folder that goes away with the bag."""
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix='oxygen_bag_')))
        room = shutil.disk_usage(folder).free // 2
        copies = []
        for file in files:
            copies.append(folder / file.stem)
            try:
                with zstd.open(file, 'rb') as source, copies[-1].open('wb') as target:
                    while block := source.read(2**20):
                        room -= len(block)
                        if room < 0:
                            raise BagError(f'{file} does not fit unpacked into half of the free space of {folder}')
                        target.write(block)
            except (zstd.ZstdError, EOFError) as error:
                raise BagError(f'{file} is truncated or not zstd: {error}') from None
        return copies

    def _guard(self, file, call):
        """Run a call into the parser; whatever a broken file makes it raise becomes one sentence."""
        wal = Path(f'{file}-wal')
        if wal.is_file() and wal.stat().st_size:
            raise BagError(f'{file} was not closed (there is {wal.name}): open it once with sqlite3 to merge the two')
        try:
            return call()
        except (BagError, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:  # an untrusted file makes the parser fail in any way (struct, key, memory, sqlite)
            text = ' '.join(str(error).split()) or type(error).__name__
            short = ('end magic', 'Truncated', 'expected a character', 'footer', 'malformed', 'requires a buffer')
            if any(mark in text for mark in short) or isinstance(error, (OSError, IndexError)):
                raise BagError(f'{file} is truncated ({text}): the recording was cut off; '
                               f'`mcap recover` may save the part that is there') from None
            raise BagError(f'{file} cannot be read: {text}') from None

    def require(self, names):
        """Raise BagError where a topic is missing or empty, naming those present."""
        if missing := [name for name in names if name not in self.topics or not self.topics[name].count]:
            there = ', '.join(f'{topic.name} ({topic.count})' for _, topic in sorted(self.topics.items()))
            raise BagError(f'bag {self.path} has no messages on {", ".join(missing)}; it has: {there}')

    def messages(self, topics=None, start_ns=None, stop_ns=None):
        """
        Yield (topic name, time of recording in ns, CDR bytes) in order of time, `start_ns <= time < stop_ns`.

        `topics` picks by name, None is all.
        """
        def stream(file, reader):
            yield reader.start_time, None, None  # so that a file of a split bag is not read before its turn
            wanted = [c for c in reader.connections if topics is None or c.topic in topics]
            if not wanted:
                return
            source = reader.messages(wanted, start_ns, stop_ns)
            while (item := self._guard(file, lambda: next(source, None))) is not None:
                connection, time_ns, data = item
                if self._compressed:
                    data = self._guard(file, lambda: bounded_zstd(
                        data, MAX_MESSAGE_BYTES, f'a message of {connection.topic}'))
                yield time_ns, connection.topic, data

        held = [(file, reader) for file, reader in self._storages if reader.message_count]
        for time_ns, name, data in heapq.merge(*(stream(*one) for one in held), key=lambda item: item[0]):
            if name is not None:
                yield name, time_ns, data

    def decode(self, topic, data):
        """Message object of CDR bytes of `topic`; BagError where the type is unknown or the bytes do not fit it."""
        type_name = self.topics[topic].type
        if type_name not in self._store.types:
            self._learn(type_name)
        try:
            return self._store.deserialize_cdr(data, type_name)
        except Exception as error:  # see _guard
            raise BagError(f'bag {self.path}: a message of {topic} ({len(data)} bytes) is not a {type_name}: '
                           f'{" ".join(str(error).split()) or type(error).__name__}') from None

    def _learn(self, type_name):
        types = {}
        try:
            for _, reader in self._storages:
                for connection in reader.connections:
                    if connection.msgtype == type_name and not types:
                        types = types_in_bag(type_name, connection.msgdef)
            if not types:
                if self._known is None:
                    self._known = standard_types()
                define(self._known, type_name)
                types = self._known.fielddefs
            self._store.register({name: fields for name, fields in types.items() if name not in self._store.fielddefs})
        except Exception as error:  # the definition is a stranger's text too
            raise BagError(f'bag {self.path}: type {type_name} is unknown: the bag holds no usable definition of it '
                           f'({" ".join(str(error).split())})') from None

    def close(self):
        self._stack.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


__all__ = ['Bag', 'BagError', 'ReaderError', 'Topic']
