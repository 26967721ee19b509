"""What the model is asked in an episode, and whether what it says is true."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.engine.request import FinishReason
from oxygen_ros.sim.questions import appears_at, ask, Facts, kind_of, place_of, right

COMPLETE = (FinishReason.EOS, FinishReason.LENGTH)
UNKNOWN_PLACE_MM = 250.0


@dataclass
class Awaited:
    """A text that is to come: the question, None for the subtask, what was true then, and what was said so far."""

    question: str | None
    facts: Facts
    text: str = ''


class Talk:
    """
    Draws `questions` for the frames of one episode and holds the texts against the facts of their frame.

    A text is known by the stamp of its observation and by whether it answers a question: both travel with every token.
    """

    def __init__(self, random, questions, within_frames):
        self._random = random
        # Not at the first frame: a question must have reached the node when its picture comes.
        self._when = set(1 + random.choice(max(within_frames, questions), questions, replace=False))
        self._frame = 0
        self.awaited = {}
        self.answers, self.place_errors_mm = [], []
        self.newest = {}  # task -> newest finished text

    def frame(self, stamp_ns, facts):
        """Expect the texts of the next frame; the question to ask with it, or None."""
        asked = ask(self._random, facts)[0] if self._frame in self._when else None
        self._frame += 1
        self.awaited[stamp_ns, False] = Awaited(None, facts)
        if asked is not None:
            self.awaited[stamp_ns, True] = Awaited(asked, facts)
        return asked

    def hear(self, event):
        """Take a TokenEvent; subtasks of frames that were not expected are of no interest."""
        key = event.stamp_ns, event.task == 'question'
        if key not in self.awaited:
            if key[1]:
                raise RuntimeError(f'a question was answered from the picture of {event.stamp_ns} ns, not from its own')
            return
        awaited = self.awaited[key]
        awaited.text += event.text
        if event.finished:
            self._judge(self.awaited.pop(key), event.finish_reason in COMPLETE)

    def give_up(self):
        """Nothing more will come: a question that was never answered is not a right answer."""
        for awaited in self.awaited.values():
            self._judge(awaited, False)
        self.awaited.clear()

    def _judge(self, awaited, complete):
        question, facts, text = awaited.question, awaited.facts, awaited.text
        if complete:
            self.newest['subtask' if question is None else 'answer'] = f'{question} {text}' if question else text
        if question is not None:
            self.answers.append((kind_of(question)[0], complete and right(question, text, facts)))
        elif complete and facts.goal.colour:
            place, true = place_of(text), appears_at(facts.blocks[facts.goal.colour])
            self.place_errors_mm.append(
                UNKNOWN_PLACE_MM if place is None else 1e3 * float(np.linalg.norm(place - true)))
