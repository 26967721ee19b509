"""A picture costs its decoding only where a frame uses it, and never in the thread that hears the messages."""
import threading

import cv2
import numpy as np
import pytest
from sensor_msgs.msg import CompressedImage

from oxygen_ros import build
from oxygen_ros.convert import images
from oxygen_ros.engine.fake import FakeEngine
from rig import BEST_EFFORT, picture, Rig, stamp


def jpeg():
    message = CompressedImage(format='jpeg', data=cv2.imencode('.jpg', np.zeros((24, 32, 3), np.uint8))[1].tobytes())
    stamp(message.header)
    return message


@pytest.mark.parametrize('transport, send', [('raw', picture), ('compressed', jpeg)])
def test_pictures_are_decoded_in_the_engines_thread_and_only_those_that_a_frame_uses(monkeypatch, transport, send):
    free, threads, engines = threading.Event(), [], []
    free.set()

    class Slow(FakeEngine):
        def run_frame(self, *arguments):
            self.thread = threading.current_thread()
            free.wait(30)
            return super().run_frame(*arguments)

    def build_engine(settings, profile, plan):
        engines.append(Slow(profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s))
        return engines[-1]

    def to_rgb(message, real=images.to_rgb):
        threads.append(threading.current_thread())
        return real(message)
    monkeypatch.setattr(build, 'build_engine', build_engine)
    monkeypatch.setattr(images, 'to_rgb', to_rgb)
    rig = Rig(image__base_0_rgb__transport=transport, max_frame_rate_hz=0.0)
    try:
        if transport == 'compressed':
            rig.robot.destroy_publisher(rig.camera)
            rig.camera = rig.robot.create_publisher(CompressedImage, 'top/image_raw', BEST_EFFORT)
        rig.send_picture = lambda: rig.camera.publish(send())
        rig.run()
        free.clear()
        rig.until(lambda: rig.node.parts.runner.stuck(rig.node.parts.timeline.now_ns()), 'a frame that takes long')
        decoded, received = len(threads), rig.status.images_received
        rig.until(lambda: rig.status.images_received > received + 20, 'pictures that no frame uses')
        assert len(threads) == decoded
        free.set()
        rig.until(lambda: len(threads) > decoded, 'the newest one is used')
        assert len(threads) <= rig.node.parts.runner.counters.frames + 1 < rig.status.images_received
        assert set(threads) == {engines[0].thread} != {threading.current_thread()}
    finally:
        free.set()
        rig.close()
