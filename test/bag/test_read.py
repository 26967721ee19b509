"""The reader: every storage and compression gives the same messages; every bad bag gives one sentence."""
import struct
import tracemalloc

import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from oxygen_ros.bag.read import Bag, BagError, bounded_zstd, zstd

KINDS = [('sqlite3', None), ('sqlite3', 'message'), ('sqlite3', 'file'), ('mcap', None), ('mcap', 'message'),
         ('mcap', 'file'), ('mcap', 'storage')]


def everything(path):
    with Bag(path) as bag:
        return [(name, at, bytes(data)) for name, at, data in bag.messages()]


@pytest.mark.parametrize('storage, compression', KINDS)
def test_every_storage_and_compression_gives_the_messages_that_were_written(tmp_path, bag_maker, storage, compression):
    path = bag_maker.write(tmp_path / 'bag', storage, compression)
    expected = [(topic, at, bytes(bag_maker.store.serialize_cdr(message, message.__msgtype__)))
                for at, topic, message in bag_maker.events(10)]
    assert everything(path) == expected
    with Bag(path) as bag:
        assert bag.topics[bag_maker.camera].count == 10 and bag.count == len(expected)
        assert (bag.start_ns, bag.end_ns) == (expected[0][1], expected[-1][1])
        assert bag.topics[bag_maker.camera].qos[0].reliability.name == 'BEST_EFFORT'
        assert bag.topics[bag_maker.instruction].qos[0].durability.name == 'TRANSIENT_LOCAL'


def test_messages_are_decoded_custom_ones_by_the_definition_in_the_bag(tmp_path, bag_maker):
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        decoded = {name: bag.decode(name, data) for name, _, data in bag.messages()}
    assert decoded[bag_maker.tokens].text == 'tök' and decoded[bag_maker.tokens].token_id == 108
    assert decoded[bag_maker.camera].data.reshape(12, 16, 3)[3, 4].tolist() == [9, 9, 9]
    assert decoded[bag_maker.instruction].data == 'pick up the cube'


def test_topics_and_times_select(tmp_path, bag_maker):
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        begin = bag_maker.t0_ns + 3 * 10**8
        picked = list(bag.messages({bag_maker.camera}, begin, begin + 2 * 10**8))
        assert [at - bag_maker.t0_ns - 10 for _, at, _ in picked] == [3 * 10**8, 4 * 10**8]


def test_a_qos_entry_that_differs_between_metadata_and_storage_loses_nothing(tmp_path, bag_maker):
    path = bag_maker.write(tmp_path / 'bag')
    metadata = path / 'metadata.yaml'
    text = metadata.read_text()
    metadata.write_text(text.replace('reliability: best_effort', 'reliability: reliable'))
    assert metadata.read_text() != text
    assert sum(name == bag_maker.camera for name, _, _ in everything(path)) == 10


def test_a_split_bag_reads_as_one_in_order(tmp_path, bag_maker):
    whole = bag_maker.write(tmp_path / 'a')
    late = BagShift(bag_maker, tmp_path / 'b')
    folder = tmp_path / 'split'
    folder.mkdir()
    (folder / 'split_1.mcap').write_bytes((whole / 'a.mcap').read_bytes())
    (folder / 'split_0.mcap').write_bytes((late / 'b.mcap').read_bytes())
    text = (whole / 'metadata.yaml').read_text()
    (folder / 'metadata.yaml').write_text(text.replace('- a.mcap', '- split_0.mcap\n  - split_1.mcap'))
    times = [at for _, at, _ in everything(folder)]
    assert times == sorted(times) and len(times) == len(everything(whole)) + 5


def BagShift(bag_maker, path):
    """A second file of a split bag: five instructions after the first file's begin."""
    message = bag_maker.store.types['std_msgs/msg/String'](data='later')
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(bag_maker.instruction, message.__msgtype__, typestore=bag_maker.store)
        for i in range(5):
            writer.write(connection, bag_maker.t0_ns + i * 10**8 + 7,
                         bag_maker.store.serialize_cdr(message, message.__msgtype__))
    return path


def test_a_missing_topic_is_named_beside_those_present(tmp_path, bag_maker):
    path = bag_maker.write(tmp_path / 'bag')
    with pytest.raises(BagError, match=r'no messages on /wrist/image_raw; it has: .*/joint_states \(50\)'):
        Bag(path, required=[bag_maker.camera, '/wrist/image_raw'])


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_bag_without_messages_says_so(tmp_path, storage, bag_maker):
    with pytest.raises(BagError, match='holds no messages'):
        Bag(bag_maker.write(tmp_path / 'bag', storage, topics=()))


@pytest.mark.parametrize('storage, suffix', [('mcap', 'mcap'), ('sqlite3', 'db3')])
@pytest.mark.parametrize('part', [0.0, 0.3, 0.7, 0.95])
def test_a_truncated_file_says_so_and_never_reads_as_whole(tmp_path, bag_maker, storage, suffix, part):
    path = bag_maker.write(tmp_path / 'bag', storage, frames=200)
    file = path / f'bag.{suffix}'
    file.write_bytes(file.read_bytes()[:int(file.stat().st_size * part)])
    with pytest.raises(BagError, match=f'bag.{suffix} (is truncated|cannot be read)|truncated: metadata'):
        everything(path)


def test_fewer_messages_than_metadata_counts_is_truncation(tmp_path, bag_maker):
    path = bag_maker.write(tmp_path / 'bag')
    metadata = path / 'metadata.yaml'
    count = len(everything(path))
    metadata.write_text(metadata.read_text().replace(f'message_count: {count}', f'message_count: {count + 400}'))
    with pytest.raises(BagError, match=f'metadata.yaml counts {count + 400} messages, its files hold {count}'):
        Bag(path)


def test_a_folder_without_metadata_names_its_files(tmp_path, bag_maker):
    path = bag_maker.write(tmp_path / 'bag')
    (path / 'metadata.yaml').unlink()
    with pytest.raises(BagError, match='no metadata.yaml.*bag.mcap'):
        Bag(path)
    assert len(everything(path / 'bag.mcap')) == 116


@pytest.mark.parametrize('make, sentence', [
    (lambda path: None, 'does not exist'),
    (lambda path: path.mkdir(), 'neither metadata.yaml nor'),
    (lambda path: path.write_text('text'), 'not a rosbag2 bag'),
    (lambda path: (path.mkdir(), (path / 'metadata.yaml').write_text('a: [')), 'cannot be read'),
    (lambda path: (path.mkdir(), (path / 'metadata.yaml').write_text('!!python/object/apply:os.getcwd []')),
     'cannot be read'),
])
def test_what_is_no_bag_gets_a_sentence(tmp_path, make, sentence):
    make(tmp_path / 'bag')
    with pytest.raises(BagError, match=sentence):
        Bag(tmp_path / 'bag')


def test_a_type_without_a_definition_is_named(tmp_path):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection('/x', 'stranger_msgs/msg/Thing', msgdef='uint8 a\n', rihs01='RIHS01_0')
        writer.write(connection, 5, b'\0\1\0\0\7')
    import sqlite3
    with sqlite3.connect(tmp_path / 'bag' / 'bag.db3') as database:
        database.execute('DELETE FROM message_definitions')
    with Bag(tmp_path / 'bag') as bag:
        (name, _, data), = bag.messages()
        with pytest.raises(BagError, match='type stranger_msgs/msg/Thing is unknown.*stranger_msgs'):
            bag.decode(name, data)


def test_a_type_name_with_code_in_it_is_refused(tmp_path):
    evil = 'a/msg/B:\n    import os\nclass a__msg__C'
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/x', evil, msgdef='uint8 a\n', rihs01='RIHS01_0')
        writer.write(connection, 5, b'\0\1\0\0\7')
    with Bag(tmp_path / 'bag') as bag:
        (name, _, data), = bag.messages()
        with pytest.raises(BagError, match='not the name of a message type'):
            bag.decode(name, data)


def test_bytes_that_do_not_fit_the_type_are_refused_without_allocating_what_they_claim(tmp_path, bag_maker):
    huge = b'\0\1\0\0' + struct.pack('<I', 2**31) + b'abc'
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/x', 'std_msgs/msg/String', typestore=bag_maker.store)
        writer.write(connection, 5, huge)
    with Bag(tmp_path / 'bag') as bag:
        (name, _, data), = bag.messages()
        with pytest.raises(BagError, match=r'a message of /x \(11 bytes\) is not a std_msgs/msg/String'):
            bag.decode(name, data)


def test_compressed_data_cannot_unpack_beyond_its_bound():
    bomb = zstd.compress(bytes(50 * 2**20))
    tracemalloc.start()
    with pytest.raises(BagError, match='unpacks to more than 1048576 bytes'):
        bounded_zstd(bomb, 2**20, 'a message')
    assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    tracemalloc.stop()


def test_a_chunk_that_unpacks_to_more_than_it_claims_is_refused(tmp_path, bag_maker):
    path = bag_maker.write(tmp_path / 'bag', compression='storage')
    file = path / 'bag.mcap'
    raw = bytearray(file.read_bytes())
    from rosbags.rosbag2 import Reader
    with Reader(file) as reader:
        chunk = reader.storage.chunks[0]
        size = chunk.uncompressed_size
    # The claimed size is written in the chunk and in its index.
    field = struct.pack('<Q', size)
    assert raw.count(field) >= 2
    file.write_bytes(raw.replace(field, struct.pack('<Q', size // 2)))
    with pytest.raises(BagError, match=f'unpacks to more than {size // 2} bytes'):
        everything(path)
