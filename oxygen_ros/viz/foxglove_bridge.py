"""The graph's topics for Foxglove in a browser or on a laptop without ROS: CDR bytes passed on as they come."""
from collections import Counter
import threading
import time

import foxglove
from foxglove import Channel, Schema
from foxglove.websocket import ServerListener
from rclpy.clock import Clock, ClockType

from oxygen_ros.bag.definitions import define, message_class, standard_types
from oxygen_ros.bag.offered_qos import to_subscribe

LOOK_S = 0.25


class Demand(ServerListener):
    """Counts who wants which topic; called by the server's threads."""

    def __init__(self):
        self._lock, self._wanted = threading.Lock(), Counter()

    def on_subscribe(self, client, channel):
        with self._lock:
            self._wanted[channel.topic] += 1

    def on_unsubscribe(self, client, channel):
        with self._lock:
            self._wanted[channel.topic] -= 1

    def wanted(self):
        """Topics with at least one viewer."""
        with self._lock:
            return {topic for topic, count in self._wanted.items() if count > 0}


class FoxgloveBridge:
    """
    Serves every topic of `node`'s graph on a websocket; nothing can be published or set from the other side.

    A topic is subscribed only while somebody looks at it. Port 0 takes a free one; `port` says which.
    """

    def __init__(self, node, host='127.0.0.1', port=8765):
        self._node, self._store, self._demand = node, standard_types(), Demand()
        self._context = foxglove.Context()
        self._server = foxglove.start_server(name='oxygen_ros', host=host, port=port, server_listener=self._demand,
                                             context=self._context, supported_encodings=['cdr'])
        self.port = self._server.port
        self.refused, self._channels, self._subscriptions = {}, {}, {}
        self._timer = node.create_timer(LOOK_S, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.look()

    def look(self):
        """Offer new topics, and subscribe to those that are looked at."""
        for topic, types in self._node.get_topic_names_and_types():
            if topic not in self._channels and topic not in self.refused:
                self._offer(topic, types)
        wanted = self._demand.wanted() & set(self._channels)
        for topic in wanted - set(self._subscriptions):
            self._subscribe(topic)
        for topic in set(self._subscriptions) - wanted:
            self._node.destroy_subscription(self._subscriptions.pop(topic))

    def _offer(self, topic, types):
        try:
            if len(types) != 1:
                raise LookupError(f'it carries several types: {", ".join(sorted(types))}')
            define(self._store, types[0])
            text, _ = self._store.generate_msgdef(types[0], ros_version=2)
            schema = Schema(name=types[0], encoding='ros2msg', data=text.encode())
            self._channels[topic] = (types[0], Channel(topic, message_encoding='cdr', schema=schema,
                                                       context=self._context))
        except LookupError as error:
            self.refused[topic] = str(error)
            self._node.get_logger().warning(f'topic {topic} is not shown: {error}')

    def _subscribe(self, topic):
        type_name, channel = self._channels[topic]
        offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(topic)]
        if offered:
            self._subscriptions[topic] = self._node.create_subscription(
                message_class(type_name), topic, lambda data: channel.log(data, log_time=time.time_ns()),
                to_subscribe(offered), raw=True)

    def close(self):
        self._node.destroy_timer(self._timer)
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._server.stop()
