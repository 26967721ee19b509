"""Bytes that are no message end in an exception, whatever they are; a wrong padding count must not end the process."""
import pytest

messages = pytest.importorskip('sensor_msgs.msg')
from oxygen_ros.messages import deserialise  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402


@pytest.mark.parametrize('data', [b'', b'\0', b'\0\1\0', b'\0\1\x40\xff', b'\0\1\0\3', b'\0\1\0\0', b'\xff' * 64])
def test_bytes_that_are_no_message_are_refused(data):
    for kind in (messages.JointState, messages.Image):
        for _ in range(100):
            with pytest.raises(Exception):
                deserialise(data, kind)


@pytest.mark.parametrize('representation', [b'\0\3', b'\0\7', b'\1\0'])
def test_another_representation_is_refused_by_name(representation):
    data = representation + serialize_message(messages.JointState())[2:]
    with pytest.raises(ValueError, match=f'representation {representation.hex()}'):
        deserialise(data, messages.JointState)


def test_padding_that_another_middleware_announces_is_accepted():
    data = serialize_message(messages.JointState(name=['a'], position=[1.0]))
    padded = data[:2] + b'\0\1' + data[4:] + b'\0'
    assert list(deserialise(padded, messages.JointState).name) == ['a']
    assert list(deserialise(bytes(data), messages.JointState).position) == [1.0]
