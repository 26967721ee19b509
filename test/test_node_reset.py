"""~/reset forgets: texts end with a marker, and only what was seen since moves the arm."""
import time

import pytest

from oxygen_ros import build
from oxygen_ros.engine.fake import FakeEngine
from rig import picture, Rig


@pytest.fixture
def rig(monkeypatch):
    monkeypatch.setattr(build, 'build_engine', lambda settings, profile, plan: FakeEngine(
        profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s, text='word ' * 500))
    # Old pictures start frames here, so that what refuses them is the reset and not their age.
    rig = Rig(image_max_age_s=10.0, sync_tolerance_s=10.0, control__max_chunk_age_s=60.0,
              language__subtask__every_n_frames=1, language__subtask__max_tokens=500)
    yield rig
    rig.close()


def test_live_texts_end_with_a_marker(rig):
    rig.run()
    rig.until(lambda: len({token.request_id for token in rig.tokens}) >= 3, 'three texts at a time')
    rig.sources.clear()  # nothing new begins
    rig.turn()
    live = {token.request_id for token in rig.tokens}
    assert not any(token.finished for token in rig.tokens)
    assert rig.call('reset').success
    rig.sources += [rig.send_picture, rig.send_joints]

    def ended():
        return {token.request_id: token.finish_reason for token in rig.tokens if token.finished}
    rig.until(lambda: live <= set(ended()), 'every text ends')
    assert {ended()[number] for number in live} == {'cancelled'}
    count = len(rig.tokens)
    rig.until(lambda: len(rig.tokens) > count + 10, 'new texts')
    assert not live & {token.request_id for token in rig.tokens[count:]}
    assert not rig.texts


def test_only_what_was_observed_since_moves_the_arm(rig):
    rig.run()
    controller = rig.node.parts.loop.controller
    offer, offered = controller.offer, []

    def watched(chunk, now_ns):
        offered.append((chunk.chunk.stamp_ns, offer(chunk, now_ns)))
        return offered[-1][1]
    controller.offer = watched
    rig.sources.remove(rig.send_picture)
    reset_ns = time.time_ns()
    assert rig.call('reset').success
    loop = rig.node.parts.loop
    ticks = loop.ticks
    rig.until(lambda: loop.ticks > ticks + 2, 'ticks since the reset')
    assert controller.plan is None  # the chunk that was being executed
    fresh = controller.counters.ticks_fresh
    offered.clear()
    sent = []

    def send_old_picture():  # on its way when the reset came
        sent.append(reset_ns - 10**8 + len(sent))
        rig.camera.publish(picture(stamp_ns=sent[-1]))
    rig.sources.append(send_old_picture)
    rig.until(lambda: len(offered) >= 3, 'chunks of old pictures')
    assert all('before the last stop, reset or start' in refusal for _, refusal in offered)
    assert controller.plan is None and controller.counters.ticks_fresh == fresh
    rig.sources.remove(send_old_picture)
    rig.sources.append(rig.send_picture)
    rig.until_running()
    first_ns = next(stamp_ns for stamp_ns, refusal in offered if not refusal)
    assert first_ns >= reset_ns


def test_what_was_wrong_with_the_last_chunk_is_forgotten(rig):
    rig.run()
    rig.sources.clear()  # so that no other chunk says otherwise
    parts = rig.node.parts
    rig.turn(20)
    parts.broken_chunk, parts.runner.broken, parts.chunk_refusal = 'not finite', 'not finite', 'chunk refused: it jumps'
    assert rig.call('reset').success
    assert parts.broken() == parts.chunk_refusal == ''
