"""Run the simulated ALOHA robot: cameras and joint states out, joint commands in.

Every setting is a ROS parameter (`--parameters` lists them): `oxygen_ros sim --ros-args -p task:=blocks -p seed:=3`.
Ctrl-C ends it.
"""
import json
import os
from pathlib import Path
import signal
import sys
import threading
import time


def add_arguments(parser):
    parser.add_argument('--seconds', type=float, metavar='N', help='end after N seconds')
    parser.add_argument('--params-file', metavar='YAML', help="the robot's parameters, for example config/sim.yaml")
    parser.add_argument('--replay', metavar='PATH', help='publish recorded pictures, without MuJoCo and EGL')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write what was counted to FILE at the end')
    parser.add_argument('--parameters', action='store_true', help='list the ROS parameters and end')
    parser.add_argument('--urdf', action='store_true', help="print the robot's URDF and end")


def _failed(sentence):
    print(f'sim: {sentence}', file=sys.stderr)
    return 1


def run(arguments):
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if arguments.parameters:
        from oxygen_ros.sim.parameters import TABLE
        for row in TABLE:
            print(f'{row.name} ({row.type_name}, default {row.default!r}{", " * bool(row.allowed)}{row.allowed}): '
                  f'{row.description}')
        return 0
    try:
        if arguments.urdf:
            from oxygen_ros.sim.scene import Scene
            from oxygen_ros.sim.urdf import urdf
            print(urdf(Scene().model), end='')
            return 0
        return _simulate(arguments, ended)
    except (ValueError, RuntimeError) as error:
        return _failed(error)
    except ModuleNotFoundError as error:
        return _failed(f'{error}; source a ROS 2 setup file, or install the wheels with: make setup')


def _simulate(arguments, ended):
    from oxygen_ros import transport
    transport.configure(os.environ, discovery=False)
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from oxygen_ros.executor import callback_executor
    from oxygen_ros.sim.robot import Robot
    ros = arguments.ros_arguments or ['--ros-args']
    if arguments.params_file:
        if not Path(arguments.params_file).is_file():
            return _failed(f'there is no parameter file {arguments.params_file}')
        # Before the caller's own, which win.
        ros = [ros[0], '--params-file', arguments.params_file, *ros[1:]]
    if arguments.replay:
        ros = [*ros, '-p', f'replay:={arguments.replay}']
    # Its own handlers, so that the threads end before the context they publish through.
    rclpy.init(args=ros, signal_handler_options=SignalHandlerOptions.NO)
    robot = None
    try:
        robot = Robot()
        executor = callback_executor()
        executor.add_node(robot)
        robot.start()
        print(f'sim: ready: {robot.describe()}', flush=True)
        end = time.monotonic() + (arguments.seconds or float('inf'))
        while not ended.is_set() and robot.failure is None and time.monotonic() < end:
            try:
                executor.spin_once(timeout_sec=0.1)
            except Exception as error:  # a message that cannot be read, say; the robot goes on
                robot.get_logger().error(f'a callback failed: {type(error).__name__}: {error}',
                                         throttle_duration_sec=1.0)
        executor.remove_node(robot)
        robot.close()
        summary = robot.summary()
        if arguments.json:
            arguments.json.write_text(json.dumps(summary, indent=2) + '\n')
        print(f'sim: {summary["images_sent"]} images sent, {summary["images_missed"]} missed, '
              f'{summary["joint_states"]} joint states, {summary["commands"]} commands executed, '
              f'{summary["commands_refused"]} refused', flush=True)
        return 0 if robot.failure is None else _failed(robot.failure)
    finally:
        rclpy.try_shutdown()
