"""Definitions made from message classes describe the same type as the .msg files."""
from pathlib import Path

import pytest
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from oxygen_ros.bag.definitions import define, message_class, standard_types, types_of_class

MESSAGES = Path(__file__).parents[2] / 'msg'


@pytest.mark.parametrize('name', [path.stem for path in sorted(MESSAGES.glob('*.msg'))])
def test_our_messages_have_the_type_hash_of_their_msg_files(name):
    from_class, from_file = standard_types(), standard_types()
    define(from_class, f'oxygen_ros/msg/{name}')
    from_file.register(get_types_from_msg((MESSAGES / f'{name}.msg').read_text(), f'oxygen_ros/msg/{name}'))
    assert from_class.hash_rihs01(f'oxygen_ros/msg/{name}') == from_file.hash_rihs01(f'oxygen_ros/msg/{name}')


@pytest.mark.parametrize('name', [
    'sensor_msgs/msg/CameraInfo', 'sensor_msgs/msg/Image', 'visualization_msgs/msg/MarkerArray',
    'diagnostic_msgs/msg/DiagnosticArray', 'trajectory_msgs/msg/JointTrajectory', 'std_msgs/msg/Float64MultiArray'])
def test_standard_messages_made_from_classes_have_the_standard_type_hash(name):
    store = get_typestore(Stores.EMPTY)
    store.register(types_of_class(name))
    assert store.hash_rihs01(name) == standard_types().hash_rihs01(name)


@pytest.mark.parametrize('name', ['nowhere_msgs/msg/A', 'std_msgs/msg/Nothing', 'os/system/x', 'std_msgs/String', ''])
def test_a_type_that_is_not_there_gets_a_sentence(name):
    with pytest.raises(LookupError, match='not installed here|not the name of a message type'):
        message_class(name)
