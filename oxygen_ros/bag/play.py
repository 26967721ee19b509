"""Play a bag onto live topics with its timing; whatever could move a robot goes out under another name."""
import threading
import time

from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from oxygen_ros.bag.definitions import message_class
from oxygen_ros.bag.offered_qos import to_publish
from oxygen_ros.bag.play_names import names_to_play

SLICE_S = 0.05  # longest sleep, so that a stop or a pause is seen


class Player:
    """
    Publishes a bag's messages from `node` at the pace of `clock` (seconds, monotonic).

    `play()` blocks in the calling thread; `stop()` and `paused` (an Event) may be used from others. Topics whose
    type is not installed here are left out and told in `refused`. `lateness_s` has one value a message of the last
    pass (bounded), `published` counts all.
    """

    def __init__(self, node, bag, options, *, clock=time.monotonic, sleep=time.sleep):
        self.options, self.paused, self.published, self.lateness_s, self.refused = options, threading.Event(), 0, [], {}
        self._node, self._bag, self._clock, self._sleep = node, bag, clock, sleep
        self._stopped = threading.Event()
        if options.start_s * 1e9 > bag.end_ns - bag.start_ns:
            raise ValueError(f'start {options.start_s} s lies behind the end of the bag, which lasts '
                             f'{(bag.end_ns - bag.start_ns) / 1e9:.1f} s')
        self.names, self._publishers = {}, {}
        for name, target in names_to_play(bag.topics, options).items():
            try:
                cls = message_class(bag.topics[name].type)
            except LookupError as error:
                self.refused[name] = str(error)
                continue
            self.names[name] = target
            self._publishers[name] = node.create_publisher(cls, target, to_publish(bag.topics[name].qos))
        if not self._publishers:
            raise ValueError(f'nothing to play: {"; ".join(self.refused.values()) or "no topic is left"}')
        self._ticker = None
        if options.clock_hz:
            quality = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._ticker = node.create_publisher(Clock, '/clock', quality)

    def wait_for_subscribers(self, timeout_s):
        """Wait until every played topic has a subscriber, at most `timeout_s`; return the topics without one."""
        end_s = self._clock() + timeout_s
        while True:
            alone = [self.names[name] for name, p in self._publishers.items() if not p.get_subscription_count()]
            if not alone or self._clock() >= end_s or self._stopped.is_set():
                return alone
            self._sleep(0.02)

    def stop(self):
        self._stopped.set()

    def play(self):
        """Play once, or until `stop()` with `loop`."""
        while not self._stopped.is_set():
            self._pass()
            if not self.options.loop:
                return

    def _pass(self):
        options, start_ns = self.options, self._bag.start_ns + round(self.options.start_s * 1e9)
        self.lateness_s = []
        self._origin_s = self._clock()
        step_ns = max(1, round(1e9 / options.clock_hz * options.rate)) if options.clock_hz else 0
        tick_ns = start_ns
        for name, time_ns, data in self._bag.messages(set(self._publishers), start_ns):
            while step_ns and tick_ns <= time_ns:
                if not self._wait_until((tick_ns - start_ns) / 1e9 / options.rate):
                    return
                message = Clock()
                message.clock.sec, message.clock.nanosec = divmod(tick_ns, 10**9)
                self._ticker.publish(message)
                tick_ns += step_ns
            due_s = (time_ns - start_ns) / 1e9 / options.rate
            if not self._wait_until(due_s):
                return
            if len(self.lateness_s) < 10**6:
                self.lateness_s.append(self._clock() - self._origin_s - due_s)
            self._publishers[name].publish(bytes(data))
            self.published += 1

    def _wait_until(self, due_s):
        """Sleep until `due_s` after the start of the pass, pauses not counted; False once stopped."""
        while not self._stopped.is_set():
            if self.paused.is_set():
                before_s = self._clock()
                self._sleep(SLICE_S)
                self._origin_s += self._clock() - before_s
                continue
            left_s = self._origin_s + due_s - self._clock()
            if left_s <= 0:
                return True
            self._sleep(min(left_s, SLICE_S))
        return False

    def close(self, flush_s=1.0):
        """Take the publishers away once reliable subscribers have everything, or after `flush_s` each."""
        for publisher in [*self._publishers.values(), *([self._ticker] if self._ticker else [])]:
            publisher.wait_for_all_acked(Duration(seconds=flush_s))
            self._node.destroy_publisher(publisher)
