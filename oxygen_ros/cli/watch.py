"""Show state, input rates and ages, tokens and counters of a running node in this terminal."""
import sys
import time


def add_arguments(parser):
    parser.add_argument('--node', default='oxygen', help='name of the node, with its namespace where it has one')
    parser.add_argument('--seconds', type=float, help='end after this long')
    parser.add_argument('--once', action='store_true', help='print one screen as soon as the node is heard, and end')
    parser.add_argument('--timeout', type=float, default=10.0, metavar='S', help='longest wait with --once')


class Watcher:
    """Subscribes to a node's outputs and fills a WatchState."""

    def __init__(self, ros_node, name):
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
        from std_msgs.msg import Float64MultiArray, String

        from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken
        from oxygen_ros.viz.watch_state import WatchState
        self.state = state = WatchState(name)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        # Best effort: a terminal that is too slow must not hold up the robot's publishers.
        light = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        space = name.rpartition('/')[0]
        listen, now = ros_node.create_subscription, time.monotonic
        listen(EngineStatus, f'{name}/status', lambda m: state.on_status(m, now()), latched)
        beside = f'{space}/' if space else ''
        listen(Float64MultiArray, f'{beside}joint_command', lambda m: state.on_command(now()), light, raw=True)
        listen(ActionChunk, f'{name}/action_chunk', lambda m: state.on_chunk(m, now()), light)
        listen(LanguageToken, f'{name}/language/tokens', lambda m: state.on_token(m, now()), 100)
        listen(DiagnosticArray, '/diagnostics', state.on_diagnostics, 10)
        listen(String, f'{beside}instruction', lambda m: setattr(state, 'instruction', m.data), 10)


def run(arguments):
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from rich.console import Console
    from rich.live import Live

    from oxygen_ros.viz.screen import screen
    rclpy.init(args=arguments.ros_arguments)
    node, console = rclpy.create_node('watch'), Console()
    watcher, executor = Watcher(node, arguments.node), SingleThreadedExecutor()
    executor.add_node(node)
    begin_s, status = time.monotonic(), 0
    try:
        if arguments.once:
            while not (watcher.state.status and watcher.state.inputs):
                if time.monotonic() - begin_s > arguments.timeout:
                    status = 1
                    break
                executor.spin_once(timeout_sec=0.1)
            console.print(screen(watcher.state, time.monotonic()))
            return status
        with Live(console=console, screen=sys.stdout.isatty(), auto_refresh=False) as live:
            shown_s = 0.0
            while arguments.seconds is None or time.monotonic() - begin_s < arguments.seconds:
                executor.spin_once(timeout_sec=0.05)
                if time.monotonic() - shown_s > 0.2:
                    shown_s = time.monotonic()
                    live.update(screen(watcher.state, shown_s), refresh=True)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return status
