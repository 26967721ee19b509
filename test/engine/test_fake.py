"""The fake engine keeps the real one's contract, so that tests on it mean something."""
from dataclasses import replace
import inspect

import numpy as np
import pytest

from oxygen_ros.engine import counters, report
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.fake import FakeCounters, FakeEngine, FakeReport
from oxygen_ros.engine.observation import Observation
from oxygen_ros.engine.request import FinishReason, LanguageRequest

SEEN = Observation(5, {'base_0_rgb': np.zeros((4, 4, 3), np.uint8)}, np.array([0.1, 0.2]), 'go', 3)


def run(engine, *requests):
    chunks, events = [], []
    done = engine.run_frame(SEEN, requests, chunks.append, events.append)
    return done, chunks, events


def test_it_has_the_surface_of_the_engine():
    for name in ('warm_up', 'run_frame', 'cancel', 'cancel_all', 'reset', 'close'):
        real, fake = (list(inspect.signature(getattr(kind, name)).parameters) for kind in (Engine, FakeEngine))
        assert fake == real[:len(fake)]
    assert set(FakeCounters.__dataclass_fields__) <= set(counters.Counters.__dataclass_fields__)
    assert set(FakeReport.__dataclass_fields__) <= set(report.FrameReport.__dataclass_fields__)


@pytest.mark.parametrize('kind, row', [(ActionKind.JOINT_POSITION, [0.1, 0.2]), (ActionKind.JOINT_VELOCITY, [0, 0]),
                                       (ActionKind.EEF_DELTA, [0, 0])])
def test_a_chunk_stays_where_the_joints_are(kind, row):
    _, (chunk,), _ = run(FakeEngine(('a', 'b'), kind, horizon=3))
    np.testing.assert_array_equal(chunk.data, [row] * 3)
    assert (chunk.stamp_ns, chunk.instruction_id, chunk.kind) == (5, 3, kind)


def test_streams_live_across_frames_and_end_by_eos_or_length():
    engine = FakeEngine(('a', 'b'), text='one two three four five', decode_rounds=2)
    _, _, first = run(engine, LanguageRequest('t'), LanguageRequest('t', max_tokens=3))
    assert [event.request_id for event in first] == [1, 2, 1, 2] and engine.counters.live_streams == 2
    _, _, second = run(engine)
    assert [e.finish_reason for e in second if e.finished] == [FinishReason.LENGTH]
    _, _, third = run(engine)
    assert [e.finish_reason for e in third] == [FinishReason.EOS]
    text = ''.join(e.text for e in (*first, *second, *third) if e.request_id == 1)
    assert text == 'one two three four five '
    assert engine.counters.live_streams == 0 and engine.counters.streams_finished == 2


def test_a_full_house_refuses_and_cancelled_streams_end_with_a_marker():
    engine = FakeEngine(('a', 'b'), slots=1, text='a b c d e f')
    done, _, _ = run(engine, LanguageRequest('t'), LanguageRequest('u'))
    assert len(done.refused) == engine.counters.streams_refused == 1
    engine.cancel_all()
    with pytest.raises(KeyError):
        engine.cancel(1)
    _, _, events = run(engine)
    assert [(e.token_id, e.finish_reason) for e in events] == [(-1, FinishReason.CANCELLED)]


def test_it_fails_when_told():
    with pytest.raises(RuntimeError, match='frame 0'):
        run(FakeEngine(('a', 'b'), fail_at=0))


def test_faults_are_injected_by_the_instruction():
    slept = []
    engine = FakeEngine(('a', 'b'), sleep=slept.append)

    def chunk(text):
        chunks = []
        engine.run_frame(replace(SEEN, instruction=text), (), chunks.append, lambda event: None)
        return chunks[0].data[0]
    assert np.isnan(chunk('fake: nan')).all()
    np.testing.assert_allclose(chunk('fake: jump'), [10.1, 10.2])
    np.testing.assert_allclose(chunk('fake: hang 3'), [0.1, 0.2])
    assert slept == [3.0]
    with pytest.raises(RuntimeError, match='asked to crash'):
        chunk('fake: crash')


@pytest.mark.parametrize('kind', ActionKind)
def test_swinging_moves_the_first_joint_as_a_smooth_function_of_time(kind):
    engine = FakeEngine(('a', 'b'), kind, horizon=10, dt_s=0.1)

    def rows(stamp_ns, instruction):
        chunks = []
        engine.run_frame(replace(SEEN, stamp_ns=stamp_ns, instruction=instruction), (), chunks.append, lambda e: None)
        return chunks[0].data
    first, later = rows(10**18, 'fake: swing'), rows(10**18 + 500_000_000, 'fake: swing')
    np.testing.assert_allclose(first[5:], later[:5], atol=1e-5)
    assert np.ptp(first[:, 0]) > 0.05 and not np.ptp(first[:, 1])
    assert not np.ptp(rows(10**18, 'go')[:, 0])
