"""A subscriber of its own that sees what the robot sees: arrivals of commands, tokens, texts, status."""
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray, String

from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken

RELIABLE_10 = QoSProfile(depth=10)
RELIABLE_100 = QoSProfile(depth=100)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Monitor:
    """Counts what arrives on the node's output topics; nothing here is taken from inside the node but its status."""

    def __init__(self, node):
        self.command_times_s = []
        self.tokens = 0
        self.live = {}           # request id -> text so far
        self.max_live_streams = 0
        self.finished_texts = []
        self.status = None
        self.images_sent = 0
        self.chunk_ages_ms = []  # one a command
        self._chunk_stamp_ns = None
        self._clock = node.get_clock()
        self._instruction = node.create_publisher(String, 'instruction', RELIABLE_10)
        self._question = node.create_publisher(String, 'question', RELIABLE_10)
        node.create_subscription(Float64MultiArray, 'joint_command', self._on_command, RELIABLE_100)
        node.create_subscription(LanguageToken, 'oxygen/language/tokens', self._on_token, RELIABLE_100)
        node.create_subscription(ActionChunk, 'oxygen/action_chunk', self._on_chunk, RELIABLE_10)
        node.create_subscription(EngineStatus, 'oxygen/status', self._on_status, LATCHED)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, RELIABLE_10)

    def instruct(self, text):
        """Publish an instruction."""
        self._instruction.publish(String(data=text))

    def ask(self, text):
        """Publish a question; its answer comes as a stream of the task `question`."""
        self._question.publish(String(data=text))

    def _on_command(self, _):
        self.command_times_s.append(time.monotonic())
        if self._chunk_stamp_ns is not None:
            self.chunk_ages_ms.append((self._clock.now().nanoseconds - self._chunk_stamp_ns) / 1e6)

    def _on_chunk(self, message):
        stamp = message.header.stamp
        self._chunk_stamp_ns = stamp.sec * 10**9 + stamp.nanosec

    def _on_token(self, message):
        if message.token_id >= 0:
            self.tokens += 1
        text = self.live.get(message.request_id, '') + message.text
        self.live[message.request_id] = text
        self.max_live_streams = max(self.max_live_streams, len(self.live))
        if message.finished:
            del self.live[message.request_id]
            self.finished_texts.append((message.task, text, message.finish_reason))

    def _on_status(self, message):
        self.status = message

    def _on_diagnostics(self, message):
        for status in message.status:
            for pair in status.values:
                if pair.key == 'images_sent':
                    self.images_sent = int(pair.value)
