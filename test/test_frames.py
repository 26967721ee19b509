"""What the engine's thread does for one frame, on a fake engine."""
from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros.engine.fake import FakeEngine
from oxygen_ros.engine.request import LanguageRequest
from oxygen_ros.frames import FrameRunner, Limits, Task
from oxygen_ros.inputs import Inputs, Stream

NOW = 10**12


class World:
    """Inputs, a runner and what comes out of it."""

    def __init__(self, engine=None, decode=lambda view, data: np.zeros((2, 2, 3), np.uint8), **options):
        self.now_ns = NOW
        self.inputs = Inputs({'base_0_rgb': Stream('base_0_rgb', '/top')}, Stream('joints', '/j'))
        self.engine = engine or FakeEngine(('a', 'b'), text='one two three')
        self.runner = FrameRunner(self.engine, self.inputs, SimpleNamespace(now_ns=lambda: self.now_ns), decode,
                                  question=lambda text: LanguageRequest('question', text), **options)
        self.runner.sinks = self
        self.chunks, self.tokens, self.texts = [], [], []
        self.chunk, self.token = self.chunks.append, self.tokens.append
        self.number = 0

    def text(self, task, text):
        self.texts.append((task, text))

    def see(self, text='go'):
        self.now_ns += 10_000_000
        self.number += 1
        self.inputs.views['base_0_rgb'].put(b'picture', self.now_ns, self.now_ns)
        self.inputs.joints.put(np.array([0.1, 0.2]), self.now_ns, self.now_ns)
        self.inputs.instruction, _ = self.inputs.instruction.receive(text, self.now_ns)
        return self.runner.step()


def test_one_frame_for_each_new_look():
    world = World()
    assert world.see() and not world.runner.step()
    assert world.see()
    assert len(world.chunks) == world.runner.counters.frames == 2


def test_no_more_frames_a_second_than_allowed_and_none_is_lost_to_a_clock_that_steps_back():
    world = World(limits=Limits(max_frame_rate_hz=20.0))  # looks come at 100 Hz
    assert [world.see() for _ in range(11)] == [True, *[False] * 4, True, *[False] * 4, True]
    world.now_ns -= 10**9
    world.inputs.clear()  # as the node does then
    assert world.see()


def test_a_task_is_asked_for_at_each_nth_frame_and_its_text_is_put_together():
    world = World(tasks=[Task('subtask', 'S:', every_n_frames=3, max_tokens=8)])
    for _ in range(7):
        world.see()
    assert world.engine.counters.streams_started == 3
    assert world.texts[:2] == [('subtask', 'one two three ')] * 2
    assert world.runner.texts_finished == len(world.texts)


def test_a_question_is_one_request_of_the_next_frame_and_too_many_are_refused():
    world = World()
    assert all(world.runner.ask(f'q{i}') for i in range(FrameRunner.MAX_QUESTIONS))
    assert not world.runner.ask('one more') and world.runner.questions_refused == 1
    world.see()
    assert {token.task for token in world.tokens} == {'question'}
    assert world.engine.counters.streams_started + world.engine.counters.streams_refused == FrameRunner.MAX_QUESTIONS


def test_another_instruction_cancels_the_streams_and_their_texts():
    world = World(engine=FakeEngine(('a', 'b'), text='a b c d e f g h', decode_rounds=1),
                  tasks=[Task('subtask', '', every_n_frames=100)])
    world.see()
    world.see('something else')
    assert [token.finish_reason.value for token in world.tokens if token.finished] == ['cancelled']
    assert world.texts == [] and world.chunks[-1].instruction_id == 2


def test_an_empty_instruction_cancels_without_a_frame():
    world = World(engine=FakeEngine(('a', 'b'), text='a b c d e f g h', decode_rounds=1), tasks=[Task('subtask', '')])
    world.see()
    assert not world.see('')
    assert world.engine.counters.live_streams == 0 and len(world.chunks) == 1


def test_a_picture_that_does_not_decode_is_refused_and_the_next_one_is_tried():
    def decode(view, data):
        raise ValueError('not a picture')
    world = World(decode=decode)
    assert not world.see() and world.inputs.views['base_0_rgb'].problem.endswith('refused: not a picture')
    world.runner._decode = lambda view, data: np.zeros((2, 2, 3), np.uint8)
    assert world.see() and not world.inputs.views['base_0_rgb'].problem


def test_a_world_that_the_model_refuses_gives_no_chunk_and_is_told_and_a_broken_engine_raises():
    world = World()
    run_frame = world.engine.run_frame

    def refuse(*arguments):
        raise ValueError('the prompt has 900 tokens')
    world.engine.run_frame = refuse
    assert not world.see() and '900 tokens' in world.runner.problem and world.runner.frames_refused == 1
    world.engine.run_frame = run_frame
    assert world.see() and world.runner.problem == ''
    world.engine.fail_at = world.engine.counters.frames
    with pytest.raises(RuntimeError):
        world.see()


def test_the_oldest_picture_anchors_the_frame():
    world = World()
    world.inputs.views['left_wrist_0_rgb'] = Stream('left_wrist_0_rgb', '/wrist')
    world.inputs.views['left_wrist_0_rgb'].put(b'', NOW - 5_000_000, NOW)
    world.see()
    assert world.chunks[0].stamp_ns == NOW - 5_000_000


def test_views_of_different_moments_start_no_frame_and_the_sentence_names_them():
    world = World()
    world.inputs.views['left_wrist_0_rgb'] = wrist = Stream('left_wrist_0_rgb', '/wrist')
    wrist.put(b'', NOW + 10_000_000, NOW + 10_000_000)
    assert world.see() and not world.runner.delayed
    world.now_ns += 290_000_000
    assert not world.see()
    assert world.runner.delayed == ('images lie 0.300 s apart (left_wrist_0_rgb is behind base_0_rgb), the limit is '
                                    '0.1 s')
    wrist.put(b'', world.now_ns - 90_000_000, world.now_ns)
    assert world.runner.step() and not world.runner.delayed


def test_late_inputs_start_no_frame_and_the_reason_is_kept():
    world = World()
    world.see()
    world.now_ns += 2 * 10**9
    world.inputs.joints.put(np.zeros(2), world.now_ns, world.now_ns)
    assert not world.runner.step() and 'base_0_rgb' in world.runner.delayed
