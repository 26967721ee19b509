"""Write a bag from messages made by hand, without ROS: for tools and tests."""
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from oxygen_ros.bag.definitions import define, standard_types


class BagWriter:
    """
    A new bag in the folder `path`, closed at the end of a `with` block.

    `storage` is mcap or sqlite3, `compression` None, message, file or storage (mcap chunks). Times are ns.
    """

    def __init__(self, path, storage='mcap', compression=None):
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
        if compression:
            self._writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
        self._store, self._connections = standard_types(), {}

    def make(self, type_name, /, **fields):
        """Message of `package/msg/Name` with the given fields; every other field is zero, empty or false."""
        define(self._store, type_name)
        for name, (node, detail) in self._store.fielddefs[type_name][1]:
            if name not in fields:
                if node.name == 'NAME':
                    fields[name] = self.make(detail)
                elif node.name == 'BASE':
                    fields[name] = {'string': '', 'bool': False}.get(detail[0], 0)
                else:
                    fields[name] = []
        return self._store.types[type_name](**fields)

    def header(self, time_ns, frame_id=''):
        """std_msgs/Header with a stamp."""
        stamp = self.make('builtin_interfaces/msg/Time', sec=time_ns // 10**9, nanosec=time_ns % 10**9)
        return self.make('std_msgs/msg/Header', stamp=stamp, frame_id=frame_id)

    def put(self, topic, time_ns, message, qos=()):
        """Write one message, made by `make`, as recorded at `time_ns`; `qos` counts at a topic's first message."""
        type_name = message.__msgtype__
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(
                topic, type_name, typestore=self._store, offered_qos_profiles=qos)
        self._writer.write(self._connections[topic], time_ns, self._store.serialize_cdr(message, type_name))

    def __enter__(self):
        self._writer.open()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._writer.close()
        else:
            self._writer.abort()
