"""The launch file with the real launch: its lifecycle events bring the node up, and Ctrl-C ends both."""
import importlib.util
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest
import rclpy
from std_msgs.msg import String
import yaml

import rig as rigs

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None, reason='launch_ros is not installed (it is not on PyPI)')
ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 90.0  # two processes that import everything, on a busy machine
LAUNCH = '''
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]), launch_arguments=[word.split(':=') for word in sys.argv[2:]])]))
sys.exit(service.run())
'''


def installed(prefix):
    """An ament prefix with this checkout in it, as colcon would install it."""
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    share, executables = prefix / 'share' / 'oxygen_ros', prefix / 'lib' / 'oxygen_ros'
    for folder in (index, share, executables):
        folder.mkdir(parents=True)
    (index / 'oxygen_ros').touch()
    for name in ('launch', 'config'):
        (share / name).symlink_to(ROOT / name)
    (executables / 'node').write_text(f'#!{sys.executable}\n' + (ROOT / 'scripts' / 'verb').read_text())
    (executables / 'node').chmod(0o755)
    return prefix


@pytest.mark.parametrize('autostart', [True, False])
def test_the_events_of_the_launch_file_bring_the_node_up_unless_told_not_to(tmp_path, monkeypatch, autostart):
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump({'/**/oxygen': {'ros__parameters': {
        parameter.name: parameter.value for parameter in rigs.aloha_parameters()}}}))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH')))))
    environment['AMENT_PREFIX_PATH'] = os.pathsep.join(
        (str(installed(tmp_path / 'prefix')), environment.get('AMENT_PREFIX_PATH', sys.prefix)))
    # The node under test is the one that is launched, and no other ever had its services.
    monkeypatch.setattr(rigs, 'OxygenNode', lambda namespace, **_: rclpy.create_node('nobody', namespace=namespace))
    rig = rigs.Rig()
    with open(tmp_path / 'log', 'w') as log:
        launched = subprocess.Popen(
            [sys.executable, '-c', LAUNCH, str(ROOT / 'launch' / 'oxygen.launch.py'), f'params_file:={file}',
             f'namespace:={rig.namespace}', f'autostart:={autostart}'],
            env=environment, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        rig.until(lambda: rig.statuses or launched.poll() is not None, 'a status', TIMEOUT_S)
        assert rig.statuses, (tmp_path / 'log').read_text()
        if autostart:
            rig.until(lambda: rig.status.state == 'waiting', 'configured and activated', TIMEOUT_S)
            rig.until(lambda: rig.instruction.get_subscription_count(), 'the node listens')
            rig.sources += [rig.send_picture, rig.send_joints]
            rig.instruction.publish(String(data='go'))
            rig.until_running()
        else:
            count = len(rig.statuses)
            rig.until(lambda: len(rig.statuses) > count + 2, 'more than two seconds')
            assert {status.state for status in rig.statuses} == {'unconfigured'}
            rig.transition(1)  # a lifecycle manager's configure
            rig.until_state('inactive')
        launched.send_signal(signal.SIGINT)
        rig.until(lambda: launched.poll() is not None, 'the end', TIMEOUT_S)
        assert launched.returncode == 0, (tmp_path / 'log').read_text()
        assert rig.status.state == 'unconfigured'
    finally:
        if launched.poll() is None:
            os.killpg(launched.pid, signal.SIGKILL)
            launched.wait()
        rig.executor.shutdown()
        for node in (rig.robot, rig.node):
            node.destroy_node()
