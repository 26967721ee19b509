"""
The node's mouth: joint commands, chunks, tokens and texts.

Each publisher is used by one thread only: commands by the control loop's, the rest by the engine's. rcl_publish may be
called from any thread, and going through the executor would add its queue to the age of every command and token.
"""
from collections import deque
from functools import partial

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros import incompatible, messages, qos
from oxygen_ros.convert.commands import CommandType
from oxygen_ros.msg import ActionChunk, LanguageToken

HOLD_ACKNOWLEDGED_S = 0.2


class Speaker:
    """Publishers of a configured node; nothing is said unless asked. `points` is the length of a short horizon."""

    CHUNK_POINTS = 120

    def __init__(self, node, parts, points):
        self._node = node
        self._parts = parts
        self._points = points
        self._fresh = False  # the last tick came from a chunk
        self._taken = None  # chunk that the controller took since the last tick
        self._unsaid = deque(maxlen=1)  # newest refusal that the log has not seen
        self._trajectories = any(output.command_type is CommandType.JOINT_TRAJECTORY for output in parts.outputs)
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
                incompatible_qos=partial(
                    incompatible.note, self._node, self._parts, topic, incompatible.SUBSCRIBER))))
        return self._publishers[-1]

    def close(self):
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._publishers.clear()

    def command(self, tick):
        """
        Publish what a tick commands, in the control thread.

        Every message is built before the first leaves, so that both arms move or none.
        """
        parts = self._parts
        now_ns, period_s, controller = parts.timeline.now_ns(), parts.loop.period_s, parts.loop.controller
        braking, self._fresh = tick.source != 'fresh' and self._fresh, tick.source == 'fresh'
        ahead = controller.horizon(now_ns, self._points) if self._trajectories else None
        built = []
        for output, publisher in self._commands:
            if output.command_type is CommandType.JOINT_TRAJECTORY:
                built.append((publisher, messages.trajectory(output, ahead, period_s)))
            elif output.command_type is CommandType.JOINT_TRAJECTORY_CHUNK:
                # The robot's controller executes a chunk by itself; when the plan is over or dropped it must be told.
                if braking or self._taken:
                    points = controller.periods_to_rest() + 1 if braking else self._points_of(self._taken, now_ns)
                    built.append((publisher, messages.trajectory(
                        output, controller.horizon(now_ns, points), period_s)))
            else:
                built.append((publisher, messages.command(output, tick.command, self._kind, now_ns)))
        self._taken = None
        for publisher, message in built:
            publisher.publish(message)

    def _points_of(self, chunk, now_ns):
        return max(1, min(self.CHUNK_POINTS, int((chunk.end_ns - now_ns) / 1e9 / self._parts.loop.period_s)))

    def hold(self, values):
        """Publish the last set-point [J] there will be and see it delivered, as far as anybody listens."""
        parts = self._parts
        for output, publisher in self._commands:
            publisher.publish(
                messages.trajectory(output, values[None], parts.loop.period_s)
                if messages.TYPES[output.command_type] is JointTrajectory
                else messages.command(output, values, self._kind, parts.timeline.now_ns()))
        for _, publisher in self._commands:
            publisher.wait_for_all_acked(Duration(seconds=HOLD_ACKNOWLEDGED_S))

    def chunk(self, chunk):
        """Offer a chunk to the controller and show it, unless it would only tempt somebody to move a stopped arm."""
        parts = self._parts
        examined = parts.loop.controller.examine(chunk)
        parts.broken_chunk = examined.refusal
        parts.loop.post('offer', examined, parts.timeline.now_ns(), then=partial(self._judged, chunk))
        if parts.stops.reason:
            return
        self._chunk.publish(messages.action_chunk(chunk))
        trajectory = messages.action_trajectory(chunk)
        if trajectory is not None:
            self._trajectory.publish(trajectory)

    def _judged(self, chunk, reason):
        """Control thread, which must not wait for a log: what the controller said to a chunk."""
        parts = self._parts
        parts.chunk_refusal = reason and f'chunk refused: {reason}'
        if not reason:
            self._taken = chunk
        elif not reason.startswith('stopped'):  # that was said when it stopped
            self._unsaid.append(parts.chunk_refusal)

    def log_refusal(self):
        """Log what was refused since the last call; for the executor's thread."""
        if self._unsaid:
            self._node.get_logger().warning(self._unsaid.popleft(), throttle_duration_sec=1.0)

    def token(self, event):
        self._token.publish(messages.language_token(event))

    def text(self, task, text):
        self._text.publish(String(data=text))
