"""An hour of frames, streams and lifecycle cycles in a few minutes, to see whether memory stays flat."""
import gc
import time

import numpy as np
import rclpy
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String

from oxygen_ros.chaos.pester import resident_mb
from oxygen_ros.executor import callback_executor
from oxygen_ros.node import OxygenNode
from oxygen_ros.share import config_file

FLAT_MB = 20.0  # what memory may grow by once it has settled; of 54000 frames one picture in 2000 kept would be 25
WARM_SHARE = 0.2  # of the cycles, before memory is compared: caches and pools have filled by then
QUESTION_EVERY, INSTRUCTION_EVERY, RESET_EVERY = 20, 50, 500  # frames
TEXTS = ('pick up the red block', 'touch the blue block', 'push the green block to the front')
FRAME_TIMEOUT_S = 30.0


class Soak:
    """
    Feeds one node in this process, without a network between, as fast as its engine takes frames.

    Its callbacks are called as the executor calls them, with messages as they come; it publishes to nobody.
    """

    def __init__(self, params_file, fake):
        overrides = [word for value in ('realtime_priority:=0', 'max_frame_rate_hz:=0.0', 'autostart:=false',
                                        *(['engine.fake:=true'] if fake else [])) for word in ('-p', value)]
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO, args=[
            '--ros-args', '--log-level', 'fatal', '--params-file', str(params_file or config_file('aloha.yaml')),
            *overrides])
        self.node, self.executor = OxygenNode(), callback_executor()
        self.executor.add_node(self.node)
        image = Image(height=480, width=640, step=1920, encoding='rgb8')
        image.data = np.random.default_rng(0).integers(0, 256, 480 * 1920, np.uint8).tobytes()
        self._image = serialize_message(image)
        self.frames = self.texts = self.tokens = 0

    def close(self):
        self.node.end()
        self.executor.remove_node(self.node)
        self.node.destroy_node()
        self.executor.shutdown()
        rclpy.try_shutdown()

    def cycle(self, frames):
        """Configure, activate, run so many frames, deactivate, clean up; RuntimeError where one of that fails."""
        problem = self.node.start()
        if problem:
            raise RuntimeError(problem)
        hear = {subscription.topic_name.rpartition('/')[2]: subscription.callback
                for subscription in self.node.listener.subscriptions}
        parts = self.node.parts
        for i in range(frames):
            if i % INSTRUCTION_EVERY == 0:
                hear['instruction'](serialize_message(String(data=TEXTS[i // INSTRUCTION_EVERY % len(TEXTS)])))
            if i % QUESTION_EVERY == 1:
                hear['question'](serialize_message(String(data='what do you see?')))
            if i % RESET_EVERY == RESET_EVERY - 1:
                parts.reset(parts.timeline.now_ns())
            self._frame(parts, hear)
        counters = parts.runner.counters
        self.frames, self.tokens = self.frames + counters.frames, self.tokens + counters.tokens
        self.texts += parts.runner.texts_finished
        self.node.trigger_deactivate()
        self.node.trigger_cleanup()

    def _frame(self, parts, hear):
        """Show one picture and wait for what the engine makes of it; the node's timers fire meanwhile."""
        before, end_s = parts.runner.counters.frames, time.monotonic() + FRAME_TIMEOUT_S
        limits = parts.loop.controller.limits
        joints = JointState(name=list(parts.profile.joints),
                            position=np.nan_to_num((limits.lower + limits.upper) / 2).tolist())
        while parts.runner.counters.frames == before:
            now_ns = time.time_ns()
            joints.header.stamp.sec, joints.header.stamp.nanosec = divmod(now_ns, 10**9)
            hear['joint_states'](serialize_message(joints))
            stamp = now_ns // 10**9, now_ns % 10**9
            hear['image_raw'](self._image[:4] + np.array(stamp, '<u4').tobytes() + self._image[12:])
            self.executor.spin_once(timeout_sec=0.002)
            if parts.failure() or time.monotonic() > end_s:
                raise RuntimeError(parts.failure() or f'no frame within {FRAME_TIMEOUT_S:g} s: '
                                   f'{parts.state(parts.timeline.now_ns())[1]}')


def soak(frames, cycles, params_file=None, fake=False, say=lambda text: None):
    """
    Figures of so many frames over so many lifecycle cycles.

    `grown_mb` is what a line through the memory at the end of the cycles, the first ones left out, rises by.
    """
    run, memory_mb, done = Soak(params_file, fake), [], 0
    start_s, interrupted = time.monotonic(), False
    try:
        for done in range(1, cycles + 1):
            run.cycle(max(1, frames // cycles))
            gc.collect()
            memory_mb.append(round(resident_mb(), 1))
            say(f'cycle {done} of {cycles}, {run.frames} frames: {memory_mb[-1]:.0f} MB')
    except KeyboardInterrupt:
        interrupted = True
    finally:
        run.close()
    settled = memory_mb[int(len(memory_mb) * WARM_SHARE):]
    slope = np.polyfit(np.arange(len(settled)), settled, 1)[0] if len(settled) > 1 else 0.0
    return {
        'frames': run.frames, 'tokens': run.tokens, 'texts': run.texts, 'cycles': len(memory_mb),
        'interrupted': interrupted, 'timing': {
            'seconds': round(time.monotonic() - start_s, 1), 'memory_mb': memory_mb,
            'grown_mb': round(float(slope) * (len(settled) - 1), 2)}}
