"""Inputs of the paper's shapes: random pictures, a prompt of fixed length, requests of fixed length."""
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from oxygen_ros.engine.chunk import ActionChunk, ActionKind
from oxygen_ros.engine.observation import Observation
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.profile.profile import VIEWS, PrefixMask

JOINTS = tuple(f'joint_{i}' for i in range(7))


@dataclass(frozen=True)
class Shapes:
    """
    The OxyGen paper's LIBERO set-up: H = 10, S = 10, three view slots of which `views` are real, prompt padded to 100.

    `prompt` is the number of real prompt tokens; `tokens` is N, `per_frame` the requests that arrive each frame.
    """

    views: int = 2
    prompt: int = 48
    padded_prompt: int = 100
    horizon: int = 10
    steps: int = 10
    tokens: int = 30
    per_frame: int = 1


def sized(name, shapes):
    """The named configuration with the shapes' chunk length."""
    return replace(CONFIGS[name], horizon=shapes.horizon)


class Numbers:
    """Text is not what is measured."""

    def push(self, token):
        return ''

    def finish(self):
        return ''


class BenchProcessor:
    """Hands out ready inputs; picture and prompt are a function of the observation's stamp."""

    eos_id = 1
    suppressed = {}

    def __init__(self, config, shapes, mask=PrefixMask.BIDIRECTIONAL):
        views = VIEWS[:shapes.views]
        self.profile = SimpleNamespace(prefix_mask=mask, views=views, required_views=views)
        self.shapes, self.config = shapes, config
        random = np.random.default_rng(0)
        size = (4, 3, 3, config.image_size, config.image_size)
        self._images = random.uniform(-1, 1, size).astype(np.float32)
        self._prompts = random.integers(3, config.vocabulary, (4, shapes.padded_prompt))

    @property
    def bytes(self):
        """Memory of the pictures and prompts."""
        return self._images.nbytes + self._prompts.nbytes

    def inputs(self, observation):
        which = observation.stamp_ns % 4
        return SimpleNamespace(images=self._images[which, :self.shapes.views], slots=tuple(range(self.shapes.views)),
                               prompt_tokens=self._prompts[which, :self.shapes.prompt],
                               state_out_of_range=0, dropped_characters=0)

    def padded(self, which):
        """What the reference is given: all three slots (black where masked), masks, padded prompt and its mask."""
        images = np.full((3, *self._images.shape[2:]), -1, np.float32)
        images[:self.shapes.views] = self._images[which % 4, :self.shapes.views]
        prompt = np.zeros(self.shapes.padded_prompt, np.int64)
        prompt[:self.shapes.prompt] = self._prompts[which % 4, :self.shapes.prompt]
        return (images, np.arange(3) < self.shapes.views, prompt,
                np.arange(self.shapes.padded_prompt) < self.shapes.prompt)

    def suffix_tokens(self, text):
        return [3 + ord(c) % 90 for c in text]

    def chunk(self, actions, observation, frame_id):
        return ActionChunk(frame_id, observation.stamp_ns, 1, ActionKind.JOINT_POSITION, JOINTS, 0.05,
                           np.asarray(actions[:, :len(JOINTS)], dtype=np.float64))

    def text_stream(self):
        return Numbers()


def observation(number):
    """Observation `number`; its picture is a token, the processor has the real one."""
    return Observation(number, {'base_0_rgb': np.zeros((1, 1, 3), np.uint8)}, np.zeros(7), 'bench', 1)
