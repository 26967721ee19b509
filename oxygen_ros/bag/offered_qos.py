"""QoS between rclpy and bags: recorded as offered, replayed so that every kind of subscriber gets the topic."""
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

DEPTH = 100  # discovery does not tell the publisher's depth; a slow disk must not lose messages
LATCHED_DEPTH = 10


def to_bag(profile):
    """Bag entry of one publisher's profile (what rosbag2 writes for it)."""
    def time(duration):
        seconds, nanoseconds = divmod(duration.nanoseconds, 10**9)
        return QosTime(seconds, nanoseconds)

    return Qos(
        QosHistory[profile.history.name], profile.depth, QosReliability[profile.reliability.name],
        QosDurability[profile.durability.name], time(profile.deadline), time(profile.lifespan),
        QosLiveliness[profile.liveliness.name], time(profile.liveliness_lease_duration),
        profile.avoid_ros_namespace_conventions)


def to_subscribe(profiles):
    """Profile of a subscription that matches every one of the publishers' profiles, and demands all they all give."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in profiles)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)


def to_publish(recorded):
    """
    Profile of a publisher that replays a topic, from the bag's entries; reliable and volatile where it has none.

    The stronger offer of several wins: it matches every subscriber that one of the recorded publishers matched.
    """
    reliable = not recorded or any(qos.reliability is not QosReliability.BEST_EFFORT for qos in recorded)
    latched = any(qos.durability is QosDurability.TRANSIENT_LOCAL for qos in recorded)
    return QoSProfile(
        depth=max([qos.depth for qos in recorded if qos.depth > 0] + [LATCHED_DEPTH]),
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)
