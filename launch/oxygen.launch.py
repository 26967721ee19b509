"""The node alone: brought up by lifecycle events, on the cameras and joints that the parameter file names."""
import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, LogInfo, RegisterEventHandler
from launch.conditions import IfCondition
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.parameter_descriptions import ParameterValue
from lifecycle_msgs.msg import Transition


def generate_launch_description():
    share = get_package_share_directory('oxygen_ros')
    arguments = [
        DeclareLaunchArgument('params_file', default_value=os.path.join(share, 'config', 'aloha.yaml'),
                              description="The robot's parameters (YAML)."),
        DeclareLaunchArgument('namespace', default_value='', description='Namespace of the node and its topics.'),
        DeclareLaunchArgument('use_sim_time', default_value='false', description='Take the time from /clock.'),
        DeclareLaunchArgument('log_level', default_value='info', description='debug, info, warn, error or fatal.'),
        DeclareLaunchArgument('autostart', default_value='true',
                              description='Configure and activate the node; false leaves that to a lifecycle manager.'),
        DeclareLaunchArgument('dry_run', default_value='false',
                              description='Do everything except publishing joint commands.'),
    ]
    node = LifecycleNode(
        package='oxygen_ros', executable='node', name='oxygen', namespace=LaunchConfiguration('namespace'),
        output='screen', emulate_tty=True,
        parameters=[LaunchConfiguration('params_file'), {
            'autostart': False,  # the events below do it
            'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool),
            'dry_run': ParameterValue(LaunchConfiguration('dry_run'), value_type=bool)}],
        ros_arguments=['--log-level', LaunchConfiguration('log_level')])
    autostart = IfCondition(LaunchConfiguration('autostart'))
    # `autostart` of LifecycleNode exists from Kilted on; these events do the same on Jazzy.
    configure = EmitEvent(condition=autostart, event=ChangeState(
        lifecycle_node_matcher=matches_action(node), transition_id=Transition.TRANSITION_CONFIGURE))
    activate = RegisterEventHandler(condition=autostart, event_handler=OnStateTransition(
        target_lifecycle_node=node, start_state='configuring', goal_state='inactive', entities=[
            EmitEvent(event=ChangeState(
                lifecycle_node_matcher=matches_action(node), transition_id=Transition.TRANSITION_ACTIVATE))]))
    failed = RegisterEventHandler(condition=autostart, event_handler=OnStateTransition(
        target_lifecycle_node=node, start_state='configuring', goal_state='unconfigured', entities=[
            LogInfo(msg='oxygen: configure failed, see above; put it right and configure again')]))
    return LaunchDescription([*arguments, activate, failed, node, configure])
