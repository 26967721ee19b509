"""The node as a process of its own, with the shipped parameters for ALOHA and a few others, new for each episode."""
import math
import signal
import subprocess
import sys
import time

from oxygen_ros import share

END_S = 10.0
AGAIN_S = 5.0


class NodeProcess:
    """`python -m oxygen_ros node`; `parameters` {name: value} win over config/aloha.yaml. Close it."""

    def __init__(self, parameters):
        command = [sys.executable, '-m', 'oxygen_ros', 'node', '--params-file', str(share.config_file('aloha.yaml')),
                   '--log-level', 'warn', '--ros-args']
        for name, value in parameters.items():
            command += ['-p', f'{name}:={str(value).lower() if isinstance(value, bool) else value}']
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    @property
    def pid(self):
        return self._process.pid

    @property
    def returncode(self):
        """None while it runs."""
        return self._process.poll()

    def check(self):
        """RuntimeError when it has ended."""
        if self.returncode is not None:
            raise RuntimeError(f'the node ended with {self.returncode}')

    def close(self):
        """Interrupt it, wait, and kill what does not end."""
        if self.returncode is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Lifecycle:
    """
    Configures the node anew for each episode, so that nothing is left in it of the one before.

    `wait(condition, what)` lets ROS work until `condition()`, or raises an error that says what the node did not do.
    """

    def __init__(self, node, wait):
        from lifecycle_msgs.srv import ChangeState
        from rcl_interfaces.srv import SetParameters
        self._wait, self._active = wait, False
        self._set_parameters, self._change_state = SetParameters, ChangeState
        self._setting = node.create_client(SetParameters, 'oxygen/set_parameters')
        self._changing = node.create_client(ChangeState, 'oxygen/change_state')

    def begin(self, seed):
        """Configure and activate the node with the seed of an episode."""
        from lifecycle_msgs.msg import Transition
        from rclpy.parameter import Parameter
        self.end()
        parameter = Parameter('engine.seed', value=seed % 2**31).to_parameter_msg()
        self._call(self._setting, self._set_parameters.Request(parameters=[parameter]), AGAIN_S)
        self._change(Transition.TRANSITION_CONFIGURE, 'be configured')
        self._change(Transition.TRANSITION_ACTIVATE, 'be activated')
        self._active = True

    def end(self):
        """Deactivate the node and have it forget everything."""
        from lifecycle_msgs.msg import Transition
        if self._active:
            self._active = False
            self._change(Transition.TRANSITION_DEACTIVATE, 'be deactivated')
            self._change(Transition.TRANSITION_CLEANUP, 'be cleaned up')

    def _change(self, identifier, what):
        request = self._change_state.Request()
        request.transition.id = identifier
        if not self._call(self._changing, request).success:
            raise RuntimeError(f'the node did not want to {what}; it has said why')

    def _call(self, client, request, again_s=math.inf):
        """
        Give the answer; a request that may be made twice is made again each `again_s`.

        The node drops the answer where it does not know the client's ear yet, which DDS announces apart from its mouth.
        """
        self._wait(client.service_is_ready, f'offer {client.srv_name}')
        asked = []

        def answered():
            if not asked or time.monotonic() - asked[-1][0] > again_s:
                asked.append((time.monotonic(), client.call_async(request)))
            return any(future.done() for _, future in asked)

        self._wait(answered, f'answer {client.srv_name}')
        return next(future.result() for _, future in asked if future.done())
