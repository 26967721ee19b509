"""A node in a process of its own commands the arm over ROS 2 topics, in simulated time that waits for it."""
import array
import os
import time

import numpy as np

from oxygen_ros import transport
from oxygen_ros.engine.request import FinishReason, TokenEvent
from oxygen_ros.rollout.node_process import Lifecycle, NodeProcess
from oxygen_ros.rollout.pilot import BLEND_S, DECODE_ROUNDS, MAX_AGE_S, MAX_TOKENS, RAMP_S, SLOTS
from oxygen_ros.sim.joints import JOINTS

ANSWER_S = 120.0  # wall time in which the node must do what is waited for
AGAIN_S = 0.5    # wall time after which a message without an effect is published again: best effort may lose one


def node_parameters(mode, checkpoint, tick_s, draft_tokens=0):
    """The node's parameters that make it the same as an EnginePilot."""
    return {
        'autostart': False, 'use_sim_time': True, 'control_rate_hz': 1 / tick_s, 'realtime_priority': 0,
        'checkpoint': checkpoint, 'engine.mode': mode, 'engine.threads': 1, 'engine.slots': SLOTS,
        'engine.decode_rounds': DECODE_ROUNDS, 'engine.draft_tokens': draft_tokens,
        'image.base_0_rgb.topic': 'tight/image_raw', 'image_max_age_s': MAX_AGE_S, 'joint_max_age_s': MAX_AGE_S,
        'max_frame_rate_hz': 0.0, 'control.blend_s': BLEND_S, 'control.ramp_s': RAMP_S,
        'control.max_chunk_age_s': MAX_AGE_S, 'language.subtask.every_n_frames': 1,
        'language.subtask.max_tokens': MAX_TOKENS, 'question.max_tokens': MAX_TOKENS}


class LockstepPilot:
    """
    The robot's end of the topics: /clock, picture, joint states, instruction and questions out, commands in.

    The node's clock moves only when the command of the tick before has come, and after a picture not before its chunk
    has: what happens depends on the seed alone, however fast either side is. For each episode the node is
    configured anew with that episode's seed, so that nothing is left of the one before. `parameters` are further ones
    of the node, or others.
    """

    def __init__(self, mode, checkpoint, tick_s, draft_tokens=0, **parameters):
        transport.configure(os.environ)
        import rclpy
        from rclpy.signals import SignalHandlerOptions
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import Image, JointState
        from std_msgs.msg import Float64MultiArray, String
        from oxygen_ros import qos
        from oxygen_ros.executor import callback_executor
        from oxygen_ros.msg import ActionChunk, EngineStatus, LanguageToken
        self._types = Clock, Image, JointState, String
        self._context = rclpy.Context()
        rclpy.init(args=['--ros-args'], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = node = rclpy.create_node('rollout', context=self._context)
        self._executor = callback_executor(self._context)
        self._executor.add_node(node)
        self._clock = node.create_publisher(Clock, '/clock', 1)
        self._image = node.create_publisher(Image, 'tight/image_raw', 1)
        self._joints = node.create_publisher(JointState, 'joint_states', 10)
        self._instruction = node.create_publisher(String, 'instruction', qos.text())
        self._question = node.create_publisher(String, 'question', qos.text())
        node.create_subscription(Float64MultiArray, 'joint_command', self._on_command, 100)
        node.create_subscription(ActionChunk, 'oxygen/action_chunk', self._on_chunk, 10)
        node.create_subscription(LanguageToken, 'oxygen/language/tokens', self._on_token, 1000)
        node.create_subscription(EngineStatus, 'oxygen/status', self._on_status, qos.status())
        self._commands, self._chunk_stamps, self._events, self._statuses = [], [], [], []
        self.chunks, self.frame_ms = 0, []
        self._lifecycle = Lifecycle(node, lambda condition, what: self._until(condition, lambda: None, what))
        self._process = NodeProcess({**node_parameters(mode, checkpoint, tick_s, draft_tokens), **parameters})

    def begin(self, seed, text, stamp_ns, now_ns, positions):
        """Start an episode at `now_ns` with a node that has just been configured; the arm stands at `positions`."""
        self._lifecycle.begin(seed)
        for queue in (self._commands, self._chunk_stamps, self._events, self._statuses):
            queue.clear()
        self.chunks = 0

        def introduce():
            self._clock.publish(self._clock_at(now_ns))
            self.feel(positions, stamp_ns)
            self._instruction.publish(self._types[3](data=text))

        def known():
            return any(nanoseconds(s) == now_ns and s.instruction_id == 1 and 'joint_states' not in s.detail
                       for s in self._statuses) and all(
                           self._node.count_publishers(topic) for topic in ('joint_command', 'oxygen/action_chunk'))
        self._until(known, introduce, 'take up the instruction')

    def feel(self, positions, stamp_ns):
        """Publish measured joints [14]."""
        message = self._types[2](name=list(JOINTS), position=positions.tolist())
        stamp(message, stamp_ns)
        self._joints.publish(message)

    def ask(self, question):
        """Publish a question; the command of the tick comes after it has been heard, and the picture after that."""
        self._question.publish(self._types[3](data=question))

    def tick(self, now_ns, hear):
        """Move the node's clock and wait for its command [14]; None where it commands nothing."""
        if not self.chunks:
            return None  # it was told this time in `begin`, and commands nothing before its first chunk
        self._statuses.clear()
        self._until(lambda: self._commands or self._silent(now_ns),
                    lambda: self._clock.publish(self._clock_at(now_ns)), 'command or wait')
        self._deliver(hear)
        return self._commands.pop(0) if self._commands else None

    def look(self, observation, hear):
        """Publish a picture and wait for the chunk that was made from it."""
        picture = observation.images['base_0_rgb']
        height, width, _ = picture.shape
        message = self._types[1](height=height, width=width, encoding='rgb8', step=3 * width,
                                 data=array.array('B', picture.tobytes()))
        stamp(message, observation.stamp_ns)
        self._until(lambda: self._chunk_stamps, lambda: self._image.publish(message), 'make a chunk')
        made_ns = self._chunk_stamps.pop(0)
        if made_ns != observation.stamp_ns:
            raise RuntimeError(f'the node made a chunk of {made_ns} ns from the picture of {observation.stamp_ns} ns')
        self.chunks += 1
        self._deliver(hear)

    def end(self):
        """Let the node forget the episode."""
        self._lifecycle.end()

    def close(self):
        """Stop the node."""
        self._process.close()
        self._executor.remove_node(self._node)
        self._node.destroy_node()
        self._executor.shutdown()
        self._context.try_shutdown()

    @property
    def returncode(self):
        """Exit status of the node's process, None while it runs."""
        return self._process.returncode

    # --- waiting

    def _until(self, condition, publish, what):
        """Publish, and again now and then, until `condition()`; RuntimeError with what the node did not do."""
        end = time.monotonic() + ANSWER_S
        while not condition():
            self._process.check()
            publish()
            again = time.monotonic() + AGAIN_S
            while not condition() and time.monotonic() < again:
                self._executor.spin_once(timeout_sec=AGAIN_S)
            if time.monotonic() > end:
                said = f'; it says: {self._statuses[-1].state}: {self._statuses[-1].detail}' if self._statuses else ''
                raise RuntimeError(f'the node did not {what} within {ANSWER_S:g} s{said}')

    def _silent(self, now_ns):
        """Whether the node has said twice, at this time, that it waits: then its tick is over, without a command."""
        return sum(nanoseconds(s) == now_ns and s.state == 'waiting' for s in self._statuses) > 1

    # --- messages

    def _clock_at(self, now_ns):
        message = self._types[0]()
        message.clock.sec, message.clock.nanosec = divmod(now_ns, 10**9)
        return message

    def _deliver(self, hear):
        while self._events:
            hear(self._events.pop(0))

    def _on_command(self, message):
        self._commands.append(np.array(message.data))

    def _on_chunk(self, message):
        self._chunk_stamps.append(nanoseconds(message))

    def _on_status(self, message):
        self._statuses.append(message)

    def _on_token(self, message):
        self._events.append(TokenEvent(
            message.request_id, message.frame_id, nanoseconds(message), message.task, message.index, message.token_id,
            message.text, FinishReason(message.finish_reason)))


def nanoseconds(message):
    """Stamp of a message's header."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def stamp(message, stamp_ns):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
