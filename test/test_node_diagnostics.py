"""What the node says about itself: on /diagnostics, on its latched status, and that its QoS follows the YAML."""
import os
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool, String

from oxygen_ros.engine.chunk import NotFinite
from oxygen_ros.msg import EngineStatus
from oxygen_ros.sim.joints import START
from rig import joint_state, LATCHED, picture, Rig

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@pytest.fixture
def rig(request):
    rig = Rig(**getattr(request, 'param', {}))
    rig.parts = {}  # part -> (level, message, {key: value})
    rig.robot.create_subscription(DiagnosticArray, '/diagnostics', lambda message: rig.parts.update({
        status.name.rpartition(': ')[2]: (status.level, status.message, {v.key: v.value for v in status.values})
        for status in message.status if status.name.startswith(rig.namespace)}), 10)
    yield rig
    rig.close()


def test_before_it_is_configured_there_is_only_the_state(rig):
    rig.until(lambda: rig.parts, 'diagnostics')
    assert rig.parts == {'state': (OK, 'unconfigured', {})}


def test_every_part_of_a_running_node_reports_with_its_counters(rig):
    rig.run()
    rig.until(lambda: rig.parts.get('input base_0_rgb', (0, '', {'rate_hz': '0'}))[2]['rate_hz'] > '0.0', 'a rate')
    assert set(rig.parts) == {'state', 'engine', 'commands', 'language', *(f'input {name}' for name in (
        'base_0_rgb', 'joint_states', 'instruction', 'question', 'emergency_stop', 'heartbeat'))}
    assert {level for level, _, _ in rig.parts.values()} == {OK}
    assert rig.parts['state'][1] == 'running'
    _, message, camera = rig.parts['input base_0_rgb']
    assert message == 'fresh' and camera['topic'] == f'{rig.namespace}/top/image_raw'
    assert 5 < float(camera['rate_hz']) < 60 and float(camera['age_s']) < 0.5 and int(camera['received']) > 0
    assert int(rig.parts['engine'][2]['frames']) > 0 and float(rig.parts['engine'][2]['frame_ms']) > 0
    commands = rig.parts['commands'][2]
    assert commands['rate_hz'] == '60' and commands['dry_run'] == 'False' and int(commands['ticks_fresh']) > 0
    assert int(commands['chunks_taken']) > 0 and commands['stops'] == commands['clock_jumps'] == '0'
    assert rig.parts['state'][2] == {'messages_refused': '0', 'clock_steps': '0'}
    assert rig.parts['engine'][2]['frames_refused'] == rig.parts['engine'][2]['state_out_of_range'] == '0'
    assert float(commands['late_ms_p99']) >= float(commands['late_ms_p50']) and float(commands['tick_ms_p99']) > 0


def test_an_input_that_is_late_is_an_error_and_one_that_was_refused_a_warning_with_the_sentence(rig):
    rig.run()
    rig.sources.remove(rig.send_picture)
    rig.sources.append(lambda: rig.camera.publish(picture(encoding='32FC1')))
    rig.until(lambda: rig.parts['input base_0_rgb'][0] != OK and int(rig.parts['input base_0_rgb'][2]['refused']),
              'the refusal')
    assert '32FC1' in rig.parts['input base_0_rgb'][1]
    rig.sources.pop()
    rig.until(lambda: rig.parts['input base_0_rgb'][0] == ERROR, 'the error')
    assert 's old, the limit is 0.5 s' in rig.parts['input base_0_rgb'][1]
    assert rig.parts['input joint_states'][0] == OK
    rig.until(lambda: rig.parts['commands'][0] == WARN and int(rig.parts['commands'][2]['ticks_held']), 'holding')
    rig.call('stop')
    rig.until(lambda: rig.parts['state'][0] == ERROR, 'a stop is an error')
    assert 'stopped by service' in rig.parts['state'][1]


def test_every_input_that_is_acted_on_at_once_reports_too(rig):
    rig.start()
    rig.until(lambda: rig.parts.get('input instruction', (OK,))[0] == WARN, 'no instruction is a warning')
    assert rig.parts['input instruction'][1] == 'no instruction yet'
    assert rig.parts['input heartbeat'][1] == 'not watched'
    rig.instruction.publish(String(data='go'))
    rig.question.publish(String(data=' '))
    rig.emergency.publish(Bool(data=True))
    rig.until(lambda: rig.parts['input emergency_stop'][2]['received'] == '1', 'the button is counted once')
    level, message, values = rig.parts['input emergency_stop']
    assert (level, message) == (ERROR, 'pressed') and float(values['age_s']) >= 0
    rig.until(lambda: rig.parts['commands'][2]['stops'] == '1', 'the stop is counted')
    rig.until(lambda: rig.parts['input question'][0] == WARN, 'the refusal is a warning')
    assert 'message on question refused' in rig.parts['input question'][1]
    assert rig.parts['input question'][2]['refused'] == rig.parts['state'][2]['messages_refused'] == '1'
    rig.until(lambda: rig.parts['input instruction'][:2] == (OK, 'instruction 1'), 'the instruction')
    assert rig.parts['input instruction'][2]['topic'] == f'{rig.namespace}/instruction'


@pytest.mark.parametrize('rig', [{'heartbeat_timeout_s': 0.3, 'instruction_timeout_s': 0.5}], indirect=True)
def test_a_missing_heartbeat_and_an_expired_instruction_are_errors(rig):
    rig.start()
    rig.instruction.publish(String(data='go'))
    rig.until(lambda: rig.parts.get('input heartbeat', (OK,))[0] == ERROR, 'the heartbeat')
    assert 'the limit is 0.3 s' in rig.parts['input heartbeat'][1]
    rig.until(lambda: rig.parts['input instruction'][0] == ERROR, 'the instruction')
    assert 'not repeated for 0.5 s' in rig.parts['input instruction'][1]


def test_an_input_of_another_clock_is_a_warning_with_the_distance_until_it_is_set_right(rig):
    rig.start()
    offset_s = [-7200.0]
    rig.sources += [lambda: rig.camera.publish(picture(stamp_ns=time.time_ns() + round(offset_s[0] * 1e9))),
                    lambda: rig.joints.publish(joint_state(stamp_ns=0))]
    rig.instruction.publish(String(data='go'))
    rig.until_running()
    rig.until(lambda: rig.parts['input base_0_rgb'][0] == WARN, 'a warning')
    assert 'is stamped by a clock 7200.0' in rig.parts['input base_0_rgb'][1]
    assert 'stamp_source: receive' in rig.parts['input base_0_rgb'][1]
    assert rig.parts['input joint_states'][0] == WARN and 'is not stamped' in rig.parts['input joint_states'][1]
    offset_s[0] = 0.0
    rig.until(lambda: rig.parts['input base_0_rgb'][:2] == (OK, 'fresh'), 'the warning is over')
    assert rig.parts['input base_0_rgb'][2]['clock_changes'] == '1'
    assert rig.parts['state'][:2] == (OK, 'running')


@pytest.mark.parametrize('fault, words', [('nan', 'numbers are not finite'), ('jump', 'left_')])
def test_a_broken_chunk_holds_and_is_an_error_until_the_next_instruction(rig, fault, words):
    rig.run()
    rig.instruction.publish(String(data=f'fake: {fault}'))
    rig.until(lambda: rig.parts['engine'][0] == rig.parts['state'][0] == ERROR, 'the error')
    assert rig.parts['engine'][1].startswith('broken chunk: ') and words in rig.parts['engine'][1]
    assert 'chunk refused: ' in rig.status.detail and words in rig.status.detail
    rig.until_state('waiting')
    np.testing.assert_allclose(rig.commands, [START] * len(rig.commands), atol=1e-9)
    assert int(rig.status.chunks_rejected) > 0
    rig.commands.clear()
    rig.turn()
    assert not rig.commands
    rig.instruction.publish(String(data='go on'))
    rig.until_running()
    rig.until(lambda: rig.parts['engine'][:2] == (OK, 'ready') and rig.parts['state'][0] == OK, 'no error any more')


def test_a_frame_of_numbers_that_are_none_is_an_error_and_counted(rig):
    rig.run()
    engine = rig.node.parts.engine
    run_frame = engine.run_frame

    def broken(*arguments):
        raise NotFinite('the model gave 140 non-finite actions in frame 7')
    engine.run_frame = broken
    rig.until(lambda: rig.parts['engine'][0] == rig.parts['state'][0] == ERROR, 'the error')
    assert '140 non-finite actions' in rig.parts['engine'][1] and int(rig.parts['engine'][2]['frames_refused']) > 0
    engine.run_frame = run_frame
    rig.until(lambda: rig.parts['engine'][0] == OK, 'no error any more')


def test_a_publisher_that_can_never_match_is_told_until_it_leaves(rig):
    rig.run()
    ends = [rig.robot.create_publisher(kind, topic, QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
            for kind, topic in ((String, 'instruction'), (String, 'question'))]
    rig.until(lambda: rig.parts['input question'][0] == rig.parts['input instruction'][0] == WARN, 'the reports')
    assert 'incompatible QoS (reliability)' in rig.parts['input instruction'][1]
    assert 'incompatible QoS' in rig.status.detail
    rig.robot.destroy_publisher(ends[0])
    rig.until(lambda: rig.parts['input instruction'][0] == OK, 'the first has left')
    assert rig.parts['input question'][0] == WARN
    rig.robot.destroy_publisher(ends[1])
    rig.until(lambda: rig.parts['input question'][0] == OK and not rig.status.detail, 'the second has left')


def test_a_viewer_that_comes_late_sees_the_status_at_once(rig):
    rig.node.start()
    rig.until_state('waiting')
    rig.until(lambda: len(rig.statuses) > 3, 'it is repeated')
    heard = []
    rig.robot.create_subscription(EngineStatus, 'oxygen/status', heard.append, LATCHED)
    rig.until(lambda: heard, 'the status')
    assert heard[0].state == 'waiting'


def test_the_quality_of_a_topic_follows_the_parameters():
    topic = f'/rig{os.getpid()}_{Rig.count + 1}/top/image_raw'
    rig = Rig(**{f'qos_overrides.{topic}.subscription.reliability': 'reliable',
                 f'qos_overrides.{topic}.subscription.depth': 3})
    try:
        assert rig.node.start() == ''
        quality = [end.qos_profile for end in rig.node.get_subscriptions_info_by_topic(topic)]
        assert [one.reliability for one in quality] == [ReliabilityPolicy.RELIABLE]
        rig.node.trigger_deactivate()
        rig.node.trigger_activate()
        assert rig.node.active, rig.node.problem  # what was declared once is no obstacle
    finally:
        rig.close()
