import argparse
from itertools import islice
import random
from types import SimpleNamespace

import numpy as np
from oxygen_ros.chaos import mutate
from oxygen_ros.chaos.faults import FAULTS, KINDS, markdown, schedule
from oxygen_ros.convert.images import check
from oxygen_ros.convert.joints import JointMerger
import pytest

messages = pytest.importorskip('sensor_msgs.msg')
from lifecycle_msgs.msg import Transition  # noqa: E402
from oxygen_ros.chaos.relay import shift_stamp, spoil_joints, STAMPS  # noqa: E402
from oxygen_ros.chaos.session import INJECT, Session, settings_of  # noqa: E402
from oxygen_ros.share import config_file  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

JOINTS = ('waist', 'elbow', 'gripper')


def joint_state():
    return messages.JointState(name=list(JOINTS), position=[1.0, 2.0, 3.0])


def test_the_same_seed_gives_the_same_faults_and_every_kind_comes():
    first, again = ([f.kind for f in islice(schedule(random.Random(7)), 200)] for _ in range(2))
    assert first == again and set(first) == set(KINDS)
    light = len(FAULTS) - sum(fault.heavy for fault in FAULTS)
    assert len(set(first[:light])) == light and not any(KINDS[kind].heavy for kind in first[:2 * light])


def test_every_fault_is_carried_out_by_somebody():
    """Each kind is an act of the session or one that the relay knows; a kind that nobody knows would inject nothing."""
    import inspect
    from oxygen_ros.chaos import relay
    source = inspect.getsource(relay)
    for kind in KINDS:
        assert kind in INJECT or f"'{kind}'" in source, kind
    assert set(INJECT) <= set(KINDS) and set(STAMPS) <= set(KINDS)


def test_promises_of_rest_lie_within_their_faults():
    for fault in FAULTS:
        assert fault.seconds[0] <= fault.seconds[1] and fault.what and fault.promise
        assert fault.rest_after_s is None or fault.rest_after_s < fault.seconds[1] + fault.recover_s
    assert len(KINDS) == len(FAULTS) and markdown().count('\n') == len(FAULTS) + 1


@pytest.mark.parametrize('fault, refused', [
    ('joints_nan', True), ('joints_broken', True), ('joints_shuffled', False), ('joints_split', False),
    ('joints_foreign', False), ('joints_jump', False)])
def test_spoilt_joint_states_are_taken_or_refused_as_promised(fault, refused):
    merger = JointMerger(JOINTS)
    spoilt = spoil_joints(fault, joint_state(), random.Random(1))
    if refused:
        with pytest.raises(ValueError):
            [merger.merge_message(message, 1) for message in spoilt]
        return
    for message in spoilt:
        merger.merge_message(deserialize_message(serialize_message(message), messages.JointState), 1)
    expected = [1.2, 2, 3] if fault == 'joints_jump' else [1, 2, 3]
    assert np.allclose(merger.positions(), expected)


def test_a_partial_state_lacks_the_gripper():
    merger = JointMerger(JOINTS)
    for message in spoil_joints('joints_partial', joint_state(), random.Random(1)):
        merger.merge_message(message, 1)
    assert merger.missing() == ['gripper']


def test_every_way_to_break_an_image_is_refused():
    source = random.Random(2)
    for _ in range(200):
        image = messages.Image(height=6, width=8, step=24, encoding='rgb8', data=bytes(144))
        with pytest.raises(ValueError):
            check(mutate.break_image(source, image))


def test_stamps_are_shifted_in_the_serialised_message():
    message = joint_state()
    message.header.stamp.sec, message.header.stamp.nanosec = 1000, 7
    data = serialize_message(message)
    for seconds, expected in ((10, (1010, 7)), (-2, (998, 7)), (None, (0, 0))):
        stamp = deserialize_message(shift_stamp(data, seconds), messages.JointState).header.stamp
        assert (stamp.sec, stamp.nanosec) == expected


def test_mutations_differ_from_the_message_and_follow_from_the_seed():
    data = serialize_message(joint_state())
    made = [mutate.any_of(random.Random(seed), [data]) for seed in range(100)]
    assert made == [mutate.any_of(random.Random(seed), [data]) for seed in range(100)]
    assert sum(mutated != data for mutated in made) > 90
    for seed in range(100):
        mutate.mutate(random.Random(seed), b'')


def test_rate_and_topics_come_from_the_parameter_file(tmp_path):
    rate_hz, topics = settings_of(config_file('aloha.yaml'))
    assert rate_hz > 0 and topics and all(topic.endswith('image_raw') for topic in topics)
    (tmp_path / 'empty.yaml').write_text('/**:\n  ros__parameters: {}\n')
    with pytest.raises(ValueError, match='no image topic'):
        settings_of(tmp_path / 'empty.yaml')


def test_the_verb_lists_the_faults_and_refuses_what_makes_no_sense(capsys, tmp_path):
    from oxygen_ros.cli import chaos
    parser = argparse.ArgumentParser()
    chaos.add_arguments(parser)

    def run(*words):
        return chaos.run(parser.parse_args(words))
    assert run('--list') == 0 and '`node_killed`' in capsys.readouterr().out
    assert run('--minutes', '0') == 2 and '--minutes' in capsys.readouterr().err
    assert run('--messages', '0') == 2 and '--messages' in capsys.readouterr().err
    assert run('--soak', '5', '--cycles', '-1') == 2 and '--cycles' in capsys.readouterr().err
    assert run('--json', str(tmp_path / 'no' / 'x')) == 2


def test_only_a_refused_start_is_ended_by_bringing_the_robot_back():
    session, acts = Session.__new__(Session), []
    session.brought_back, session.say = [], lambda text: None
    session._until = lambda condition, seconds: condition()
    session._running = lambda: 'robot' in acts
    session._change = session._call = acts.append
    session.status = SimpleNamespace(state='waiting', detail='no wrist yet on top/image_raw')
    assert not session._recovers(KINDS['camera_silent']) and not acts
    session.status = SimpleNamespace(state='waiting', detail='chunk refused: elbow would jump from 1.2 to 0.1')
    assert session._recovers(KINDS['camera_silent']) and session.brought_back == ['camera_silent']
    assert acts == [Transition.TRANSITION_DEACTIVATE, 'robot', Transition.TRANSITION_ACTIVATE]
