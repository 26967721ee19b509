"""Questions to other nodes while configuring: a latched URDF, what a controller takes."""
from contextlib import contextmanager
import time

from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

POLL_S = 0.05
TIMEOUT_S = 5.0  # discovery alone can take three seconds


@contextmanager
def _asker(node):
    """A node and an executor of its own, because the caller is inside a callback of the real ones."""
    asker = rclpy.create_node(f'{node.get_name()}_asks', namespace=node.get_namespace(), use_global_arguments=False,
                              start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(asker)
    try:
        yield asker, executor
    finally:
        executor.remove_node(asker)
        executor.shutdown()
        asker.destroy_node()


def _until(executor, condition):
    end = time.monotonic() + TIMEOUT_S
    while not condition() and time.monotonic() < end:
        executor.spin_once(timeout_sec=POLL_S)
    return condition()


def robot_description(node, topic):
    """Text of the URDF that robot_state_publisher latches on `topic`; ValueError when none comes in time."""
    heard = []
    with _asker(node) as (asker, executor):
        asker.create_subscription(String, topic, lambda message: heard.append(message.data), QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        if not _until(executor, lambda: heard):
            raise ValueError(f'no URDF on {asker.resolve_topic_name(topic)} within {TIMEOUT_S:g} s; start the robot '
                             'first, or set robot_description to ""')
    return heard[-1]


def controller(node, name):
    """
    {parameter: values} of `joints`, `interface_name` and `command_interfaces` of a ros2_control controller.

    What it does not have, or does not answer, is an empty tuple.
    """
    found = dict.fromkeys(('joints', 'interface_name', 'command_interfaces'), ())
    with _asker(node) as (asker, executor):
        client = asker.create_client(GetParameters, f'{name}/get_parameters')
        if not _until(executor, client.service_is_ready):
            return found
        for parameter in found:  # one by one: rclcpp answers nothing at all where one of several is not declared
            future = client.call_async(GetParameters.Request(names=[parameter]))
            if not _until(executor, future.done):
                return found  # who is silent once is not asked again: nothing else happens while this waits
            if future.result() is not None:
                found[parameter] = tuple(text for value in future.result().values
                                         for text in (*value.string_array_value, value.string_value) if text)
    return found
