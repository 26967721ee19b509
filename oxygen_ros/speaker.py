"""
The node's mouth: joint commands, chunks, tokens and texts.

Each publisher is used by one thread only: commands by the control loop's, the rest by the engine's. rcl_publish may be
called from any thread, and going through the executor would add its queue to the age of every command and token.
"""
from functools import partial

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros import messages, qos
from oxygen_ros.listener import incompatible
from oxygen_ros.msg import ActionChunk, LanguageToken

HOLD_ACKNOWLEDGED_S = 0.2


class Speaker:
    """Publishers of a configured node; nothing is said unless asked."""

    def __init__(self, node, parts):
        self._node = node
        self._parts = parts
        self._kind = parts.profile.action_kind
        self._publishers = []
        try:
            self._commands = [] if parts.dry_run else [
                (output, self._publisher(messages.TYPES[output.command_type], output.topic, qos.command()))
                for output in parts.outputs]
            self._chunk = self._publisher(ActionChunk, '~/action_chunk', qos.chunk())
            self._trajectory = self._publisher(JointTrajectory, '~/action_trajectory', qos.chunk())
            self._token = self._publisher(LanguageToken, '~/language/tokens', qos.tokens())
            self._text = self._publisher(String, '~/language/text', qos.text())
        except BaseException:
            self.close()
            raise

    def _publisher(self, kind, topic, profile):
        self._publishers.append(self._node.create_publisher(
            kind, topic, profile, qos_overriding_options=qos.overrides(), event_callbacks=PublisherEventCallbacks(
                incompatible_qos=partial(incompatible, self._node, self._parts, topic, 'a subscriber'))))
        return self._publishers[-1]

    def close(self):
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._publishers.clear()

    def command(self, values):
        """Publish one set-point [J]; every message is built before the first leaves, so that both arms move or none."""
        parts = self._parts
        now_ns, period_s = parts.timeline.now_ns(), parts.loop.period_s
        built = [(publisher, messages.command(output, values, self._kind, period_s, now_ns))
                 for output, publisher in self._commands]
        for publisher, message in built:
            publisher.publish(message)

    def hold(self, values):
        """Publish the last set-point there will be and see it delivered, as far as anybody listens."""
        self.command(values)
        for _, publisher in self._commands:
            publisher.wait_for_all_acked(Duration(seconds=HOLD_ACKNOWLEDGED_S))

    def chunk(self, chunk):
        parts = self._parts
        parts.loop.post('offer', chunk, parts.timeline.now_ns(), then=self._judged)
        self._chunk.publish(messages.action_chunk(chunk))
        trajectory = messages.action_trajectory(chunk)
        if trajectory is not None:
            self._trajectory.publish(trajectory)

    def _judged(self, reason):
        """Control thread: what the controller said to a chunk."""
        self._parts.chunk_refusal = reason and f'chunk refused: {reason}'
        if reason:
            self._node.get_logger().warning(f'chunk refused: {reason}', throttle_duration_sec=1.0)

    def token(self, event):
        self._token.publish(messages.language_token(event))

    def text(self, task, text):
        self._text.publish(String(data=text))
