"""The executor that every process of the package spins its callbacks in."""


def callback_executor(context=None):
    """
    Return the EventsExecutor where there is one: half the lateness of the wait-set executor at a fifth of its cost.

    Spin it with `spin_once(timeout_sec=...)` in a loop: without a timeout that of Kilted fires nothing and cannot be
    interrupted. Not the MultiThreadedExecutor: it loses ticks as soon as another thread works (rclpy#1223, measured
    again here).
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)
