"""
What the block task can ask for, and the many ways to say it.

Sides are those of the task's picture: left is +y, front (near the camera) is -x.
"""
from dataclasses import dataclass
import re

COLOURS = ('red', 'green', 'blue')
KINDS = ('pick', 'touch', 'push_front', 'push_back', 'home')

TEMPLATES = {
    'pick': ('pick up the {c} block', 'lift the {c} block', 'grab the {c} block', 'take the {c} block',
             'pick the {c} cube up', 'raise the {c} cube', 'get the {c} cube'),
    'touch': ('touch the {c} block', 'point at the {c} block', 'tap the {c} block', 'touch the {c} cube',
              'put your finger on the {c} block'),
    'push_front': ('push the {c} block to the front', 'move the {c} block to the front', 'bring the {c} block closer',
                   'slide the {c} cube to the front'),
    'push_back': ('push the {c} block to the back', 'move the {c} block to the back', 'push the {c} block away',
                  'slide the {c} cube to the back'),
    'home': ('go home', 'go back home', 'move the arm home', 'return to the start'),
}


@dataclass(frozen=True)
class Goal:
    """One thing to do: a kind of KINDS and, except for `home`, the colour of a block."""

    kind: str
    colour: str = ''

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"goal kind '{self.kind}' is unknown; known are: {', '.join(KINDS)}")
        if (self.kind == 'home') != (self.colour == '') or self.colour not in ('', *COLOURS):
            raise ValueError(f"goal {self.kind} needs one of the colours {', '.join(COLOURS)} (home none), "
                             f"got '{self.colour}'")

    def phrases(self):
        """Every instruction text that means this goal; the first is the plain one."""
        return tuple(text.format(c=self.colour) for text in TEMPLATES[self.kind])

    def say(self, random):
        """One of the phrases, drawn from the numpy generator `random`."""
        phrases = self.phrases()
        return phrases[random.integers(len(phrases))]


GOALS = tuple(Goal(kind, colour) for kind in KINDS for colour in (('',) if kind == 'home' else COLOURS))
_BY_TEXT = {text: goal for goal in GOALS for text in goal.phrases()}


def understand(text):
    """The goal that an instruction means, or None; letter case, punctuation and 'please' do not matter."""
    words = re.sub(r'[^a-z ]', ' ', text.lower()).split()
    return _BY_TEXT.get(' '.join(word for word in words if word != 'please'))


def draw_goal(random, weights=None):
    """A goal drawn by kind (`weights` of KINDS, default equal), then colour."""
    chance = [1 / len(KINDS)] * len(KINDS) if weights is None else [weights[kind] for kind in KINDS]
    kind = KINDS[random.choice(len(KINDS), p=chance)]
    return Goal(kind, '' if kind == 'home' else COLOURS[random.integers(len(COLOURS))])
