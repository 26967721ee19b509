"""Ends of a topic that will never meet because their QoS does not fit, which the middleware does in silence."""
from rclpy.qos import qos_check_compatible, QoSCompatibility

PUBLISHER, SUBSCRIBER = 'a publisher', 'a subscriber'


def note(node, parts, topic, who, event):
    """Keep and say what an incompatible_qos event of this node's end means (image_pipeline#770)."""
    topic = node.resolve_topic_name(topic)
    policy = str(getattr(event.last_policy_kind, 'name', event.last_policy_kind)).lower().rpartition('policy_')[2]
    parts.qos_problems[topic] = f'{who} on {topic} has an incompatible QoS ({policy}); see qos_overrides'
    node.get_logger().warning(parts.qos_problems[topic])


def forget_solved(node, parts):
    """Drop the complaints about ends that have left: no event tells that."""
    for topic in list(parts.qos_problems):
        publishers = node.get_publishers_info_by_topic(topic)
        subscribers = node.get_subscriptions_info_by_topic(topic)
        if all(_fit(publisher, subscriber) for publisher in publishers for subscriber in subscribers
               if _is_of(node, publisher) or _is_of(node, subscriber)):
            parts.qos_problems.pop(topic, None)


def _is_of(node, end):
    return (end.node_name, end.node_namespace) == (node.get_name(), node.get_namespace())


def _fit(publisher, subscriber):
    return qos_check_compatible(publisher.qos_profile, subscriber.qos_profile)[0] != QoSCompatibility.ERROR
