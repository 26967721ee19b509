"""Serve all topics to Foxglove (a browser, a laptop without ROS) on a websocket; read-only."""
import sys


def add_arguments(parser):
    parser.add_argument('--host', default='127.0.0.1', help='address to serve on; 0.0.0.0 lets other machines look')
    parser.add_argument('--port', type=int, default=8765)


def run(arguments):
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    try:
        from oxygen_ros.viz.foxglove_bridge import FoxgloveBridge
    except ImportError:
        print('foxglove: the package foxglove-sdk is missing: pip install "oxygen-ros[foxglove]"', file=sys.stderr)
        return 2
    rclpy.init(args=arguments.ros_arguments)
    node, bridge = rclpy.create_node('foxglove'), None
    try:
        bridge = FoxgloveBridge(node, arguments.host, arguments.port)
        print(f'open Foxglove and connect to ws://{arguments.host}:{bridge.port}; '
              'the layout is config/foxglove.json', flush=True)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (RuntimeError, OSError) as error:
        print(f'foxglove: port {arguments.port}: {error}', file=sys.stderr)
        return 1
    finally:
        if bridge:
            bridge.close()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0
