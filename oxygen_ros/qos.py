"""Quality of service of every topic; all but what stops can be overridden from YAML under `qos_overrides`."""
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
    """Joint commands: reliable, newest only."""
    return _profile(1, ReliabilityPolicy.RELIABLE)


def stop(reliable):
    """
    The emergency stop: best effort hears every publisher, reliable loses nothing of those that repeat what is lost.

    Deep, because a press must not be pushed out by what follows while the executor waits for a model to load.
    """
    return _profile(1000, ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT)


def latched_stop():
    """What a latched emergency stop said last before it was heard; it hears such publishers only."""
    return _profile(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)


def latches(profile):
    """True where a publisher of this profile gives its last message to those that come later."""
    return profile.durability is DurabilityPolicy.TRANSIENT_LOCAL \
        and profile.reliability is ReliabilityPolicy.RELIABLE


def heartbeat(reliable):
    return _profile(1, ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT)


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
