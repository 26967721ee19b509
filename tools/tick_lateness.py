#!/usr/bin/env python3
"""
Lateness of the joint commands, measured by a subscriber in a process of its own: `python tools/tick_lateness.py`.

The node runs the shipped weights flat out; cameras are a recorded picture, published by another process more often than
the model can look at it, and no arm moves, so the limits are opened. The subscriber asks for the real-time priority
that ros2_control's control loop runs at by default; with --priority 0 it is an ordinary process. A thread beside it
that only sleeps notices where the whole machine stands still, as virtual ones do. Prints and, with --json, writes what
the subscriber saw and what the node counted.
"""
import argparse
import json
import os
from pathlib import Path
import platform
import sys
import tempfile
import threading
import time

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ['PYTHONPATH'] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))

INSIDE = ('ticks', 'ticks_lost', 'late_ms_p50', 'late_ms_p99', 'tick_ms_p50', 'tick_ms_p99', 'collection_ms_max',
          'realtime', 'tokens', 'frame_ms')
WARM_UP_S = 3.0
START_S = 120.0
CAMERA_HZ = 60.0
JOINTS = ('default', 'left_gripper', 'right_gripper')
OPEN = ['max_frame_rate_hz:=0.0', *(f'limits.{joint}.{name}:=1000.0' for joint in JOINTS
                                    for name in ('velocity', 'acceleration', 'jump'))]


class Standstills(threading.Thread):
    """Times (begin, end) in s at which even a thread that only sleeps got no processor for more than `least_s`."""

    def __init__(self, least_s):
        super().__init__(daemon=True)
        self.least_s, self.spans = least_s, []
        self.start()

    def run(self):
        before = time.monotonic()
        while True:
            time.sleep(0.002)
            now = time.monotonic()
            if now - before > self.least_s:
                self.spans.append((before, now))
            before = now

    def ticks_lost(self, arrivals, period_s):
        """Ticks that are missing between two arrivals [n] while the machine stood still."""
        lost = 0
        for before, after in zip(arrivals, arrivals[1:]):
            missing = round((after - before) / period_s) - 1
            if missing > 0 and any(begin < after and end > before for begin, end in self.spans):
                lost += missing
        return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--priority', type=int, default=50, help='SCHED_FIFO priority of the subscriber; 0: none')
    parser.add_argument('--rate', type=float, default=70.0, help='control_rate_hz')
    parser.add_argument('--json', metavar='FILE')
    arguments = parser.parse_args()
    from oxygen_ros import transport
    from oxygen_ros.demo.session import free_domain
    os.environ.setdefault('ROS_DOMAIN_ID', str(free_domain()))
    transport.configure(os.environ)
    figures = measure(arguments.seconds, arguments.rate, arguments.priority)
    print(json.dumps(figures, indent=2))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=2) + '\n')


def measure(seconds, rate_hz, priority):
    import cv2
    from diagnostic_msgs.msg import DiagnosticArray
    import rclpy
    from rclpy.qos import QoSProfile
    from std_msgs.msg import Float64MultiArray, String
    from oxygen_ros.demo.processes import Processes
    from oxygen_ros.demo.punctuality import Punctuality
    from oxygen_ros.executor import callback_executor
    from oxygen_ros.scheduling import become_realtime
    from oxygen_ros.share import config_file
    received, told = [], {}

    def diagnostics(message):
        for status in message.status:
            if status.name.endswith(': state'):
                told['state'] = status.message
            told.update({pair.key: pair.value for pair in status.values})

    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, 'top.png')
        cv2.imwrite(str(picture), np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8))
        with Processes(folder, dict(os.environ)) as processes:
            processes.start('robot', 'sim', '--replay', picture, '--ros-args', '-p', f'camera_rate_hz:={CAMERA_HZ}')
            processes.start('node', 'node', '--params-file', config_file('aloha.yaml'), '--ros-args',
                            *(word for value in (f'control_rate_hz:={rate_hz}', *OPEN) for word in ('-p', value)))
            # From here on, so that the middleware's threads have the priority too, but not the two children.
            realtime = bool(priority) and become_realtime(priority)
            standstills = Standstills(1 / rate_hz)
            rclpy.init()
            node, executor = rclpy.create_node('tick_lateness'), callback_executor()
            executor.add_node(node)
            node.create_subscription(Float64MultiArray, 'joint_command', lambda data: received.append(time.monotonic()),
                                     QoSProfile(depth=100), raw=True)
            node.create_subscription(DiagnosticArray, '/diagnostics', diagnostics, 10)
            instruction = node.create_publisher(String, 'instruction', 10)
            end = time.monotonic() + START_S
            while not received:
                executor.spin_once(timeout_sec=0.5)
                processes.check()
                if instruction.get_subscription_count():
                    instruction.publish(String(data='pick up the red block'))
                if time.monotonic() > end:
                    raise SystemExit(f'no joint command within {START_S:g} s; the node said:\n{processes.tail("node")}')
            begin, frames = time.monotonic() + WARM_UP_S, 0
            while time.monotonic() < begin + seconds:
                executor.spin_once(timeout_sec=0.5)
                if time.monotonic() < begin:
                    frames = int(told.get('frames', 0))
            processes.check()
        rclpy.shutdown()
    arrivals = [at for at in received if at >= begin]
    if len(arrivals) < 2:
        raise SystemExit(f'the node fell silent: {told.get("state")}')
    seen = Punctuality.of(arrivals, 1 / rate_hz)
    stood_s = [end - start for start, end in standstills.spans if start >= begin]
    frames_per_s = (int(told['frames']) - frames) / seconds
    return {
        'seconds': seconds, 'cores': os.cpu_count(), 'kernel': platform.release(), 'load_average': os.getloadavg()[0],
        'control_rate_hz_target': rate_hz, 'control_rate_hz': round(seen.rate_hz, 3), 'ticks_lost': seen.lost,
        'ticks_lost_in_standstills': standstills.ticks_lost(arrivals, 1 / rate_hz),
        'standstills': len(stood_s), 'standstills_ms_total': round(sum(stood_s) * 1e3, 1),
        'control_late_ms_p50': round(seen.late_ms_p50, 3), 'control_late_ms_p99': round(seen.late_ms_p99, 3),
        'subscriber_priority': priority if realtime else 0, 'frames_per_s': round(frames_per_s, 1),
        'engine_busy': round(frames_per_s * float(told['frame_ms']) / 1e3, 2),
        'node': {name: told.get(name) for name in INSIDE}}


if __name__ == '__main__':
    main()
