"""
What can be said about the block scene, computed from the simulator's state: subtasks, questions and their answers.

Places are said in location words as PaliGemma does, row then column of the `tight` picture, in 64 steps each.
"""
from dataclasses import dataclass
import re

import numpy as np

from oxygen_ros.sim.instructions import COLOURS, Goal
from oxygen_ros.sim.view import CAMERA

STEPS = 64
CENTRE_X, CENTRE_Y = 0.12, 0.5  # the middle of where blocks are put, front from back and left from right
BLOCK_HEIGHT_M = 0.02  # of its centre
DOING = {
    'reach': 'reach for the {c} block', 'lower': 'lower the gripper to the {c} block',
    'close': 'close the gripper on the {c} block', 'lift': 'lift the {c} block', 'hold': 'hold still',
    'push_front': 'push the {c} block to the front', 'push_back': 'push the {c} block to the back',
    'return': 'go home',
}
DID = {
    'pick': 'I picked up the {c} block', 'touch': 'I touched the {c} block', 'home': 'I went home',
    'push_front': 'I pushed the {c} block to the front', 'push_back': 'I pushed the {c} block to the back',
}
QUESTIONS = {
    'where': ('where is the {c} block?', 'where is the {c} cube?', 'find the {c} block'),
    'closest': ('which block is closest to the gripper?', 'which block is closest to the right gripper?'),
    'leftmost': ('which block is furthest to the left?', 'which block is leftmost?'),
    'rightmost': ('which block is furthest to the right?', 'which block is rightmost?'),
    'doing': ('what are you doing?', 'what are you doing now?'),
    'did': ('what did you do?', 'what have you done?'),
    'holding': ('what are you holding?', 'what is in the gripper?'),
}
CHANCE = {'where': 0.35, 'closest': 0.15, 'leftmost': 0.17, 'rightmost': 0.17, 'doing': 0.05, 'did': 0.06,
          'holding': 0.05}


@dataclass(frozen=True)
class Facts:
    """What is true now: block centres [3] by colour, pinch point [3], the goal and the phase of the expert's plan."""

    blocks: dict
    gripper: np.ndarray
    goal: Goal
    phase: str

    @property
    def held(self):
        """The colour between the fingers, or ''."""
        return self.goal.colour if self.goal.kind == 'pick' and self.phase in ('lift', 'hold') else ''


def location_words(point):
    """World point [3] in m -> '<locRR><locCC>', where it appears."""
    row, column = (min(max(int(share * STEPS), 0), STEPS - 1) for share in CAMERA.project(point))
    return f'<loc{row:02d}><loc{column:02d}>'


def place_of(text):
    """The (x, y) in m at block height of the first pair of location words in a text, or None."""
    found = re.search(r'<loc(\d\d)><loc(\d\d)>', text)
    if not found:
        return None
    return CAMERA.on_plane(*((int(word) + 0.5) / STEPS for word in found.groups()), BLOCK_HEIGHT_M)


def appears_at(point):
    """The (x, y) at block height where a point, lifted or not, appears."""
    return CAMERA.on_plane(*CAMERA.project(point), BLOCK_HEIGHT_M)


def side_words(place):
    """World (x, y) in m -> 'front left' and the like, as seen in the picture."""
    return f'{"front" if place[0] < CENTRE_X else "back"} {"left" if place[1] > CENTRE_Y else "right"}'


def doing(facts):
    """What the arm is doing, in words."""
    phase = facts.goal.kind if facts.phase == 'push' else facts.phase
    return DOING[phase].format(c=facts.goal.colour)


def subtask(facts):
    """Where the instruction's block is and what the arm does about it."""
    place = location_words(facts.blocks[facts.goal.colour]) + ' ' if facts.goal.colour else ''
    return place + doing(facts)


def kind_of(question):
    """(kind, colour or '') of a question's text, or None."""
    return _KINDS.get(' '.join(re.sub(r'[^a-z ]', ' ', question.lower()).split()))


def answer(kind, colour, facts):
    """The true answer to a question of that kind."""
    if kind == 'where':
        return f'{location_words(facts.blocks[colour])} {side_words(facts.blocks[colour])}'
    if kind == 'closest':
        return f'the {min(COLOURS, key=lambda c: np.linalg.norm(facts.blocks[c][:2] - facts.gripper[:2]))} block'
    if kind in ('leftmost', 'rightmost'):
        pick = max if kind == 'leftmost' else min
        return f'the {pick(COLOURS, key=lambda c: facts.blocks[c][1])} block'
    if kind == 'doing':
        return doing(facts)
    if kind == 'did':
        return DID[facts.goal.kind].format(c=facts.goal.colour) if facts.phase == 'hold' else 'nothing yet'
    return f'the {facts.held} block' if facts.held else 'nothing'


def ask(random, facts, chance=CHANCE):
    """A question drawn from the numpy generator `random`, kinds as `chance` has them, and its true answer."""
    kind = tuple(chance)[random.choice(len(chance), p=tuple(chance.values()))]
    colour = COLOURS[random.integers(len(COLOURS))] if kind == 'where' else ''
    texts = QUESTIONS[kind]
    return texts[random.integers(len(texts))].format(c=colour), answer(kind, colour, facts)


def right(question, text, facts, tolerance_m=0.02):
    """
    Whether an answer is true: words as the simulator's state gives them, location words within `tolerance_m`.

    Within 5 mm of the line between two sides, or of a tie between two blocks, both answers count.
    """
    kind, colour = kind_of(question)
    wanted = answer(kind, colour, facts)
    if kind == 'where':
        place = place_of(text)
        here = facts.blocks[colour][:2]
        if place is None or np.linalg.norm(place - appears_at(facts.blocks[colour])) > tolerance_m:
            return False
        words = re.sub(r'<loc\d\d>', '', text).split()
        return any(words == side_words(here + [dx, dy]).split() for dx in (-0.005, 0.005) for dy in (-0.005, 0.005))
    if text.strip() == wanted:
        return True
    if kind in ('closest', 'leftmost', 'rightmost'):
        named = [c for c in COLOURS if text.strip() == f'the {c} block']
        if not named:
            return False
        true = wanted.split()[1]
        if kind == 'closest':
            far = {c: np.linalg.norm(facts.blocks[c][:2] - facts.gripper[:2]) for c in COLOURS}
        else:
            far = {c: facts.blocks[c][1] for c in COLOURS}
        return bool(abs(far[named[0]] - far[true]) < 0.005)
    return False


_KINDS = {' '.join(re.sub(r'[^a-z ]', ' ', text.format(c=colour)).split()): (kind, colour if '{c}' in text else '')
          for kind, texts in QUESTIONS.items() for text in texts for colour in COLOURS}
