"""Random and mutated messages on every input of a node in this process, without a network between."""
from contextlib import contextmanager
import gc
import os
import random
import struct
import sys
import time
import zlib

import numpy as np
import rclpy
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CompressedImage, Image, JointState
from std_msgs.msg import Bool, Empty, String

from oxygen_ros.chaos import mutate
from oxygen_ros.listener import decode
from oxygen_ros.node import OxygenNode
from oxygen_ros.share import config_file

SAMPLES = 10  # of the memory, over the run
COLLECT_EVERY = 1000  # messages: nobody spins this node, whose timer does it otherwise
WARM_SHARE = 0.2  # of the messages, before memory is compared: caches and pools have filled by then
# Over the parameters of aloha.yaml: a camera of each transport.
OVERRIDES = {
    'views': '[base_0_rgb, left_wrist_0_rgb]', 'image.left_wrist_0_rgb.topic': 'left_wrist/image_raw/compressed',
    'image.left_wrist_0_rgb.transport': 'compressed', 'engine.fake': 'true', 'realtime_priority': '0'}
FORMATS = ('', 'jpeg', 'png', 'rgb8; jpeg compressed bgr8', 'bgr8; png compressed rgb8')
HUGE = 30_000  # pixels a side that some files claim


def resident_mb():
    """Resident memory of this process, 0.0 where the system does not tell."""
    try:
        with open('/proc/self/statm') as file:
            return int(file.read().split()[1]) * 4096 / 2**20
    except OSError:
        return 0.0


def peak_mb():
    """Most memory that this process ever had resident, 0.0 where the system does not tell."""
    try:  # getrusage would count what the process that started this one had
        with open('/proc/self/status') as file:
            return next(int(line.split()[1]) for line in file if line.startswith('VmHWM:')) / 1024
    except (OSError, StopIteration):
        return 0.0


@contextmanager
def middleware_silenced():
    """The middleware prints a line a broken message, past Python; nobody wants a million of them."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def files(random):
    """Real JPEG and PNG files, plain and progressive, grey and colour, and two that claim a huge picture."""
    import cv2
    colour = np.frombuffer(random.randbytes(24 * 32 * 3), np.uint8).reshape(24, 32, 3)
    made = [cv2.imencode('.jpg', colour), cv2.imencode('.jpg', colour, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]),
            cv2.imencode('.jpg', colour[..., 0]), cv2.imencode('.png', colour), cv2.imencode('.png', colour[..., 0]),
            cv2.imencode('.png', colour.astype(np.uint16) * 257)]
    good = [data.tobytes() for _, data in made]
    jpeg, png = bytearray(good[0]), bytearray(good[3])
    place = jpeg.index(b'\xff\xc0') + 5  # behind marker, length and depth
    jpeg[place:place + 4] = struct.pack('>HH', HUGE, HUGE)
    png[16:24] = struct.pack('>II', HUGE, HUGE)
    png[29:33] = struct.pack('>I', zlib.crc32(png[12:29]))
    return [*good, bytes(jpeg), bytes(png)]


def broken(random, kind, samples, pictures):
    """A broken message of a type: its bytes are mutated, or those of the file that it carries."""
    if kind is CompressedImage and random.random() < 0.5:
        return serialize_message(CompressedImage(
            format=random.choice(FORMATS), data=mutate.any_of(random, pictures)))
    return mutate.any_of(random, samples)


def samples_of(kind, joints, pictures):
    """Serialised good messages of a type, to be mutated."""
    names, positions = list(joints), [0.1] * len(joints)
    good = {
        Image: [Image(height=6, width=8, step=24, encoding='rgb8', data=bytes(144)),
                Image(height=6, width=8, step=16, encoding='yuyv', data=bytes(96)),
                Image(height=6, width=8, step=8, encoding='bayer_rggb8', data=bytes(48))],
        CompressedImage: [CompressedImage(format='', data=data) for data in pictures],
        JointState: [JointState(name=names, position=positions), JointState(name=names[:3], position=positions[:3])],
        String: [String(data='put the red block on the left'), String(data=''), String(data='Räum \u200b auf')],
        Bool: [Bool(), Bool(data=True)], Empty: [Empty()]}
    return [serialize_message(message) for message in good[kind]]


def pester_node(count, seed, say=lambda text: None):
    """
    Give `count` broken messages to each input of a node with raw and compressed cameras; gives what became of them.

    `crashes` counts exceptions that a callback let out, any of which would have ended the executor.
    """
    overrides = [word for name, value in OVERRIDES.items() for word in ('-p', f'{name}:={value}')]
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO, args=[
        '--ros-args', '--log-level', 'fatal', '--params-file', str(config_file('aloha.yaml')), *overrides])
    node = OxygenNode()
    try:
        problem = node.start()
        if problem:
            raise RuntimeError(problem)
        with middleware_silenced():
            return _pester(node, count, random.Random(seed), say)
    finally:
        node.end()
        node.destroy_node()
        rclpy.try_shutdown()


def _pester(node, count, source, say):
    parts, subscriptions = node.parts, [*node.listener.subscriptions, *node.stop_listener.subscriptions]
    inputs = list({subscription.topic_name: subscription for subscription in subscriptions}.values())
    views = {stream.topic: view for view, stream in parts.inputs.views.items()}
    transports = {view: node.parameters[f'image.{view}.transport'] for view in views.values()}
    pictures = files(source)
    good = {s.topic_name: samples_of(s.msg_type, parts.profile.joints, pictures) for s in inputs}
    given, crashes, examples, memory_mb = 0, 0, [], []
    decoded, undecoded = dict.fromkeys(transports.values(), 0), dict.fromkeys(transports.values(), 0)
    start_s = time.monotonic()
    try:
        say(f'{count} messages to each input')
        for given in range(count):
            if given % max(1, count // SAMPLES) == 0:
                memory_mb.append(round(resident_mb(), 1))
            if given % COLLECT_EVERY == 0:
                gc.collect()
            for subscription in inputs:
                data = broken(source, subscription.msg_type, good[subscription.topic_name], pictures)
                try:
                    subscription.callback(data)
                    view = views.get(subscription.topic_name) or views.get(subscription.topic_name.lstrip('/'))
                    if view is not None:
                        try:
                            decode(transports, view, data)
                            decoded[transports[view]] += 1
                        except ValueError:
                            undecoded[transports[view]] += 1
                except Exception as error:
                    crashes += 1
                    examples.append(f'{subscription.topic_name}: {type(error).__name__}: {error}')
            if node.stops.reason:
                node.stops.pressed = False
                node.stops.resume()
                parts.loop.post('resume', parts.timeline.now_ns())
        given, interrupted = count, False
    except KeyboardInterrupt:
        interrupted = True
    seconds = time.monotonic() - start_s
    memory_mb.append(round(resident_mb(), 1))
    return {
        'messages': given * len(inputs), 'interrupted': interrupted,
        'inputs': {s.topic_name: s.msg_type.__name__ for s in inputs},
        'crashes': crashes, 'examples': examples[:10], 'images_decoded': decoded, 'images_refused': undecoded,
        'messages_refused': parts.messages_refused + sum(stream.refused for stream in parts.inputs.streams()),
        'engine_failure': parts.failure(), 'timing': {
            'seconds': round(seconds, 2), 'memory_mb': memory_mb, 'memory_mb_peak': round(peak_mb(), 1),
            'grown_mb': round(memory_mb[-1] - memory_mb[min(len(memory_mb) - 1, int(WARM_SHARE * SAMPLES))], 2)}}
