"""Newest message of each stream, its age, and whether the streams belong together."""
import numpy as np

from oxygen_ros.convert.instruction import Instruction
from oxygen_ros.inputs import Inputs, Stream

S = 10**9
NOW = 1000 * S


def two_views():
    inputs = Inputs({'a': Stream('a', '/a'), 'b': Stream('b', '/b')}, Stream('joints', '/j'))
    inputs.instruction = Instruction('go', 1, NOW)
    return inputs


def fill(inputs, now_ns=NOW, a=0.0, b=0.0):
    inputs.views['a'].put(b'a', round(now_ns - a * S), now_ns)
    inputs.views['b'].put(b'b', round(now_ns - b * S), now_ns)
    inputs.joints.put(np.zeros(2), now_ns, now_ns, repeats=True)


def test_what_is_missing_is_named_with_its_topic():
    assert two_views().lateness(NOW, 0.5, 0.5) == ['no a yet on /a', 'no b yet on /b', 'no joints yet on /j']


def test_a_world_is_handed_out_once():
    inputs = two_views()
    fill(inputs)
    samples, joints, instruction = inputs.take()
    assert samples['a'].payload == b'a' and instruction.text == 'go'
    assert inputs.take() is None
    inputs.joints.put(np.ones(2), NOW + 1, NOW + 1)
    assert inputs.take() is None  # new joints alone are no new look
    inputs.views['b'].put(b'c', NOW + 2, NOW + 2)
    assert inputs.take()[0]['b'].payload == b'c'


def test_a_newer_message_replaces_an_older_one_that_nobody_took():
    inputs = two_views()
    fill(inputs)
    inputs.views['a'].put(b'newer', NOW + S, NOW + S)
    assert inputs.take()[0]['a'].payload == b'newer'
    assert inputs.views['a'].received == 2


def test_age_counts_on_the_stamp_and_on_the_arrival():
    inputs = two_views()
    fill(inputs, a=2.0)  # arrives now, was taken two seconds ago
    assert 'a on /a is 2.00 s old, the limit is 0.5 s' in inputs.lateness(NOW, 0.5, 0.5)
    fill(inputs, NOW + S)
    assert inputs.lateness(NOW + S, 0.5, 0.5) == []
    assert len(inputs.lateness(NOW + 2 * S, 0.5, 0.5)) == 3


def test_images_that_lie_apart_are_told():
    inputs = two_views()
    fill(inputs, a=0.3)
    assert inputs.spread(0.5) == ''
    assert 'images lie 0.300 s apart (a is behind b)' in inputs.spread(0.1)


def test_useless_stamps_are_replaced_by_the_arrival_and_counted():
    stream = Stream('a', '/a')
    for header_ns in (0, NOW + S, NOW - 3600 * S, -5):
        assert stream.put(b'', header_ns, NOW)
        assert stream.newest.stamp_ns == NOW
    assert stream.wrong_stamps == 4
    stream.put(b'', NOW + 50_000_000, NOW)  # a clock a little ahead: not in the future of this node
    assert stream.newest.stamp_ns == NOW and stream.wrong_stamps == 4
    receive = Stream('a', '/a', 'receive')
    receive.put(b'', NOW - S, NOW)
    assert receive.newest.stamp_ns == NOW


def test_the_same_stamp_again_is_not_news():
    stream = Stream('a', '/a')
    assert stream.put(b'1', NOW, NOW) and not stream.put(b'2', NOW, NOW + S)
    assert stream.newest.payload == b'1' and stream.repeated == 1
    assert stream.put(b'3', 0, NOW) and stream.put(b'4', 0, NOW)  # a driver that does not stamp at all
    assert stream.put(b'5', NOW, NOW, repeats=True) and stream.put(b'6', NOW, NOW, repeats=True)


def test_a_refusal_is_told_until_a_good_message_comes():
    inputs = two_views()
    inputs.views['a'].refuse('too small')
    assert inputs.refusals() == ['a on /a refused: too small'] and inputs.views['a'].refused == 1
    inputs.views['a'].accept()
    assert inputs.refusals() == []


def test_the_instruction_is_missing_empty_or_expired():
    inputs = two_views()
    fill(inputs)
    inputs.instruction = Instruction()
    assert inputs.lateness(NOW, 1, 1) == ['no instruction yet'] and inputs.take() is None
    inputs.instruction = Instruction('', 2, NOW)
    assert 'empty' in inputs.lateness(NOW, 1, 1)[0] and inputs.take() is None
    inputs.instruction = Instruction('go', 3, NOW - 9 * S)
    assert inputs.lateness(NOW, 1, 1) == []  # never expires unless asked
    assert 'not repeated for 5 s' in inputs.lateness(NOW, 1, 1, 5.0)[0]


def test_clear_forgets_all_but_the_instruction():
    inputs = two_views()
    fill(inputs)
    inputs.clear()
    assert len(inputs.lateness(NOW, 1, 1)) == 3 and inputs.instruction.text == 'go'
    fill(inputs)  # the same stamps again, after a bag began anew
    assert inputs.take() is not None
