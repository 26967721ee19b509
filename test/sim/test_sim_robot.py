"""The robot in a process of its own, over real topics."""
import json
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy, for real topics')
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.parameter_client import AsyncParameterClient  # noqa: E402
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Image, JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from oxygen_ros import transport  # noqa: E402
from oxygen_ros.sim.joints import JOINTS, START  # noqa: E402

README = Path(__file__).resolve().parents[2] / 'README.md'
TIMEOUT_S = 90.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def environment():
    chosen = dict(os.environ)
    transport.configure(chosen)
    return chosen


@pytest.fixture(scope='module', autouse=True)
def ros():
    os.environ.update(environment())
    rclpy.init()
    yield
    rclpy.shutdown()


class Client:
    """A node in the robot's namespace that keeps what it hears and waits for conditions, never for a time."""

    def __init__(self, namespace):
        self.node = rclpy.create_node('client', namespace=namespace)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.heard = {}

    def hear(self, kind, topic, qos=qos_profile_sensor_data):
        messages = self.heard[topic] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def commands(self, kind):
        publisher = self.node.create_publisher(kind, 'joint_command', 10)
        self.until(lambda: publisher.get_subscription_count() > 0)
        return publisher

    def until(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < end, {topic: len(messages) for topic, messages in self.heard.items()}
            self.executor.spin_once(timeout_sec=0.1)

    def result(self, future):
        self.until(future.done)
        return future.result()

    def set(self, **values):
        client = AsyncParameterClient(self.node, 'robot')
        self.until(client.services_are_ready)
        return self.result(client.set_parameters(
            [Parameter(name, value=value) for name, value in values.items()])).results

    def reset(self):
        client = self.node.create_client(Trigger, 'robot/reset')
        self.until(client.service_is_ready)
        return self.result(client.call_async(Trigger.Request()))

    def close(self):
        self.node.destroy_node()


class Process:
    """`python -m oxygen_ros sim` in a namespace of its own."""

    def __init__(self, namespace, *arguments, **parameters):
        ros = [part for name, value in parameters.items() for part in ('-p', f'{name}:={value}')]
        self.child = subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', 'sim', *map(str, arguments), '--ros-args', '-r', f'__ns:={namespace}',
             *ros], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, number=signal.SIGINT):
        """Signal it; its exit status, output and errors."""
        if self.child.poll() is None:
            self.child.send_signal(number)
        try:
            out, errors = self.child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise
        return self.child.returncode, out, errors


@pytest.fixture
def start(request):
    """Start robots; whatever still runs at the end of the test is ended."""
    begun = []

    def begin(name, *arguments, **parameters):
        namespace = f'/{name}_{os.getpid()}'
        process, client = Process(namespace, *arguments, **parameters), Client(namespace)
        begun.append((process, client))
        return process, client

    yield begin
    for process, client in begun:
        client.close()
        process.end()


def stamp_s(message):
    stamp = message.clock if isinstance(message, Clock) else message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec


def readme_interface():
    """(name, first type) of each row of the README's table of the simulated robot."""
    section = README.read_text().partition('## The simulated robot')[2].partition('<!-- begin')[0]
    rows = re.findall(r'^\| `([^`]+)`[^|]*\| (\w+)/(\w+)', section, re.MULTILINE)
    return {(name, f'{package}/{"srv" if package == "std_srvs" else "msg"}/{kind}') for name, package, kind in rows}


def interface(client, cameras):
    """The same of the live robot, with one name for all its cameras."""
    node, space = client.node, client.node.get_namespace()
    found = [*node.get_publisher_names_and_types_by_node('robot', space),
             *node.get_subscriber_names_and_types_by_node('robot', space),
             *node.get_service_names_and_types_by_node('robot', space)]
    pairs = set()
    for name, (kind,) in found:
        own = name.replace(f'{space}/robot/', '~/').replace(f'{space}/', '')
        for camera in cameras:
            own = own.replace(f'{camera}/image_raw', '<camera>/image_raw')
        if not kind.startswith(('rcl_interfaces', 'type_description_interfaces')):
            pairs.add((own, kind))
    return pairs


def test_the_scene_publishes_its_cameras_joints_and_description_and_executes_commands(start, tmp_path):
    process, client = start('scene', '--json', tmp_path / 'sim.json', cameras='[top,left_wrist]', seed=3)
    images = client.hear(Image, 'top/image_raw')
    wrist = client.hear(Image, 'left_wrist/image_raw')
    joints = client.hear(JointState, 'joint_states')
    description = client.hear(String, 'robot_description', LATCHED)
    reports = client.hear(DiagnosticArray, '/diagnostics', 10)
    client.until(lambda: len(images) > 30 and len(joints) > 50 and description and wrist)

    picture = images[-1]
    assert (picture.width, picture.height, picture.encoding, picture.step) == (640, 480, 'rgb8', 1920)
    assert picture.header.frame_id == 'top_optical_frame' and picture.header.frame_id in description[0].data
    assert np.frombuffer(picture.data, np.uint8).std() > 10
    assert abs(time.time() - stamp_s(joints[-1])) < 5
    stamps = np.diff([stamp_s(image) for image in images])
    assert (stamps > 0).all()
    assert tuple(joints[0].name) == JOINTS and len(joints[0].velocity) == len(joints[0].effort) == 14
    assert joints[0].position == pytest.approx(START, abs=0.02)
    assert '<robot name="aloha">' in description[0].data

    assert readme_interface() - {('/clock', 'rosgraph_msgs/msg/Clock')} == interface(client, ('top', 'left_wrist'))

    commands = client.commands(Float64MultiArray)
    target = START.copy()
    target[7] = 0.5
    commands.publish(Float64MultiArray(data=target))
    client.until(lambda: abs(joints[-1].position[7] - 0.5) < 0.03)

    def report():
        mine = [s for r in reports for s in r.status if s.hardware_id == client.node.get_namespace() + '/robot']
        return {item.key: item.value for item in mine[-1].values} if mine else {}

    for refused, bad in enumerate((target[:13], [*target[:13], float('nan')]), 1):
        commands.publish(Float64MultiArray(data=bad))
        client.until(lambda: report().get('commands_refused') == str(refused))
    assert abs(joints[-1].position[7] - 0.5) < 0.03  # the last good command is kept
    assert int(report()['images_sent']) > 30
    client.until(lambda: float(report()['image_rate_hz']) > 0)  # a busy machine may miss a second's pictures

    status, out, errors = process.end(signal.SIGINT)
    assert status == 0 and 'Traceback' not in errors, errors
    assert 'has 13 values; this robot takes 14' in errors  # the second comes within the throttle's second
    summary = json.loads((tmp_path / 'sim.json').read_text())
    assert (summary['commands'], summary['commands_refused'], summary['commands_clamped']) == (1, 2, 0)


def test_a_reset_places_the_objects_from_the_seed_that_was_set(start):
    process, client = start('reset', task='blocks')
    images = client.hear(Image, 'tight/image_raw')

    def picture_after_reset(seed):
        assert client.set(seed=seed)[0].successful
        reply = client.reset()
        assert reply.success and reply.message == f'started again from seed {seed}'
        images.clear()
        client.until(lambda: len(images) > 3)  # those that were on their way
        return np.frombuffer(images[-1].data, np.uint8).astype(int)

    first, other, again = picture_after_reset(1), picture_after_reset(2), picture_after_reset(1)
    assert (abs(first - other) > 30).mean() > 0.01
    assert (abs(first - again) > 30).mean() < 0.001
    refused = client.set(seed=-1)[0]
    assert not refused.successful and 'seed' in refused.reason and '-1' in refused.reason
    assert process.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize('kind', ['joint_trajectory', 'joint_state'])
def test_named_commands_move_the_named_joint(start, replay_folder, kind):
    _, client = start(kind, '--replay', replay_folder, command_type=kind)
    joints = client.hear(JointState, 'joint_states')
    message = JointState(name=['right_waist'], position=[0.5]) if kind == 'joint_state' else JointTrajectory(
        joint_names=['right_waist'], points=[JointTrajectoryPoint(positions=[0.5])])
    client.commands(type(message)).publish(message)
    client.until(lambda: joints and abs(joints[-1].position[7] - 0.5) < 1e-3)
    assert np.delete(joints[-1].position, 7) == pytest.approx(np.delete(START, 7))


@pytest.fixture(scope='module')
def replay_folder(tmp_path_factory):
    cv2 = pytest.importorskip('cv2')
    folder = tmp_path_factory.mktemp('replay')
    for number in range(4):
        cv2.imwrite(str(folder / f'top_{number}.png'), np.full((480, 640, 3), 50 * number, np.uint8))
    return folder


def test_recorded_pictures_need_no_mujoco(start, replay_folder, monkeypatch):
    monkeypatch.setenv('MUJOCO_GL', 'none-such')  # importing MuJoCo would fail
    _, client = start('replay', '--replay', replay_folder)
    images = client.hear(Image, 'top/image_raw')
    client.until(lambda: len(images) >= 8)
    assert {image.data[0] for image in images} == {0, 50, 100, 150}


def test_two_robots_keep_apart_by_namespace(start, replay_folder):
    (_, one), (_, two) = start('one', '--replay', replay_folder), start('two', '--replay', replay_folder)
    first, second = one.hear(JointState, 'joint_states'), two.hear(JointState, 'joint_states')
    two.until(lambda: second)
    target = START + np.eye(14)[0] * 0.4
    one.commands(Float64MultiArray).publish(Float64MultiArray(data=target))
    one.until(lambda: first and abs(first[-1].position[0] - 0.4) < 1e-3)
    second.clear()
    two.until(lambda: len(second) > 3)
    assert second[-1].position == pytest.approx(START)


def test_lockstep_in_simulated_time_is_a_function_of_the_commands(start, tmp_path):
    """Two processes, the same commands: the same joint states to the last bit, at the same stamps."""
    runs = []
    for run in ('first', 'second'):
        process, client = start(
            f'lockstep_{run}', '--json', tmp_path / 'sim.json', lockstep='true', lockstep_timeout_s=30.0,
            joint_state_rate_hz=50.0, camera_rate_hz=10.0, real_time_factor=0.0)
        joints = client.hear(JointState, 'joint_states', 100)
        images = client.hear(Image, 'top/image_raw', 10)
        clock = client.hear(Clock, '/clock', 100)
        commands = client.commands(Float64MultiArray)
        # The robot waits, and its first period may have been published before it knew this client: once more.
        client.until(lambda: client.reset().success and joints and images and clock)
        began_s = stamp_s(joints[-1])
        commands.publish(Float64MultiArray(data=START))
        client.until(lambda: stamp_s(joints[-1]) > began_s)  # nothing older is on its way any more
        joints.clear()
        assert client.reset().success
        client.until(lambda: joints)
        states = []
        for period in range(20):
            before = len(joints)
            target = START + 0.1 * np.sin(period / 4 + np.arange(14))
            commands.publish(Float64MultiArray(data=target))
            client.until(lambda: len(joints) > before)
            states.append(joints[-1])
        runs.append(states)
        status, _, errors = process.end()
        assert status == 0 and 'Traceback' not in errors, errors
        assert json.loads((tmp_path / 'sim.json').read_text())['lockstep_timeouts'] == 0
    first, second = ([[s.position.tolist(), s.velocity.tolist()] for s in states] for states in runs)
    assert first == second and first[0] != first[-1]
    for states in runs:
        assert np.diff([stamp_s(state) for state in states]) == pytest.approx(0.02)


@pytest.mark.parametrize('arguments, parameters, sentence', [
    ((), {'task': 'folding'}, "task 'folding' is unknown; known are: "),
    ((), {'cameras': '[nose]'}, "the scene has no camera 'nose'; it has: "),
    ((), {'camera_rate_hz': 1000}, 'parameter camera_rate_hz is 1000; it must be 0.1 to 120'),
    ((), {'camera_width': 'wide'}, "parameter camera_width is 'wide'; its type must be int"),
    ((), {'command_type': 'velocity'}, "it must be one of float64_multi_array, joint_trajectory, joint_state"),
    ((), {'real_time_factor': 2.0}, 'real_time_factor 2 needs simulated time; set publish_clock'),
    (('--replay', '/nonexistent'), {}, 'no picture (.png, .jpg, .jpeg) at /nonexistent'),
])
def test_a_wrong_parameter_ends_it_with_one_sentence(arguments, parameters, sentence):
    status, out, errors = Process('/wrong', *arguments, **parameters).end(0)
    assert status == 1 and out == ''
    assert errors.startswith('sim: ') and sentence in errors and errors.count('\n') == 1


@pytest.mark.parametrize('hidden, sentence', [
    ('mujoco', "the simulator needs MuJoCo (No module named 'mujoco'); install it with: pip install"),
    ('gym_aloha', 'the simulator needs the ALOHA scene of gym-aloha; install it with: pip install'),
    ('OpenGL', 'install EGL with: sudo apt-get install libegl1'),
    ('rclpy', "No module named 'rclpy'; source a ROS 2 setup file, or install the wheels with: make setup"),
])
def test_a_missing_library_is_one_line_that_says_what_to_install(tmp_path, hidden, sentence):
    """Runs with a finder in front that hides a package, as where it is not installed."""
    (tmp_path / 'sitecustomize.py').write_text(f'''
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == {hidden!r}:
            raise ModuleNotFoundError("No module named {hidden!r}")
sys.meta_path.insert(0, Hide())
''')
    chosen = environment() | {'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'}
    done = subprocess.run([sys.executable, '-m', 'oxygen_ros', 'sim', '--seconds', '0.1'], env=chosen, text=True,
                          capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and 'Traceback' not in done.stderr, done.stderr
    assert sentence in done.stderr.splitlines()[-1]


def test_an_egl_that_does_not_open_is_one_line():
    chosen = environment() | {'MUJOCO_EGL_DEVICE_ID': '99'}
    done = subprocess.run([sys.executable, '-m', 'oxygen_ros', 'sim', '--seconds', '0.1'], env=chosen, text=True,
                          capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and done.stderr.count('\n') == 1, done.stderr
    assert 'MuJoCo cannot open OpenGL with MUJOCO_GL=egl (' in done.stderr and 'libegl1' in done.stderr


def test_help_and_the_list_of_parameters_need_no_ros():
    for option, text in (('--help', '--replay'), ('--parameters', 'camera_rate_hz (double, default 30.0, 0.1 to 120)')):
        done = subprocess.run([sys.executable, '-m', 'oxygen_ros', 'sim', option], text=True, capture_output=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 0 and text in done.stdout, done.stderr
