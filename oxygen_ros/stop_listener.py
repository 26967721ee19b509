"""The node's ears for the emergency stop and the heartbeat, from its first moment to its last."""
import time

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import ReliabilityPolicy
from std_msgs.msg import Bool, Empty

from oxygen_ros import messages, qos
from oxygen_ros.heard import Heard
from oxygen_ros.listener import sentence

TOPIC = 'emergency_stop'
BOOL = 'std_msgs/msg/Bool'


class StopListener:
    """
    Subscribes so that every publisher is heard, and tells `stops`; in the executor's thread.

    A subscription that asks for reliability or for latched samples does not hear the publishers that offer neither, so
    there are several and a message may come more than once, which does no harm.
    """

    def __init__(self, node, stops):
        self._node, self._stops = node, stops
        self._topic = node.resolve_topic_name(TOPIC)
        self._publishers = 0  # when `look` was here last
        self._latched = None  # from the first latched publisher on
        self.subscriptions = [
            *(self._subscribe(Bool, TOPIC, self._on_emergency_stop, qos.stop(reliable)) for reliable in (False, True)),
            *(self._subscribe(Empty, 'heartbeat', self._on_heartbeat, qos.heartbeat(reliable))
              for reliable in (False, True))]

    def look(self):
        """See who publishes the emergency stop, where that changed: a press before our time, a button of no use."""
        count = self._node.count_publishers(self._topic)
        if count == self._publishers:
            return
        self._publishers = count
        publishers = self._node.get_publishers_info_by_topic(self._topic)
        if self._latched is None and any(qos.latches(publisher.qos_profile) for publisher in publishers):
            self._latched = self._subscribe(Bool, TOPIC, self._on_emergency_stop, qos.latched_stop())
        wrong = {publisher.topic_type for publisher in publishers} - {BOOL}
        self._stops.hear(f'a publisher on {self._topic} cannot be heard: it is {", ".join(sorted(wrong))}, it must be '
                         f'{BOOL} (ros2 topic info -v names it)' if wrong else '')

    def _subscribe(self, kind, topic, callback, profile):
        counted = profile.reliability is ReliabilityPolicy.BEST_EFFORT  # the one that every publisher's messages reach

        def guarded(data):
            parts = self._node.parts if counted else None
            heard = parts and parts.heard.setdefault(topic, Heard(self._node.resolve_topic_name(topic)))
            if heard:
                heard.note(parts.timeline.now_ns())
            try:
                callback(data)
            except Exception as error:
                problem = f'message on {topic} refused: {sentence(error)}'
                self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
                if heard:
                    parts.messages_refused += 1
                    heard.refuse(problem)
        # Without the default events: who is not heard by one of them is heard by another.
        return self._node.create_subscription(
            kind, topic, guarded, profile, raw=True,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))

    def _on_emergency_stop(self, data):
        self._stops.press(messages.deserialise(data, Bool).data)

    def _on_heartbeat(self, data):
        self._stops.heartbeat.feed(time.monotonic_ns())
