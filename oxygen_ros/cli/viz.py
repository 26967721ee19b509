"""Publish pictures and shapes for RViz or Foxglove: text over the camera, the planned path, a ghost of the robot."""


def add_arguments(parser):
    parser.add_argument('--node', default='oxygen', help='name of the policy node')
    parser.add_argument('--image', default='top/image_raw', help='camera topic to write over')
    parser.add_argument('--rate', type=float, default=10.0, help='most pictures a second')


def run(arguments):
    import rclpy
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

    from oxygen_ros.viz.node import VizNode
    rclpy.init(args=arguments.ros_arguments)
    node = VizNode(arguments.node, arguments.image, arguments.rate)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0
