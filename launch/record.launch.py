"""Record what a run needs to be replayed, evaluated and shown, to mcap: with rosbag2 where it is installed."""
import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction

TOPICS = ('top/image_raw left_wrist/image_raw right_wrist/image_raw joint_states joint_command instruction question '
          'oxygen/action_chunk oxygen/language/tokens oxygen/language/text oxygen/status /diagnostics '
          'robot_description')


def record(context):
    """Choose the recorder when the arguments are known; both take the publishers' QoS as it is."""
    values = context.launch_configurations
    directory, topics = values['directory'], values['topics'].split()
    own = [sys.executable, '-m', 'oxygen_ros', 'record', directory, *topics]
    bag = ['ros2', 'bag', 'record', '--storage', 'mcap', '--output', directory, '--topics', *topics]
    try:
        from ament_index_python.packages import get_package_prefix
        get_package_prefix('ros2bag')
        get_package_prefix('rosbag2_storage_mcap')
        command = bag
    except (ImportError, LookupError, OSError):
        command = own
    return [ExecuteProcess(cmd=command, output='screen', sigterm_timeout='10')]


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('directory', description='folder of the new bag; must not exist'),
        DeclareLaunchArgument('topics', default_value=TOPICS, description='topics to record, separated by spaces'),
        OpaqueFunction(function=record),
    ])
