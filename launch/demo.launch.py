"""The simulated ALOHA robot and the node that drives it; give it an instruction on the topic `instruction`."""
import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PASSED_ON = ('params_file', 'namespace', 'use_sim_time', 'log_level', 'autostart', 'dry_run')


def generate_launch_description():
    share = get_package_share_directory('oxygen_ros')
    arguments = [
        DeclareLaunchArgument('params_file', default_value=os.path.join(share, 'config', 'aloha.yaml'),
                              description="The node's parameters (YAML)."),
        DeclareLaunchArgument('robot_params_file', default_value=os.path.join(share, 'config', 'sim.yaml'),
                              description="The simulated robot's parameters (YAML)."),
        DeclareLaunchArgument('namespace', default_value='', description='Namespace of robot and node.'),
        DeclareLaunchArgument('use_sim_time', default_value='false',
                              description='Run in simulated time, which the robot publishes on /clock.'),
        DeclareLaunchArgument('log_level', default_value='info', description='debug, info, warn, error or fatal.'),
        DeclareLaunchArgument('autostart', default_value='true', description='Configure and activate the node.'),
        DeclareLaunchArgument('dry_run', default_value='false',
                              description='The node does everything except publishing joint commands.'),
    ]
    robot = Node(
        package='oxygen_ros', executable='sim', name='robot', namespace=LaunchConfiguration('namespace'),
        output='screen', remappings=[('tight/image_raw', 'top/image_raw')],  # over the blocks, the near camera
        parameters=[LaunchConfiguration('robot_params_file'), {
            'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}],
        ros_arguments=['--log-level', LaunchConfiguration('log_level')])
    node = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(os.path.join(share, 'launch', 'oxygen.launch.py')),
        launch_arguments=[(name, LaunchConfiguration(name)) for name in PASSED_ON])
    return LaunchDescription([*arguments, robot, node])
