"""What the node says about itself: on /diagnostics, on its latched status, and that its QoS follows the YAML."""
import os

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest
from rclpy.qos import ReliabilityPolicy

from oxygen_ros.msg import EngineStatus
from rig import LATCHED, picture, Rig

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
    assert set(rig.parts) == {'state', 'input base_0_rgb', 'input joint_states', 'engine', 'commands', 'language'}
    assert {level for level, _, _ in rig.parts.values()} == {OK}
    assert rig.parts['state'][1] == 'running'
    _, message, camera = rig.parts['input base_0_rgb']
    assert message == 'fresh' and camera['topic'] == f'{rig.namespace}/top/image_raw'
    assert 5 < float(camera['rate_hz']) < 60 and float(camera['age_s']) < 0.5 and int(camera['received']) > 0
    assert int(rig.parts['engine'][2]['frames']) > 0 and float(rig.parts['engine'][2]['frame_ms']) > 0
    commands = rig.parts['commands'][2]
    assert commands['rate_hz'] == '60' and commands['dry_run'] == 'False' and int(commands['ticks_fresh']) > 0
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
