from dataclasses import replace

import pytest
from tiny_engine import model, observation, TinyProcessor, TwoLevels

from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.hierarchy import Hierarchy
from oxygen_ros.engine.request import FinishReason, LanguageRequest, TokenEvent


def event(text, reason=FinishReason.RUNNING, request_id=1):
    return TokenEvent(request_id, 0, 0, 'subtask', 0, 5, text, reason)


def finished(hierarchy, text='reach', reason=FinishReason.EOS):
    hierarchy.for_actions(observation(0))
    hierarchy.asked(1)
    hierarchy.heard(event(text[:2]))
    hierarchy.heard(event(text[2:], reason))
    return hierarchy


def test_a_finished_subtask_takes_the_place_of_the_instruction():
    hierarchy = finished(Hierarchy())
    seen = hierarchy.for_actions(observation(3))
    assert seen.instruction == 'reach' and seen.instruction_id == 1 and seen.stamp_ns == 3000


@pytest.mark.parametrize('reason', [r for r in FinishReason if r not in (FinishReason.EOS, FinishReason.RUNNING)])
def test_half_a_subtask_is_not_obeyed(reason):
    assert finished(Hierarchy(), reason=reason).for_actions(observation(3)).instruction == 'pick'


def test_nothing_said_leaves_the_instruction():
    assert finished(Hierarchy(), text='   ').for_actions(observation(3)).instruction == 'pick'


def test_another_instruction_ends_the_subtask_and_ignores_a_late_one():
    hierarchy = finished(Hierarchy())
    hierarchy.asked(2)
    other = replace(observation(4, 'push'), instruction_id=2)
    assert hierarchy.for_actions(other).instruction == 'push'
    hierarchy.heard(event('reach', FinishReason.EOS, request_id=2))
    assert hierarchy.for_actions(other).instruction == 'push'


@pytest.fixture
def engine():
    made = Engine(model(), TwoLevels(), EngineConfig(slots=2, max_new_tokens=8, max_suffix_tokens=8, decode_rounds=4,
                                                     max_prompt_tokens=60, eos=True))
    yield made
    made.close()


def test_the_second_prefill_is_counted_and_the_actions_obey_what_was_said(engine):
    events, chunks = [], []
    engine.processor.eos_id = -1

    def frame(seed, *requests):
        return engine.run_frame(observation(seed), requests, chunks.append, events.append)

    frame(1, LanguageRequest('subtask', '', 8))
    assert (engine.counters.prefills, engine.counters.frames) == (2, 1)
    frame(2, LanguageRequest('question', 'a', 2))
    assert (engine.counters.prefills, engine.counters.frames) == (3, 2)
    said = [e for e in events if e.task == 'subtask']
    assert len(said) == 8 and said[-1].finish_reason is FinishReason.LENGTH
    # greedy text of random weights does not stop by itself: call a token the end that did not come before
    ids = [e.token_id for e in said]
    end = next(i for i in range(1, 8) if ids[i] not in ids[:i])
    engine.processor.eos_id = ids[end]
    frame(1, LanguageRequest('subtask', '', 8))
    frame(4)
    frame(5)
    frame(6)
    assert engine.processor.told[:3] == ['pick'] * 3
    assert engine.processor.told[-1] == engine.hierarchy.subtask == ''.join(f'{i} ' for i in ids[:end]).strip()
    assert engine.counters.blocks_used == 0 and len(chunks) == 6


def test_a_full_pool_refuses_the_subtask_without_a_prefill(engine):
    engine.config = replace(engine.config, decode_rounds=0)
    requests = [LanguageRequest('question', 'a', 8)] * 2 + [LanguageRequest('subtask', '', 8)]
    report = engine.run_frame(observation(1), requests, lambda chunk: None, lambda event: None)
    assert [r.request.task for r in report.refused] == ['subtask'] and engine.counters.prefills == 1


def test_without_the_option_prefills_equal_frames():
    made = Engine(model(), TinyProcessor(), EngineConfig(slots=2, max_new_tokens=8, max_suffix_tokens=8,
                                                         max_prompt_tokens=60))
    for seed in range(3):
        made.run_frame(observation(seed), [LanguageRequest('subtask', '', 2)], lambda chunk: None, lambda event: None)
    assert made.counters.prefills == made.counters.frames == 3 and made.hierarchy is None
    made.close()
