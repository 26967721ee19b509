"""What the node does with the messages it gets: nothing is invented, nothing bad gets through, nothing is lost."""
import time

import cv2
import numpy as np
import pytest
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import String

from oxygen_ros.sim.joints import JOINTS, START
from rig import joint_state, picture, Rig, stamp


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


def test_joint_states_that_repeat_count_as_stopped_and_name_no_single_joint(rig):
    rig.run()
    rig.sources.remove(rig.send_joints)
    frozen = joint_state(stamp_ns=time.time_ns() - 9 * 10**9)  # soon ten seconds old, and more
    rig.sources.append(lambda: rig.joints.publish(frozen))
    rig.until(lambda: 'joint_states on' in rig.status.detail and 's old, the limit' in rig.status.detail, 'late')
    rig.until_state('waiting')
    assert 'of joint_states' not in rig.status.detail
    rig.commands.clear()
    rig.turn(100)
    assert not rig.commands and rig.status.state == 'waiting'
    rig.sources.pop()
    rig.sources.append(rig.send_joints)
    rig.until_running()


def test_a_gripper_that_stops_later_is_named_and_the_arm_holds(rig):
    rig.start()

    def send(names):
        rig.joints.publish(joint_state([START[JOINTS.index(name)] for name in names], names))
    arms, gripper = (lambda: send(JOINTS[:13])), (lambda: send(JOINTS[13:]))
    rig.sources += [rig.send_picture, arms, gripper]
    rig.instruction.publish(String(data='go'))
    rig.until_running()
    rig.sources.remove(gripper)
    rig.until(lambda: 'right_gripper of joint_states on' in rig.status.detail, 'the late joint is named')
    rig.until_state('waiting')
    assert 'left_gripper' not in rig.status.detail
    rig.commands.clear()
    rig.turn()
    assert not rig.commands
    rig.sources.append(gripper)
    rig.until_running()


class TwoCameras:
    """A raw camera on top, and a compressed one on the left wrist that is `behind_s` behind."""

    def __init__(self):
        self.rig = Rig(views=['base_0_rgb', 'left_wrist_0_rgb'], image__left_wrist_0_rgb__topic='wrist/compressed',
                       image__left_wrist_0_rgb__transport='compressed')
        self.wrist = self.rig.robot.create_publisher(CompressedImage, 'wrist/compressed', 1)
        self.behind_s = 0.0
        self.rig.start()
        self.rig.sources += [self.send, self.rig.send_joints]
        self.rig.instruction.publish(String(data='go'))

    def send(self):
        now_ns = time.time_ns()
        self.rig.camera.publish(picture(stamp_ns=now_ns))
        message = CompressedImage(format='png', data=PNG)
        stamp(message.header, now_ns - round(self.behind_s * 1e9))
        self.wrist.publish(message)


PNG = cv2.imencode('.png', np.full((24, 32, 3), 90, np.uint8))[1].tobytes()


def test_a_raw_and_a_compressed_view_make_one_observation_unless_they_lie_apart():
    cameras = TwoCameras()
    rig = cameras.rig
    try:
        seen, run_frame = [], rig.node.parts.engine.run_frame

        def watched(observation, *arguments):
            seen.append(observation)
            return run_frame(observation, *arguments)
        rig.node.parts.engine.run_frame = watched
        rig.until_running()
        rig.until(lambda: seen, 'a frame')
        assert {view: image.shape for view, image in seen[0].images.items()} == {
            'base_0_rgb': (24, 32, 3), 'left_wrist_0_rgb': (24, 32, 3)}
        assert (seen[0].images['left_wrist_0_rgb'] == 90).all() and not (seen[0].images['base_0_rgb'] == 90).all()
        cameras.behind_s = 0.3
        rig.until(lambda: 'images lie 0.3' in rig.status.detail, 'the spread is told')
        assert 's apart (left_wrist_0_rgb is behind base_0_rgb), the limit is 0.1 s' in rig.status.detail
        rig.until_state('waiting')
        frames = len(seen)
        rig.turn()
        assert len(seen) == frames
        cameras.behind_s = 0.0
        rig.until_running()
    finally:
        rig.close()


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
