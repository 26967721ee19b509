"""Spins the node's callbacks until it is told to end, and ends it holding."""
import signal
import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from oxygen_ros.executor import callback_executor
from oxygen_ros.listener import sentence
from oxygen_ros.node import OxygenNode

POLL_S = 0.1
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # a person, the system, a terminal or ssh that is lost


class NodeProcess:
    """
    One OxygenNode with its executor and its signals.

    The node's own threads do the work: the engine's, which owns all of torch from loading to closing, and the control
    loop's. This one spins callbacks that cost microseconds. rclpy's signal handlers would close the context before the
    arm could be told to hold, so signals are taken here and only ask for the end.
    """

    @classmethod
    def main(cls, arguments):
        """Run with the arguments of a ROS 2 node and return the exit status; 2 for arguments that will not do."""
        try:
            process = cls(arguments)
        except RuntimeError as error:  # rcl's errors: a level or a remapping that it does not understand
            print(f'oxygen_ros node: {sentence(error)}', file=sys.stderr)
            return 2
        return process.run()

    def __init__(self, arguments=None):
        self.signalled = False
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        for number in ENDING:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup means to outlive it
                signal.signal(number, self._on_signal)

    def _on_signal(self, number, frame):
        self.signalled = True

    def run(self, autostart=None):
        """
        Run until a signal or a shutdown transition; return the exit status.

        `autostart` configures and activates at once, None leaves it to the parameter; then a failure ends the process
        with status 1, while a node that is started by lifecycle events stays up to be configured again.
        """
        executor, node = callback_executor(), None
        try:
            try:
                node = OxygenNode(interrupted=lambda: self.signalled)
            except RuntimeError as error:  # a parameter file that is no YAML, a name that is none
                print(f'oxygen_ros node: {sentence(error)}', file=sys.stderr)
                return 2
            executor.add_node(node)
            if node.parameters['autostart'] if autostart is None else autostart:
                problem = node.start()
                if problem and not self.signalled:
                    print(f'oxygen_ros node: {problem}', file=sys.stderr)
                    return 1
            while rclpy.ok() and not self.signalled and not node.finished:
                self._spin(executor, node)
            return 0
        except (KeyboardInterrupt, ExternalShutdownException):
            return 0
        finally:
            if node is not None:
                node.end()
                executor.remove_node(node)
                node.destroy_node()
            executor.shutdown()
            rclpy.try_shutdown()
            for number in ENDING:
                signal.signal(number, signal.SIG_IGN)  # launch repeats what the terminal has sent already

    @staticmethod
    def _spin(executor, node):
        try:
            # With no timeout the EventsExecutor of Kilted fires nothing and cannot be interrupted.
            executor.spin_once(timeout_sec=POLL_S)
        except (KeyboardInterrupt, ExternalShutdownException):
            raise
        except Exception as error:
            # One callback failed; the arm is in the hands of the control thread and the others must go on.
            node.get_logger().error(f'a callback failed: {type(error).__name__}: {error}', throttle_duration_sec=1.0)
