import numpy as np
import pytest

from oxygen_ros.engine.request import FinishReason, TokenEvent
from oxygen_ros.rollout.talk import Talk
from oxygen_ros.sim.instructions import Goal
from oxygen_ros.sim.questions import answer, Facts, kind_of, subtask

BLOCKS = {'red': (0.05, 0.4, 0.02), 'green': (0.13, 0.5, 0.02), 'blue': (0.21, 0.6, 0.02)}
FACTS = Facts({colour: np.array(place) for colour, place in BLOCKS.items()}, np.array([0.05, 0.4, 0.1]),
              Goal('pick', 'red'), 'reach')
FRAME_NS = 200_000_000


def event(stamp_ns, task, text, reason=FinishReason.EOS):
    return TokenEvent(1, 0, stamp_ns, task, 0, 5, text, reason)


def questions_of(talk, frames=12):
    return {frame * FRAME_NS: question for frame in range(frames)
            if (question := talk.frame(frame * FRAME_NS, FACTS)) is not None}


def test_texts_are_held_against_the_facts_of_their_frame():
    talk = Talk(np.random.default_rng(1), 2, 10)
    questions = questions_of(talk)
    assert len(questions) == 2 and 0 not in questions
    (first_ns, first), (second_ns, second) = questions.items()
    right = answer(*kind_of(first), FACTS)
    talk.hear(event(first_ns, 'question', right[:3], FinishReason.RUNNING))
    talk.hear(event(first_ns, 'question', right[3:]))
    talk.hear(event(second_ns, 'question', 'a horse'))
    talk.hear(event(0, 'subtask', subtask(FACTS)))
    talk.hear(event(FRAME_NS, 'subtask', 'no place'))
    talk.hear(event(99 * FRAME_NS, 'subtask', 'of a frame nobody asked about'))
    assert talk.answers == [(kind_of(first)[0], True), (kind_of(second)[0], False)]
    assert talk.place_errors_mm[0] < 10 and talk.place_errors_mm[1:] == [250.0]
    assert talk.newest['answer'] == f'{second} a horse'


@pytest.mark.parametrize('reason', [FinishReason.REFUSED, FinishReason.DROPPED])
def test_a_question_that_gets_no_answer_is_not_right(reason):
    talk = Talk(np.random.default_rng(1), 2, 10)
    stamp_ns, question = next(iter(questions_of(talk).items()))
    talk.hear(event(stamp_ns, 'question', answer(*kind_of(question), FACTS), reason))
    assert talk.answers == [(kind_of(question)[0], False)]
    talk.give_up()
    assert len(talk.answers) == 2 and not any(right for _, right in talk.answers) and not talk.awaited


def test_an_answer_from_another_picture_is_an_error():
    talk = Talk(np.random.default_rng(1), 1, 10)
    stamp_ns = next(iter(questions_of(talk)))
    with pytest.raises(RuntimeError, match='not from its own'):
        talk.hear(event(stamp_ns + FRAME_NS, 'question', 'nothing'))
