"""The executor of the robot's callbacks."""


def make_executor(context=None):
    """
    An EventsExecutor where rclpy has one, else a SingleThreadedExecutor; for `spin_once(timeout_sec=..)` in a loop.

    Without a timeout the EventsExecutor of rclpy 9.1.2 calls nothing and does not end.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
