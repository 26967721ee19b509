"""The node on simulated time lives through a played bag: loops, pauses and another rate."""
import threading
import time

import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot_bag import RobotBag
from std_msgs.msg import Float64MultiArray

from oxygen_ros import share
from oxygen_ros.bag.play import Player
from oxygen_ros.bag.play_names import PlayOptions
from oxygen_ros.bag.read import Bag
from oxygen_ros.evaluate.parameters import FileParameters
from oxygen_ros.executor import callback_executor
from oxygen_ros.msg import EngineStatus
from oxygen_ros.node import OxygenNode


@pytest.fixture
def node():
    rclpy.init()
    values = FileParameters(share.config_file('aloha.yaml'), {'engine.fake': True, 'realtime_priority': 0}).plain()
    node = OxygenNode(parameter_overrides=[
        Parameter(name, value=list(value) if isinstance(value, tuple) else value)
        for name, value in {**values, 'use_sim_time': True}.items()])
    yield node
    node.end()
    node.destroy_node()
    rclpy.shutdown()


def test_the_node_follows_a_bag_through_loops_a_pause_and_a_faster_rate(node, tmp_path):
    bench, executor = rclpy.create_node('bench'), callback_executor()
    for one in (node, bench):
        executor.add_node(one)
    seen, commands, states = {}, [], []
    bench.create_subscription(EngineStatus, 'oxygen/status', lambda m: (seen.update(status=m), states.append(m.state)),
                              QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    bench.create_subscription(Float64MultiArray, 'joint_command', lambda m: commands.append(time.monotonic()), 100)

    def spin(condition, what, timeout_s=40):
        end = time.monotonic() + timeout_s
        while not condition():
            executor.spin_once(timeout_sec=0.02)
            assert time.monotonic() < end, f'{what}: {seen.get("status")}'

    assert node.start() == ''
    with Bag(RobotBag(seconds=2.0).write(tmp_path / 'run')) as bag:
        player_node = rclpy.create_node('player')
        player = Player(player_node, bag, PlayOptions(loop=True, rate=1.5, clock_hz=100.0))
        passes, original = [], player._pass
        player._pass = lambda: (passes.append(1), original())
        thread = threading.Thread(target=player.play)
        try:
            player.wait_for_subscribers(0.5)
            thread.start()
            spin(lambda: commands and seen['status'].state == 'running', 'it commands')
            spin(lambda: len(passes) >= 3, 'the bag starts over')
            loops, frames = len(passes), seen['status'].frames
            spin(lambda: len(passes) > loops, 'the bag starts over again')
            spin(lambda: seen['status'].frames > frames + 5, 'frames go on after a loop')
            player.paused.set()
            spin(lambda: time.monotonic() - commands[-1] > 0.5, 'commands stop while time stands still')
            player.paused.clear()
            count = len(commands)
            spin(lambda: len(commands) > count + 20 and seen['status'].state == 'running', 'it goes on after a pause')
        finally:
            player.stop()
            if thread.is_alive():
                thread.join()
            player.close(0.1)
            player_node.destroy_node()
            executor.shutdown()
            bench.destroy_node()
    assert 'error' not in states and 'stopped' not in states
    # The recorded commands are kept aside: the only publisher of joint_command was the node.
    assert player.names['/joint_command'] == '/recorded/joint_command'
