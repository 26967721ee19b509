"""Record topics into an mcap bag from within any node: raw bytes, the publishers' QoS, definitions embedded."""
from collections import Counter
from pathlib import Path
import queue
import threading

from rclpy.clock import Clock, ClockType
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from oxygen_ros import __version__
from oxygen_ros.bag.definitions import define, message_class, standard_types
from oxygen_ros.bag.offered_qos import to_bag, to_subscribe

LOOK_S = 0.2
UNSEEN = ('/rosout', '/parameter_events')  # not recorded unless named


class Recorder:
    """
    Records `topics` of `node`'s graph into the folder `directory` until `close()`.

    `topics` are names as the node would write them (relative, `~/`, absolute); None is everything but rosout and
    parameter events. A topic is subscribed as soon as a publisher of it appears. Callbacks only queue: one thread
    compresses and writes, and what does not fit `queue_bytes` is dropped and counted in `dropped`. Times are those of
    the node's clock at receipt. `failure` is a sentence once writing has failed. Raises ValueError where the folder
    exists.
    """

    def __init__(self, node, directory, topics=None, *, compress=True, queue_bytes=256 * 2**20, custom_data=None):
        self.directory = Path(directory)
        if self.directory.exists():
            raise ValueError(f'{self.directory} exists already: give another folder for the recording')
        self.counts, self.dropped, self.refused, self.failure = Counter(), Counter(), {}, ''
        self._node = node
        self._wanted = None if topics is None else {node.resolve_topic_name(name) for name in topics}
        self._subscriptions = {}
        self._store = standard_types()
        self._writer = Writer(self.directory, version=9, storage_plugin=StoragePlugin.MCAP)
        if compress:
            self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        self._writer.set_custom_data('recorder', f'oxygen_ros {__version__}')
        for key, value in (custom_data or {}).items():
            self._writer.set_custom_data(key, value)
        self._writer.open()
        self._queue, self._queued, self._queue_bytes = queue.SimpleQueue(), 0, queue_bytes
        self._lock, self._file = threading.Lock(), threading.Lock()
        self._thread = threading.Thread(target=self._write, name='recorder', daemon=True)
        self._thread.start()
        # A steady timer: discovery goes on while simulated time stands still.
        self._timer = node.create_timer(LOOK_S, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.look()

    @property
    def missing(self):
        """Wanted topics that nobody publishes yet."""
        return sorted((self._wanted or set()) - set(self._subscriptions) - set(self.refused))

    def look(self):
        """Subscribe to wanted topics that have a publisher by now."""
        for name, types in self._node.get_topic_names_and_types():
            wanted = name not in UNSEEN if self._wanted is None else name in self._wanted
            if not wanted or name in self._subscriptions or name in self.refused:
                continue
            offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(name)]
            if not offered:
                continue
            try:
                if len(types) != 1:
                    raise LookupError(f'it carries several types: {", ".join(sorted(types))}')
                cls = message_class(types[0])
                define(self._store, types[0])
                with self._file:
                    connection = self._writer.add_connection(
                        name, types[0], typestore=self._store, offered_qos_profiles=[to_bag(qos) for qos in offered])
            except LookupError as error:
                self.refused[name] = str(error)
                self._node.get_logger().warning(f'topic {name} is not recorded: {error}')
                continue
            self._subscriptions[name] = self._node.create_subscription(
                cls, name, lambda data, connection=connection: self._receive(connection, data),
                to_subscribe(offered), raw=True)

    def _receive(self, connection, data):
        now_ns = self._node.get_clock().now().nanoseconds
        with self._lock:
            # Simulated time is 0 until the first /clock; such a time would be made up.
            full = self._queued + len(data) > self._queue_bytes
            if full or not now_ns or self.failure:
                self.dropped[connection.topic] += 1
                return
            self._queued += len(data)
        self._queue.put((connection, now_ns, data))

    def _write(self):
        while (item := self._queue.get()) is not None:
            connection, now_ns, data = item
            if not self.failure:
                try:
                    with self._file:
                        self._writer.write(connection, now_ns, data)
                    self.counts[connection.topic] += 1
                except OSError as error:
                    self.failure = f'recording to {self.directory} failed: {error}'
            with self._lock:
                self._queued -= len(data)

    def close(self):
        """Write what is queued and the index; safe to call twice. Raises OSError where the disk refuses."""
        if self._thread is None:
            return
        self._node.destroy_timer(self._timer)
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._queue.put(None)
        self._thread.join()
        self._thread = None
        if self.failure:
            self._writer.abort()
            raise OSError(self.failure)
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
