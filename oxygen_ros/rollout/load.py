"""Robot and node in wall time under a language request every frame: do chunks and commands keep coming?"""
import itertools
import json
import math
import os
import tempfile
import time

import numpy as np

from oxygen_ros import share, transport
from oxygen_ros.demo.processes import Processes

START_S = 120.0
INSTRUCTION_S = 5.0   # the arm gets another instruction so often, and keeps moving
INSTRUCTIONS = ('pick up the red block', 'go home', 'touch the green block', 'go home', 'pick up the blue block',
                'go home')


class Arrivals:
    """When commands and chunks came, on the wall clock, and which time the chunks are for."""

    def __init__(self, node):
        from std_msgs.msg import Float64MultiArray
        from oxygen_ros import qos
        from oxygen_ros.msg import ActionChunk, EngineStatus
        self.commands, self.chunks, self.status = [], [], None
        node.create_subscription(Float64MultiArray, 'joint_command', self._on_command, 100, raw=True)
        node.create_subscription(ActionChunk, 'oxygen/action_chunk', self._on_chunk, 100)
        node.create_subscription(EngineStatus, 'oxygen/status', self._on_status, qos.status())

    def _on_command(self, _):
        self.commands.append(time.time_ns())

    def _on_chunk(self, message):
        stamp_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        self.chunks.append((time.time_ns(), stamp_ns, stamp_ns + round((message.horizon - 1) * message.dt * 1e9)))

    def _on_status(self, message):
        self.status = message


def figures(commands, chunks, nominal_hz):
    """
    JSON of a time: arrivals of commands [ns], and (arrival, stamp, end) of chunks [ns].

    `margin_ms` is how long before the end of the old chunk a new one came, `expired` how often it came after that.
    """
    arrived, stamped, ends = np.array(chunks, np.int64).T
    margin_ms = (ends[:-1] - arrived[1:]) / 1e6
    age_ms, interval_ms = (arrived - stamped) / 1e6, np.diff(arrived) / 1e6
    rate_hz = (len(commands) - 1) / (commands[-1] - commands[0]) * 1e9
    return {
        'chunk_rate_hz': float(1e3 / interval_ms.mean()), 'chunks': len(chunks), 'expired': int((margin_ms < 0).sum()),
        'margin_min_ms': float(margin_ms.min()), 'chunk_age_p50_ms': float(np.median(age_ms)),
        'chunk_age_p95_ms': float(np.percentile(age_ms, 95)), 'chunk_interval_p50_ms': float(np.median(interval_ms)),
        'chunk_interval_max_ms': float(interval_ms.max()), 'commands': len(commands), 'command_rate_hz': rate_hz,
        'command_rate_error': rate_hz / nominal_hz - 1,
    }


def node_parameters(mode, tokens, weights, draft_tokens, rate_hz):
    """One request of `tokens` tokens a frame and one decode round a frame, no end of sequence, as in the paper."""
    return {
        'engine.mode': mode, 'engine.eos': False, 'engine.slots': tokens + 2, 'engine.decode_rounds': 1,
        'engine.draft_tokens': draft_tokens, 'language.subtask.every_n_frames': 1,
        'language.subtask.max_tokens': tokens, 'max_frame_rate_hz': 0.0, 'control_rate_hz': rate_hz,
        'checkpoint': weights, 'image.base_0_rgb.topic': 'tight/image_raw'}


def measure(mode, tokens, seconds, weights, camera_hz, draft_tokens=0, rate_hz=60.0, settle_s=5.0):
    """Run robot and node, and return the figures of `seconds` from when the batch has had time to fill."""
    transport.configure(os.environ)
    import rclpy
    from std_msgs.msg import String
    from oxygen_ros.executor import callback_executor
    context = rclpy.Context()
    rclpy.init(args=['--ros-args'], context=context)
    node, executor = rclpy.create_node('load', context=context), callback_executor(context)
    executor.add_node(node)
    arrivals = Arrivals(node)
    instruction = node.create_publisher(String, 'instruction', 10)
    texts = itertools.cycle(INSTRUCTIONS)
    try:
        with tempfile.TemporaryDirectory() as folder, Processes(folder, dict(os.environ)) as processes:
            def spin(until, end):
                """Spin until `until()` or the end of the time; instruct the arm anew now and then."""
                due = 0.0
                while not until() and time.monotonic() < end:
                    if time.monotonic() > due:
                        due = time.monotonic() + INSTRUCTION_S
                        instruction.publish(String(data=next(texts)))
                    executor.spin_once(timeout_sec=0.2)
                    processes.check()

            processes.start('robot', 'sim', '--params-file', share.config_file('sim.yaml'), '--ros-args',
                            '-p', f'camera_rate_hz:={camera_hz}')
            parameters = node_parameters(mode, tokens, weights, draft_tokens, rate_hz)
            processes.start('node', 'node', '--params-file', share.config_file('aloha.yaml'), '--ros-args', *(
                word for name, value in parameters.items()
                for word in ('-p', f'{name}:={json.dumps(value) if not isinstance(value, str) else value}')))
            spin(lambda: arrivals.commands and arrivals.chunks, time.monotonic() + START_S)
            if not (arrivals.commands and arrivals.chunks):
                raise RuntimeError(f'no joint command within {START_S:g} s; the node said:\n{processes.tail("node")}')
            spin(lambda: False, time.monotonic() + settle_s)
            before = arrivals.status
            arrivals.commands.clear()
            arrivals.chunks.clear()
            spin(lambda: False, time.monotonic() + seconds)
            commands, chunks, after = list(arrivals.commands), list(arrivals.chunks), arrivals.status
    finally:
        executor.remove_node(node)
        node.destroy_node()
        executor.shutdown()
        context.try_shutdown()
    between_s = time_s(after) - time_s(before)
    return {**figures(commands, chunks, rate_hz), 'mode': mode, 'seconds': seconds, 'drafting': bool(draft_tokens),
            'tokens_per_s': (after.tokens - before.tokens) / between_s, 'live_streams': after.live_streams,
            'ticks_held': after.ticks_held - before.ticks_held, 'ticks_lost': after.ticks_lost - before.ticks_lost,
            'frame_ms': after.frame_ms}


def time_s(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def delay_s(table, mode, tick_s=0.02):
    """The age that 19 of 20 of a mode's chunks stay below in a table that `--load` wrote, rounded up to a tick."""
    if mode not in table.get('modes', {}):
        raise ValueError(f'the load run has no mode {mode}: it has {", ".join(table.get("modes", {})) or "none"}')
    return math.ceil(table['modes'][mode]['chunk_age_p95_ms'] / 1e3 / tick_s) * tick_s
