"""
Records every joint command, every measured position and every status, in a process of its own.

It knows nothing about the node: what it wrote is judged afterwards, by judge.py. Run as
`python -m oxygen_ros.chaos.recorder FILE`; SIGINT writes the file and ends it.
"""
import signal
import sys
import time

import numpy as np

STATES = ('unconfigured', 'inactive', 'waiting', 'running', 'holding', 'stopped', 'error')


class Recorder:
    """Collects rows; `save` writes them as arrays."""

    def __init__(self):
        self.commands = []  # (sent ns, received ns, numbers)
        self.measured = []  # (received ns, names, positions)
        self.status = []    # (received ns, state, ticks_lost)
        self._names = ()

    def on_command(self, message, information):
        self.commands.append((information['source_timestamp'], time.time_ns(), np.array(message.data)))

    def on_joints(self, message):
        names = tuple(message.name)
        if names != self._names:  # an hour of messages shares one tuple
            self._names = names
        self.measured.append((time.time_ns(), self._names, np.array(message.position)))

    def on_status(self, message):
        self.status.append((time.time_ns(), message.state, message.ticks_lost))

    def save(self, path):
        width = max((len(row[2]) for row in self.commands), default=0)
        commands = np.full((len(self.commands), width), np.nan)
        for i, (_, _, values) in enumerate(self.commands):
            commands[i, :len(values)] = values
        names = next((row[1] for row in self.measured), ())
        same = [row for row in self.measured if row[1] == names]
        np.savez_compressed(
            path, commands=commands, lengths=np.array([len(row[2]) for row in self.commands], int),
            sent_ns=np.array([row[0] for row in self.commands], np.int64),
            received_ns=np.array([row[1] for row in self.commands], np.int64),
            joints=np.array(names, dtype=str),
            measured=np.array([row[2] for row in same], float).reshape(len(same), len(names)),
            measured_ns=np.array([row[0] for row in same], np.int64),
            status_ns=np.array([row[0] for row in self.status], np.int64),
            status=np.array([STATES.index(row[1]) for row in self.status], int),
            ticks_lost=np.array([row[2] for row in self.status], np.int64))


def main(path):
    import rclpy
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
    from rclpy.signals import SignalHandlerOptions
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    from oxygen_ros.msg import EngineStatus
    ended = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, recorder = rclpy.create_node('chaos_recorder'), Recorder()
    node.create_subscription(Float64MultiArray, 'joint_command', recorder.on_command, 500)
    node.create_subscription(JointState, 'raw/joint_states', recorder.on_joints,
                             QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT))
    node.create_subscription(EngineStatus, 'oxygen/status', recorder.on_status, QoSProfile(
        depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    print('recorder: ready', flush=True)
    while not ended:
        rclpy.spin_once(node, timeout_sec=0.1)
    recorder.save(path)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main(sys.argv[1])
