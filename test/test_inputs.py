"""Newest message of each stream, its age, and whether the streams belong together."""
from types import SimpleNamespace

import numpy as np

from oxygen_ros.convert.instruction import Instruction
from oxygen_ros.convert.joints import JointMerger
from oxygen_ros.inputs import Inputs, JointStream, Stream

S = 10**9
NOW = 1000 * S


def two_views():
    inputs = Inputs({'a': Stream('a', '/a'), 'b': Stream('b', '/b')}, Stream('joints', '/j'))
    inputs.instruction = Instruction('go', 1, NOW)
    return inputs


def fill(inputs, now_ns=NOW, a=0.0, b=0.0):
    inputs.views['a'].put(b'a', round(now_ns - a * S), now_ns)
    inputs.views['b'].put(b'b', round(now_ns - b * S), now_ns)
    inputs.joints.put(np.zeros(2), now_ns, now_ns)


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


def test_a_stamp_that_ages_never_becomes_fresh_again():
    """A camera whose lag grows from nothing to half a minute, and then shrinks again."""
    stream, late = Stream('a', '/a'), []
    for step in range(600):
        lag_ns = min(step, 600 - step) * S // 10
        now_ns = NOW + step * S // 5
        assert stream.put(b'', now_ns - lag_ns, now_ns)
        late.append(bool(stream.lateness(now_ns, 0.5)))
        assert late[-1] == (lag_ns > S // 2)
    assert sum(late) > 580 and stream.counted('wrong_stamps') == 0 and not stream.clock_warning()


def test_a_message_that_is_repeated_ages_for_ever():
    stream, joints = Stream('a', '/a'), joint_stream()
    for step in range(3000):
        now_ns = NOW + step * S // 100
        assert stream.put(b'1', NOW, now_ns) == (step == 0)
        joints.put(joint_state(NOW), now_ns)
        for one in (stream, joints):
            assert bool(one.lateness(now_ns, 0.5)) == (step > 50), step
    assert stream.counted('repeated') == joints.counted('repeated') == 2999


def test_a_stream_by_arrival_is_told_with_the_distance():
    stream = Stream('a', '/a')
    for step in range(3):
        stream.put(b'', NOW - 7200 * S + step * S // 30, NOW + step * S // 30)
    assert stream.clock_warning() == (
        'a on /a is stamped by a clock 7200.00 s behind this one: the time of arrival counts; set the clocks right or '
        'stamp_source: receive')
    stream.put(b'', 0, NOW + S)
    assert stream.clock_warning() == 'a on /a is not stamped: the time of arrival counts'
    assert stream.counted('changes') == 1


def test_one_old_message_from_the_start_is_none():
    stream, joints = Stream('a', '/a'), joint_stream()
    for step in range(100):
        assert not stream.put(b'', NOW - 3600 * S, NOW + step * S // 30)
        assert not joints.put(joint_state(NOW - 3600 * S), NOW + step * S // 30)
    assert stream.lateness(NOW, 0.5) == ('no a yet on /a: what comes is stamped 3600.00 s behind this clock, and the '
                                         'stamps stand still')
    assert 'no state yet of arm, gripper on /j: what comes is stamped 3600.00 s behind' in joints.problem


def test_pictures_without_a_stamp_that_are_equal_for_long_are_a_warning_only():
    stream = Stream('a', '/a')
    for step in range(50):
        now_ns = NOW + step * S // 3
        assert stream.put(b'picture', 0, now_ns) and not stream.lateness(now_ns, 0.5)
        assert ('to the last byte' in stream.clock_warning()) == (step > 30)
    stream.put(b'another', 0, NOW + 20 * S)
    assert stream.clock_warning() == 'a on /a is not stamped: the time of arrival counts'


def joint_stream():
    return JointStream('joints', '/j', JointMerger(('arm', 'gripper')))


def joint_state(stamp_ns, names=('arm', 'gripper')):
    sec, nanosec = divmod(stamp_ns, S)
    return SimpleNamespace(header=SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec)), name=names,
                           position=[0.0] * len(names))


def test_the_joint_that_is_late_is_named_and_its_driver_alone_is_judged():
    joints = joint_stream()
    for step in range(101):
        now_ns = NOW + step * S // 50
        joints.put(joint_state(now_ns, ['arm']), now_ns)
        joints.put(joint_state(0 if step < 50 else NOW, ['gripper']), now_ns)  # a gripper that does not stamp, then
    assert joints.lateness(now_ns, 0.5) == 'gripper of joints on /j is 2.00 s old, the limit is 0.5 s'
    assert joints.clock_warning() == ''
    joints.put(joint_state(0, ['gripper']), now_ns)
    assert joints.lateness(now_ns, 0.5) == ''
    assert joints.clock_warning() == 'gripper of joints on /j is not stamped: the time of arrival counts'
    assert 'joints on /j is 3.00 s old' in joints.lateness(now_ns + 3 * S, 0.5)  # all of them: nobody is named


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
    joints = joint_stream()
    joints.put(joint_state(NOW), NOW)
    joints.clear()
    assert joints.lateness(NOW, 1) == 'no joints yet on /j' and joints.put(joint_state(NOW), NOW)
