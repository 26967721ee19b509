"""What the node does with the messages it gets: nothing is invented, nothing bad gets through, nothing is lost."""
import time

import numpy as np
import pytest
from std_msgs.msg import String

from oxygen_ros.sim.joints import JOINTS, START
from rig import joint_state, picture, Rig


@pytest.fixture
def rig():
    rig = Rig()
    yield rig
    rig.close()


def test_nothing_is_commanded_until_every_input_is_there(rig):
    rig.start()
    for words in ('no base_0_rgb yet', 'no joint_states yet', 'no instruction yet'):
        assert words in rig.status.detail
    rig.sources.append(rig.send_picture)
    rig.until(lambda: 'base_0_rgb' not in rig.status.detail, 'the picture arrived')
    rig.sources.append(rig.send_joints)
    rig.until(lambda: rig.status.detail.startswith('no instruction yet'), 'the joints arrived')
    assert rig.status.frames == 0 and not rig.commands and not rig.chunks
    rig.instruction.publish(String(data='stack the blocks'))
    rig.until_running()
    np.testing.assert_allclose(rig.commands[0], START, atol=1e-9)
    assert rig.status.prefills == rig.status.frames > 0
    assert rig.chunks[-1].instruction_id == rig.status.instruction_id == 1
    assert list(rig.chunks[-1].joint_names) == list(JOINTS)


def test_the_first_command_starts_at_the_measured_position(rig):
    rig.positions = START + 0.1
    rig.positions[6] = rig.positions[13] = 0.04
    rig.run()
    np.testing.assert_allclose(rig.commands[0], rig.positions, atol=1e-9)


def test_a_chunk_carries_the_stamp_of_its_picture(rig):
    rig.start()
    sent = []

    def camera():
        sent.append(time.time_ns())
        rig.camera.publish(picture(stamp_ns=sent[-1]))
    rig.sources += [camera, rig.send_joints]
    rig.instruction.publish(String(data='go'))
    rig.until(lambda: rig.chunks, 'a chunk')
    stamp = rig.chunks[0].header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec in sent


@pytest.mark.parametrize('bad, words', [
    (lambda: picture(encoding='32FC1'), 'depth'),
    (lambda: picture(encoding='no such thing'), 'encoding'),
    (lambda: picture(size=100), '100 bytes'),
    (lambda: picture(width=0, height=0), '0x0')])
def test_a_bad_picture_is_refused_with_a_sentence_and_good_ones_go_on(rig, bad, words):
    rig.run()
    rig.sources.remove(rig.send_picture)
    rig.sources.append(lambda: rig.camera.publish(bad()))
    rig.until(lambda: words in rig.status.detail and 'refused' in rig.status.detail, 'the refusal is told')
    assert rig.status.inputs_refused > 0
    rig.sources.pop()
    rig.sources.append(rig.send_picture)
    rig.until(lambda: rig.status.state == 'running' and not rig.status.detail, 'running again')


@pytest.mark.parametrize('bad, words', [
    (lambda: joint_state(np.where(np.arange(14) == 3, np.nan, START)), 'left_forearm_roll'),
    (lambda: joint_state(START[:5]), '14 names but 5 positions'),
    (lambda: joint_state(START, JOINTS[:13] + JOINTS[:1]), 'twice')])
def test_bad_joint_states_are_refused_with_a_sentence(rig, bad, words):
    rig.run()
    rig.sources.remove(rig.send_joints)
    rig.sources.append(lambda: rig.joints.publish(bad()))
    rig.until(lambda: words in rig.status.detail, 'the refusal is told')
    rig.until(lambda: rig.status.state == 'waiting', 'holds, then falls silent')
    rig.sources.pop()
    rig.sources.append(rig.send_joints)
    rig.until_running()


def test_joints_that_nobody_publishes_are_named(rig):
    rig.start()
    rig.sources += [rig.send_picture, lambda: rig.joints.publish(joint_state(START[:13], JOINTS[:13]))]
    rig.instruction.publish(String(data='go'))
    rig.until(lambda: 'no state yet of right_gripper' in rig.status.detail, 'the missing joint is named')
    assert not rig.commands


def test_joint_states_in_parts_and_in_any_order_make_a_whole(rig):
    order = np.random.default_rng(0).permutation(14)
    rig.start()
    for part in (order[:5], order[5:]):
        rig.sources.append(lambda part=part: rig.joints.publish(
            joint_state(START[part], [JOINTS[i] for i in part])))
    rig.sources.append(rig.send_picture)
    rig.instruction.publish(String(data='go'))
    rig.until_running()
    np.testing.assert_allclose(rig.commands[0], START, atol=1e-9)


@pytest.mark.parametrize('stream', ['base_0_rgb', 'joint_states'])
def test_a_stream_that_stops_makes_the_arm_hold_then_fall_silent_and_recovers(rig, stream):
    rig.run()
    source = rig.send_picture if stream == 'base_0_rgb' else rig.send_joints
    rig.sources.remove(source)
    rig.until(lambda: stream in rig.status.detail and 's old' in rig.status.detail, 'the late stream is named')
    rig.until_state('waiting')
    rig.commands.clear()
    rig.turn()
    assert not rig.commands
    rig.sources.append(source)
    rig.until_running()


def test_a_camera_that_repeats_one_picture_counts_as_stopped(rig):
    rig.run()
    rig.sources.remove(rig.send_picture)
    frozen = picture()
    rig.sources.append(lambda: rig.camera.publish(frozen))
    rig.until_state('waiting')
    assert 'base_0_rgb' in rig.status.detail
    rig.sources.pop()
    rig.sources.append(rig.send_picture)
    rig.until_running()


@pytest.mark.parametrize('stamp_ns', [0, 10**9, 4 * 10**18])
def test_pictures_with_a_useless_stamp_are_dated_by_their_arrival(rig, stamp_ns):
    rig.start()
    ticks = []

    def camera():
        ticks.append(1)
        rig.camera.publish(picture(stamp_ns=stamp_ns + (len(ticks) if stamp_ns else 0)))
    rig.sources += [camera, rig.send_joints]
    rig.instruction.publish(String(data='go'))
    rig.until_running()


def test_an_empty_instruction_holds_and_another_one_goes_on(rig):
    rig.run()
    rig.instruction.publish(String(data='  \t '))
    rig.until(lambda: rig.status.state in ('holding', 'waiting') and 'empty' in rig.status.detail, 'holding')
    frames = rig.status.frames
    rig.until_state('waiting')
    assert rig.status.frames <= frames + 1
    rig.instruction.publish(String(data='put it down'))
    rig.until_running()
    assert rig.status.instruction_id == 3


def test_the_same_instruction_again_changes_nothing(rig):
    rig.run('wave')
    rig.sources.append(lambda: rig.instruction.publish(String(data=' wave ')))
    rig.turn()
    assert rig.status.instruction_id == 1 and rig.status.state == 'running'
    assert not [token for token in rig.tokens if token.finish_reason == 'cancelled']


def test_another_instruction_ends_the_old_texts_with_a_marker():
    rig = Rig(language__subtask__max_tokens=512, engine__decode_rounds=1)
    try:
        rig.run('wave')
        rig.until(lambda: rig.tokens, 'tokens')
        rig.instruction.publish(String(data='stop waving'))
        rig.until(lambda: rig.status.instruction_id == 2 and rig.chunks[-1].instruction_id == 2, 'the new instruction')
        rig.until(lambda: [t for t in rig.tokens if t.finish_reason == 'cancelled'], 'the marker')
    finally:
        rig.close()


def test_text_that_is_not_utf8_does_no_harm(rig):
    rig.run()
    rig.instruction.publish(b'\x00\x01\x00\x00\x03\x00\x00\x00\xff\xfe\x00\x00')
    rig.camera.publish(b'\x00\x01')
    rig.joints.publish(b'\x00\x01\x00\x00\xff\xff\xff\x7f')
    rig.question.publish(b'\x00\x01\x00\x00\xff\xff\xff\x7f')
    rig.turn()
    rig.instruction.publish(String(data='go on'))
    rig.until(lambda: rig.chunks and rig.chunks[-1].instruction_id == rig.status.instruction_id, 'the new instruction')
    rig.until_running()
    assert rig.status.inputs_refused >= 2


def test_a_question_is_answered_once_with_its_own_task(rig):
    rig.run()
    rig.question.publish(String(data='What is on the table?'))
    rig.until(lambda: [t for t in rig.tokens if t.task == 'question' and t.finished], 'an answer')
    answer = [t for t in rig.tokens if t.task == 'question']
    assert len({t.request_id for t in answer}) == 1
    text = ''.join(t.text for t in sorted(answer, key=lambda t: t.index))
    rig.until(lambda: text in [message.data for message in rig.texts], 'the finished text')
