"""RViz with the robot, the plan as path and ghost, and the camera with state and text."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, NotEqualsSubstitution, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """
    Start RViz, the drawing node and a second robot_state_publisher for the ghost.

    The robot's own robot_state_publisher and `robot_description` topic are expected to run already. `urdf` is the text
    of the same URDF for the ghost; empty: no ghost.
    """
    arguments = [
        DeclareLaunchArgument('rviz_config', default_value=PathJoinSubstitution(
            [FindPackageShare('oxygen_ros'), 'config', 'oxygen.rviz']), description='RViz configuration file'),
        DeclareLaunchArgument('node', default_value='oxygen', description='name of the policy node'),
        DeclareLaunchArgument('image', default_value='top/image_raw', description='camera topic to write over'),
        DeclareLaunchArgument('urdf', default_value='', description="text of the robot's URDF, for the ghost"),
        DeclareLaunchArgument('root', default_value='world', description='root link of the URDF'),
        DeclareLaunchArgument('use_sim_time', default_value='false', description='time from /clock'),
    ]
    use_sim_time = {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}
    root = LaunchConfiguration('root')
    ghost = IfCondition(NotEqualsSubstitution(LaunchConfiguration('urdf'), ''))
    return LaunchDescription([
        *arguments,
        Node(package='oxygen_ros', executable='viz', output='screen',
             arguments=['--node', LaunchConfiguration('node'), '--image', LaunchConfiguration('image')],
             parameters=[use_sim_time]),
        Node(package='robot_state_publisher', executable='robot_state_publisher', name='ghost_state_publisher',
             condition=ghost, parameters=[use_sim_time, {
                 'robot_description': ParameterValue(LaunchConfiguration('urdf'), value_type=str),
                 'frame_prefix': 'ghost/'}],
             remappings=[('joint_states', 'oxygen/ghost'), ('robot_description', 'oxygen/ghost_description')]),
        Node(package='tf2_ros', executable='static_transform_publisher', name='ghost_root', condition=ghost,
             parameters=[use_sim_time],
             arguments=['--frame-id', root, '--child-frame-id', ['ghost/', root]]),
        Node(package='rviz2', executable='rviz2', arguments=['-d', LaunchConfiguration('rviz_config')],
             parameters=[use_sim_time]),
    ])
