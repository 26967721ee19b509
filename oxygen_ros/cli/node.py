"""Run the node that drives the robot; give it a parameter file (config/aloha.yaml).

Everything behind --ros-args goes to ROS 2 as it is, so `ros2 launch` and remappings work as for any node.
"""
import os
from pathlib import Path
import signal
import sys

from oxygen_ros import transport


def add_arguments(parser):
    parser.add_argument('--params-file', metavar='YAML', help="the robot's parameters")
    parser.add_argument('--namespace', metavar='NAME', help='namespace of the node and its topics')
    parser.add_argument('--use-sim-time', action='store_true', help='take the time from /clock')
    parser.add_argument('--dry-run', action='store_true', help='do everything except publishing joint commands')
    parser.add_argument('--log-level', choices=('debug', 'info', 'warn', 'error', 'fatal'), default='info')


def ros_arguments(arguments):
    """The command line of a ROS 2 node for these options."""
    ros = ['--ros-args', '--log-level', arguments.log_level]
    if arguments.params_file:
        ros += ['--params-file', arguments.params_file]
    if arguments.namespace:
        ros += ['-r', f'__ns:=/{arguments.namespace.strip("/")}']
    if arguments.use_sim_time:
        ros += ['-p', 'use_sim_time:=true']
    if arguments.dry_run:
        ros += ['-p', 'dry_run:=true']
    return [*ros, *arguments.ros_arguments[1:]]


def run(arguments):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))  # while libraries load nothing moves yet and nothing is to end
    transport.configure(os.environ, discovery=False)  # pictures need more shared memory than the default
    try:
        from oxygen_ros.process import NodeProcess
    except ImportError as error:
        print(f'oxygen_ros node: {error} in {sys.executable}; source a ROS 2 setup file or run `make setup`',
              file=sys.stderr)
        return 1
    if arguments.params_file and not Path(arguments.params_file).is_file():
        print(f'oxygen_ros node: no parameter file {arguments.params_file}', file=sys.stderr)
        return 2
    status = NodeProcess.main(ros_arguments(arguments))
    # All that matters has ended. The interpreter's own ending takes seconds with torch loaded, while launch sends
    # SIGTERM after five, and a second Ctrl-C in it would be told as a crash.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
