"""Transitions, stops and failures of the node: whatever happens, the arm holds first."""
import threading

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import Bool, Empty, String

from oxygen_ros import build
from oxygen_ros.engine.fake import FakeEngine
from oxygen_ros.sim.joints import START
from rig import Rig, SimulatedRig, velocity_profile

CONFIGURE, ACTIVATE = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE
DEACTIVATE, CLEANUP = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP


@pytest.fixture
def rig(request):
    parameters = dict(getattr(request, 'param', {}))
    rig = SimulatedRig(**parameters) if parameters.pop('use_sim_time', False) else Rig(**parameters)
    yield rig
    rig.close()


def with_engine(monkeypatch, **options):
    """Have configure build a FakeEngine of that kind; returns the list of those built."""
    built = []

    def build_engine(settings, profile, plan):
        built.append(FakeEngine(profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s, **options))
        return built[-1]
    monkeypatch.setattr(build, 'build_engine', build_engine)
    return built


def topics(rig):
    return [name for name, _ in rig.node.get_subscriber_names_and_types_by_node('oxygen', rig.namespace)]


def test_transitions_by_service_as_launch_makes_them(rig):
    assert rig.transition(CONFIGURE)
    rig.until_state('inactive')
    assert f'{rig.namespace}/top/image_raw' not in topics(rig)
    assert rig.transition(ACTIVATE)
    rig.until_state('waiting')
    assert f'{rig.namespace}/top/image_raw' in topics(rig)
    assert not rig.transition(ACTIVATE)  # refused politely
    assert rig.transition(DEACTIVATE)
    rig.until_state('inactive')
    assert f'{rig.namespace}/top/image_raw' not in topics(rig)
    assert rig.transition(CLEANUP)
    rig.until_state('unconfigured')
    assert rig.transition(CONFIGURE) and rig.transition(ACTIVATE)


@pytest.mark.parametrize('rig, right, words', [
    ({'views': ['left_wrist_0_rgb']}, None, 'base_0_rgb'),
    ({'image__base_0_rgb__topic': ''}, ('image.base_0_rgb.topic', 'top/image_raw'), 'which camera|name the topic'),
    ({'profile': 'no_such_robot'}, ('profile', 'aloha_sim'), 'no_such_robot'),
    ({'limits__left_waist__lower': 4.0}, ('limits.left_waist.lower', -3.0), 'left_waist'),
    ({'limits__left_knee__lower': 4.0}, None, 'left_knee'),
    ({'urdf_file': '/nowhere.urdf'}, ('urdf_file', ''), 'nowhere'),
    ({'control_rate_hz': 500.0}, ('control_rate_hz', 60.0), 'control_rate_hz is 500'),
    ({'control_rate_hz': 'fast'}, ('control_rate_hz', 60), 'control_rate_hz must be a double'),
    ({'command_type': 'pigeon'}, ('command_type', 'float64_multi_array'), 'pigeon'),
    ({'language__tasks': ['sing']}, None, 'sing')], indirect=['rig'])
def test_configure_refuses_with_one_sentence_and_can_be_tried_again(rig, right, words):
    assert rig.node.trigger_configure() is TransitionCallbackReturn.FAILURE
    assert any(word in rig.node.problem for word in words.split('|')), rig.node.problem
    assert '\n' not in rig.node.problem
    rig.until(lambda: (rig.status.state, rig.status.detail) == ('unconfigured', rig.node.problem), 'the status says so')
    if right:
        result = rig.node.set_parameters([Parameter(right[0], value=right[1])])[0]
        assert result.successful, result.reason
        assert rig.node.trigger_configure() is TransitionCallbackReturn.SUCCESS, rig.node.problem


def test_a_missing_library_is_named_with_its_interpreter(rig, monkeypatch):
    def build_engine(settings, profile, plan):
        raise RuntimeError("No module named 'torch' in /usr/bin/python3; install it")
    monkeypatch.setattr(build, 'build_engine', build_engine)
    assert rig.node.start() == "No module named 'torch' in /usr/bin/python3; install it"
    monkeypatch.undo()
    assert rig.node.start() == ''


def test_the_engine_is_built_run_and_closed_in_one_thread_which_is_not_the_executors(rig, monkeypatch):
    threads = []

    class Watched(FakeEngine):
        def run_frame(self, *arguments):
            threads.append(threading.get_ident())
            return super().run_frame(*arguments)

        def close(self):
            threads.append(threading.get_ident())

    def build_engine(settings, profile, plan):
        threads.append(threading.get_ident())
        return Watched(profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s)
    monkeypatch.setattr(build, 'build_engine', build_engine)
    rig.run()
    rig.until(lambda: len(threads) > 3, 'frames')
    rig.node.trigger_deactivate()
    rig.node.trigger_cleanup()
    assert len(set(threads)) == 1 and threads[0] != threading.get_ident()


def test_deactivate_holds_the_last_command_and_then_is_silent(rig):
    rig.run()
    assert rig.transition(DEACTIVATE)
    rig.until_state('inactive')
    np.testing.assert_allclose(rig.commands[-1], START, atol=1e-9)
    rig.commands.clear()
    rig.turn()
    assert not rig.commands
    assert rig.transition(ACTIVATE)
    rig.until_running()  # the instruction is still in force


def test_stop_holds_and_only_resume_goes_on(rig):
    rig.run()
    assert rig.call('stop').success
    rig.until_state('stopped')
    assert 'stopped by service' in rig.status.detail
    silent = rig.status.ticks_silent
    rig.until(lambda: rig.status.ticks_silent > silent, 'silence after the hold')
    rig.commands.clear()
    rig.instruction.publish(String(data='a new instruction does not start a stopped arm'))
    rig.turn()
    assert not rig.commands and rig.status.state == 'stopped'
    assert not rig.call('reset').success
    frames = rig.status.frames
    assert rig.call('resume').success
    rig.until_running()
    assert rig.status.frames > frames  # from a new look at the world


def test_services_of_a_node_that_is_not_active_say_so(rig):
    for name in ('resume', 'reset'):
        answer = rig.call(name)
        assert not answer.success and 'not active' in answer.message
    assert rig.call('stop').success


def test_reset_starts_again_from_what_comes_next(rig):
    rig.run()
    assert rig.call('reset').success
    rig.until_running()


def test_the_emergency_stop_must_be_released_before_resume(rig):
    rig.run()
    rig.emergency.publish(Bool(data=True))
    rig.until_state('stopped')
    answer = rig.call('resume')
    assert not answer.success and 'emergency' in answer.message
    rig.emergency.publish(Bool(data=False))
    rig.turn()
    assert rig.status.state == 'stopped'  # releasing the button moves nothing (kinova-ros#92)
    assert rig.call('resume').success
    rig.until_running()


@pytest.mark.parametrize('transitions', [(DEACTIVATE, ACTIVATE), (DEACTIVATE, CLEANUP, CONFIGURE, ACTIVATE)],
                         ids=['deactivated', 'cleaned up'])
@pytest.mark.parametrize('how', ['emergency stop', 'stop', 'heartbeat'])
def test_a_stop_outlives_whatever_the_node_goes_through(rig, how, transitions):
    rig.run()
    rig.stop_by(how)
    for transition in transitions:
        assert rig.transition(transition)
    rig.instruction.publish(String(data='go on'))
    rig.until_state('stopped')
    rig.commands.clear()
    rig.turn()
    assert rig.status.state == 'stopped' and not rig.commands
    if how != 'stop':
        assert not rig.call('resume').success
    rig.emergency.publish(Bool(data=False))
    rig.node.set_parameters([Parameter('heartbeat_timeout_s', value=0.0)])
    rig.turn()
    assert rig.call('resume').success
    rig.until_running()


def test_what_stops_a_node_that_is_not_active_keeps_it_stopped_once_it_is(rig):
    assert rig.call('stop').success
    rig.until(lambda: 'stopped by service' in rig.status.detail and rig.status.state == 'unconfigured', 'the status')
    assert rig.transition(CONFIGURE)
    rig.until(lambda: 'stopped by service' in rig.status.detail and rig.status.state == 'inactive', 'the status')
    assert rig.transition(ACTIVATE)
    rig.until_state('stopped')
    assert rig.call('resume').success
    rig.until_state('waiting')


@pytest.mark.parametrize('rig', [{'heartbeat_timeout_s': 1.0}], indirect=True)
def test_a_heart_that_never_beat_stops(rig):
    rig.start()
    rig.until_state('stopped')
    assert 'no heartbeat for 1 s' in rig.status.detail and not rig.call('resume').success


def test_activate_refuses_with_a_sentence_and_leaves_no_subscription(rig, monkeypatch):
    from oxygen_ros import qos
    assert rig.transition(CONFIGURE)

    def refuse():
        raise ValueError('no such reliability')
    monkeypatch.setattr(qos, 'text', refuse)
    assert not rig.transition(ACTIVATE)
    rig.until(lambda: (rig.status.state, rig.status.detail) == ('inactive', 'no such reliability'), 'the sentence')
    assert f'{rig.namespace}/top/image_raw' not in topics(rig)
    monkeypatch.undo()
    assert rig.transition(ACTIVATE)


@pytest.mark.parametrize('rig', [{'heartbeat_timeout_s': 0.3}], indirect=True)
def test_a_missing_heartbeat_stops(rig):
    heart = rig.robot.create_publisher(Empty, 'heartbeat', 1)
    rig.sources.append(lambda: heart.publish(Empty()))
    rig.run()
    rig.sources.pop(0)
    rig.until_state('stopped')
    assert 'heartbeat' in rig.status.detail
    assert not rig.call('resume').success
    rig.sources.append(lambda: heart.publish(Empty()))
    rig.turn()
    assert rig.call('resume').success
    rig.until_running()


@pytest.mark.parametrize('rig', [{'dry_run': True}], indirect=True)
def test_a_dry_run_does_everything_but_publish_commands(rig):
    rig.start()
    rig.sources += [rig.send_picture, rig.send_joints]
    rig.instruction.publish(String(data='go'))
    rig.until(lambda: rig.status.state == 'running' and rig.status.ticks_fresh > 20 and rig.texts, 'running')
    assert not rig.commands and 'dry run' in rig.status.detail
    assert rig.robot.count_publishers(f'{rig.namespace}/joint_command') == 0


def test_a_crash_of_the_engine_brakes_at_once_and_is_an_error_until_configured_again(rig, monkeypatch):
    crashed = []

    class Crashing(FakeEngine):
        def run_frame(self, observation, *arguments):
            if crashed:
                crashed.append(len(said))
                raise RuntimeError('the driver is gone')
            return super().run_frame(observation, *arguments)
    monkeypatch.setattr(build, 'build_engine', lambda settings, profile, plan: Crashing(
        profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s))
    said = rig.run_swinging()
    crashed.append(0)
    rig.until_state('error')
    assert 'the driver is gone' in rig.status.detail
    held = next(i for i in range(crashed[1], len(said)) if said[i][1] == 'held')
    assert held <= crashed[1] + 10  # of the 60 ticks that its last chunk had
    rig.until(lambda: not rig.node.parts.loop.controller.moving, 'rest')
    assert_braked(rig, said)
    assert not rig.call('resume').success
    monkeypatch.undo()
    assert rig.transition(DEACTIVATE)
    assert not rig.transition(ACTIVATE) and 'clean up and configure' in rig.node.problem  # not with a broken engine
    for transition in (CLEANUP, CONFIGURE, ACTIVATE):
        assert rig.transition(transition)
    rig.instruction.publish(String(data='go on'))
    rig.until_running()


def test_an_engine_that_hangs_holds_and_says_so(rig, monkeypatch):
    release = threading.Event()
    engines = with_engine(monkeypatch, sleep=lambda seconds: release.wait(20))
    rig.run()
    engines[0].frame_s = 1.0
    rig.until(lambda: 'busy with one frame' in rig.status.detail, 'the status says so')
    rig.until_state('waiting')
    engines[0].frame_s = 0.0
    release.set()
    rig.until_running()


def assert_braked(rig, said):
    """What was said ends at rest, and came there within the limits wherever the machine let the ticks come in time."""
    rig.turn()
    times = np.array([time_s for time_s, _, _ in said])
    commands = np.array([command for _, _, command in said])
    limits, period_s = rig.node.parts.loop.controller.limits, rig.node.parts.loop.period_s
    steps = np.diff(commands, axis=0)
    assert (np.abs(steps) <= limits.velocity * period_s + 1e-9).all()
    in_time = np.diff(times) < 0.08  # longer is a standstill for the controller, after which it begins from rest
    smooth = in_time[1:] & in_time[:-1]
    assert (np.abs(np.diff(steps, axis=0))[smooth] <= limits.acceleration * period_s**2 * 1.01 + 1e-9).all()
    assert np.array_equal(commands[-1], rig.commands[-1]) and np.array_equal(rig.commands[-2], rig.commands[-1])


SLOW = {'limits__default__acceleration': 1.2, 'limits__default__jump': 2.0}  # at rest after 0.58 s and more


@pytest.mark.parametrize('rig', [{}, SLOW, {'limits__default__acceleration': 5.0, 'use_sim_time': True}], indirect=True,
                         ids=['quick', 'slow', 'simulated'])
@pytest.mark.parametrize('how', ['deactivate', 'shutdown', 'stop', 'emergency stop', 'empty instruction'])
def test_a_moving_arm_is_brought_to_rest_within_its_limits(rig, how):
    said = rig.run_swinging()
    controller, begun = rig.node.parts.loop.controller, len(said)
    if how == 'deactivate':
        rig.node.trigger_deactivate()
        rig.until_state('inactive')
    elif how == 'shutdown':
        parts = rig.node.parts
        rig.node.end()
        rig.until_state('unconfigured')
        rig.node._parts = parts  # for its limits
    elif how == 'stop':
        rig.call('stop')
        rig.until_state('stopped')
    elif how == 'emergency stop':
        rig.emergency.publish(Bool(data=True))
        rig.until_state('stopped')
    else:
        rig.instruction.publish(String(data=''))
        rig.until(lambda: 'empty' in rig.status.detail, 'it was heard')
    rig.until(lambda: not controller.moving, 'rest')
    assert_braked(rig, said)
    assert [source for _, source, _ in said[begun:]].count('held') > 1
    rig.until(lambda: rig.status.state != 'holding', 'silence')
    count = len(rig.commands)
    rig.turn(60)
    assert how in ('stop', 'emergency stop') or len(rig.commands) <= count + 60  # held, then silent
    assert not np.any(np.diff(rig.commands[count - 1:], axis=0))


@pytest.mark.parametrize('rig', [{}, {'use_sim_time': True}], indirect=True, ids=['wall', 'simulated'])
def test_where_a_tick_fails_the_last_command_is_a_hold_and_an_error(rig):
    said = rig.run_swinging()
    rig.node.parts.loop.controller.tick = None
    rig.until_state('error')
    assert 'the control thread failed' in rig.status.detail
    rig.turn()
    np.testing.assert_array_equal(rig.commands[-1], said[-1][2])
    count = len(rig.commands)
    rig.turn(30)
    assert len(rig.commands) == count


@pytest.mark.parametrize('how', ['deactivate', 'shutdown', 'stop', 'crash', 'control thread'])
def test_the_last_velocity_is_zero(tmp_path, how):
    rig = Rig(profile=velocity_profile(tmp_path))
    try:
        said = rig.run_swinging()
        assert np.abs(said[-1][2]).max() > rig.FAST
        controller = rig.node.parts.loop.controller
        if how == 'deactivate':
            assert rig.transition(DEACTIVATE)
        elif how == 'shutdown':
            rig.node.end()
        elif how == 'stop':
            rig.call('stop')
        elif how == 'crash':
            rig.instruction.publish(String(data='fake: crash'))
            rig.until_state('error')
        else:
            controller.tick = None
            rig.until_state('error')
        if how != 'control thread':
            rig.until(lambda: not controller.moving, 'rest')
        rig.turn()
        assert len(rig.commands) > 10 and not rig.commands[-1].any()
    finally:
        rig.close()


def test_a_subscriber_that_dies_and_comes_back_disturbs_nobody(rig):
    from std_msgs.msg import Float64MultiArray
    rig.run()
    other = rig.robot.create_subscription(Float64MultiArray, 'joint_command', lambda m: None, 1)
    rig.turn(5)
    rig.robot.destroy_subscription(other)
    rig.turn(5)
    heard = []
    rig.robot.create_subscription(Float64MultiArray, 'joint_command', heard.append, 1)
    rig.until(lambda: heard, 'commands')
    assert rig.status.state == 'running'


def test_an_error_in_a_callback_does_not_end_the_others(rig):
    rig.run()
    rig.node._parts.merger.merge_message = None  # as a bug would
    rig.until(lambda: rig.status.inputs_refused > 3, 'refusals')
    assert rig.node.active


@pytest.mark.parametrize('rig', [{'language__subtask__every_n_frames': 1}], indirect=True)
def test_live_parameters_apply_at_once_and_others_are_refused_with_a_reason(rig):
    rig.run()
    refused = rig.node.set_parameters([Parameter('control_rate_hz', value=70.0)])[0]
    assert not refused.successful and 'clean up' in refused.reason
    refused = rig.node.set_parameters([Parameter('image_max_age_s', value=-1.0)])[0]
    assert not refused.successful and 'image_max_age_s' in refused.reason
    assert rig.node.set_parameters([Parameter('image_max_age_s', value=2)])[0].successful  # an int for a double
    assert rig.node._parts.runner.limits.image_max_age_s == 2.0
    assert rig.node.set_parameters([Parameter('language.subtask.max_tokens', value=2)])[0].successful
    rig.until(lambda: [t for t in rig.tokens if t.finish_reason == 'length' and t.index == 1], 'shorter texts')


def test_two_namespaced_nodes_do_not_hear_each_other(rig):
    other = Rig()
    try:
        rig.run()
        other.start()
        rig.executor.spin_once(timeout_sec=0.1)
        other.turn()
        assert other.status.state == 'waiting' and not other.commands and other.status.images_received == 0
        assert rig.call('stop').success
        rig.until_state('stopped')
        assert other.status.state == 'waiting'
    finally:
        other.close()


def test_a_subscriber_that_can_never_match_is_reported(rig):
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import Float64MultiArray
    rig.run()
    rig.robot.create_subscription(Float64MultiArray, 'joint_command', lambda m: None, QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    rig.until(lambda: 'incompatible QoS (durability)' in rig.status.detail, 'the report')


@pytest.mark.parametrize('rig', [{f'limits__{joint}__{end}': sign * 0.005 for joint in ('left_elbow',)
                                  for end, sign in (('lower', -1), ('upper', 1))}], indirect=True)
def test_limits_in_other_units_than_the_checkpoint_are_refused(rig):
    assert 'left_elbow' in rig.node.start() and 'units differ' in rig.node.problem
