"""Quality of service of every topic; each can be overridden from YAML under `qos_overrides`."""
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions


def _profile(depth, reliability, durability=DurabilityPolicy.VOLATILE):
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability)


def image():
    """Best effort, newest only; a best-effort subscriber hears every publisher."""
    return _profile(1, ReliabilityPolicy.BEST_EFFORT)


def joints():
    """Best effort; a few deep, because several drivers may publish their part of the joints at the same time."""
    return _profile(10, ReliabilityPolicy.BEST_EFFORT)


def text():
    """Instructions and questions: every ordinary publisher matches, `ros2 topic pub` included."""
    return _profile(10, ReliabilityPolicy.RELIABLE)


def command():
    """Joint commands and the emergency stop: reliable, newest only."""
    return _profile(1, ReliabilityPolicy.RELIABLE)


def tokens():
    return _profile(100, ReliabilityPolicy.RELIABLE)


def chunk():
    return _profile(5, ReliabilityPolicy.RELIABLE)


def diagnostics():
    return _profile(10, ReliabilityPolicy.RELIABLE)


def status():
    """Latched, so that a viewer that comes late sees the state at once."""
    return _profile(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)


def overrides():
    """Lets YAML change history, depth and reliability of one topic."""
    return QoSOverridingOptions.with_default_policies()
