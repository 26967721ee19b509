"""A tiny real model behind a processor whose words are token ids; for the engine's tests."""
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import torch

from oxygen_ros.engine.chunk import ActionChunk, ActionKind
from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.observation import Observation
from oxygen_ros.engine.request import LanguageRequest
from oxygen_ros.model.attention import attend
from oxygen_ros.model.config import Pi05Config
from oxygen_ros.model.pi05 import Pi05
from oxygen_ros.profile.profile import PrefixMask

CONFIG = Pi05Config(
    vision_width=32, vision_depth=2, vision_mlp=48, vision_heads=2, trunk_width=48, trunk_mlp=96, expert_width=32,
    expert_mlp=48, depth=3, heads=4, head_dim=12, vocabulary=97, image_size=28, horizon=5, action_dim=8)
JOINTS = ('a', 'b', 'c')

torch.set_num_threads(1)  # a model this small only waits for a second thread


class Words:
    """A token is written as its number and a space."""

    def push(self, token):
        return f'{token} '

    def finish(self):
        return ''


@dataclass
class TinyProcessor:
    """Image rows are scaled, the prompt is the instruction's characters and the state's bins."""

    eos_id: int = 1
    mask: PrefixMask = PrefixMask.BIDIRECTIONAL

    def __post_init__(self):
        self.suppressed = {'quiet': [(10, 40)]}
        self.profile = SimpleNamespace(prefix_mask=self.mask)

    def inputs(self, observation):
        images = np.stack([x.astype(np.float32).transpose(2, 0, 1) / 127.5 - 1 for x in observation.images.values()])
        state = [3 + int(abs(x) * 89) for x in observation.state]
        tokens = [2, *(3 + ord(c) % 90 for c in observation.instruction), *state]
        return SimpleNamespace(images=images, slots=tuple(range(len(images))),
                               prompt_tokens=np.array(tokens, dtype=np.int64),
                               state_out_of_range=int((observation.state < 0).sum()), dropped_characters=2)

    def suffix_tokens(self, text):
        return [3 + ord(c) % 90 for c in text]

    def chunk(self, actions, observation, frame_id):
        return ActionChunk(frame_id, observation.stamp_ns, observation.instruction_id, ActionKind.JOINT_POSITION,
                           JOINTS, 0.05, np.asarray(actions[:, :3], dtype=np.float64))

    def text_stream(self):
        return Words()


class TwoLevels(TinyProcessor):
    """Asks for the subtask with a prompt of its own and notes what the actions are told."""

    def __post_init__(self):
        super().__post_init__()
        self.profile.high_level_prompt = '{task} next:'
        self.told = []

    def inputs(self, observation):
        self.told.append(observation.instruction)
        return super().inputs(observation)

    def high_level_prompt(self, instruction):
        return np.array([2, *(3 + ord(c) % 90 for c in instruction)], dtype=np.int64)


def observation(seed, instruction='pick', views=2):
    random = np.random.default_rng(seed)
    images = {f'view{i}': random.integers(0, 256, (28, 28, 3), dtype=np.uint8) for i in range(views)}
    return Observation(seed * 1000, images, random.uniform(0, 1, 3), instruction, 1)


@lru_cache
def weights():
    return Pi05.random(CONFIG, 11, max_positions=128).state_dict()


def model(dtype=torch.float32):
    made = Pi05(CONFIG, dtype, max_positions=128)
    made.load_state_dict(weights())
    return made


def engine(processor=None, **options):
    options = {'max_prompt_tokens': 40, 'max_suffix_tokens': 8, 'max_new_tokens': 24, 'eos': False, 'threads': 0,
               **options}
    return Engine(model(), processor or TinyProcessor(), EngineConfig(**options))


class Log:
    """Collects what an engine hands over, in order."""

    def __init__(self):
        self.order, self.chunks, self.events = [], [], []

    def chunk(self, chunk):
        self.order.append('chunk')
        self.chunks.append(chunk)

    def token(self, event):
        self.order.append('token')
        self.events.append(event)

    def tokens(self, request_id):
        return [e.token_id for e in self.events if e.request_id == request_id and e.token_id >= 0]

    def end(self, request_id):
        return [e.finish_reason for e in self.events if e.request_id == request_id and e.finished]


@torch.inference_mode()
def oracle(seen, request, count, mask=PrefixMask.BIDIRECTIONAL, suppressed=()):
    """
    Isolated greedy decoding without an engine: tokens, and the smallest top-two margin met on the way.

    The stream's keys lie behind its prefix in one cache, one token at a time.
    """
    net, processor = model(), TinyProcessor()
    inputs = processor.inputs(seen)
    kv = torch.zeros(CONFIG.depth, 2, 128, CONFIG.head_dim)
    images = net.embed_images(torch.from_numpy(inputs.images))
    hidden = net.prefill(images, torch.from_numpy(inputs.prompt_tokens), kv, mask)
    at = len(images) + len(inputs.prompt_tokens)
    tokens, margins, waiting = [], [], processor.suffix_tokens(request.suffix)
    while len(tokens) < count:
        if not waiting:
            logits = net.logits(hidden)[0]
            for first, last in suppressed:
                logits[first:last + 1] = -torch.inf
            best = logits.topk(2)
            margins.append(float(best.values[0] - best.values[1]))
            tokens.append(int(best.indices[0]))
            waiting = [tokens[-1]]
        token, stop = waiting.pop(0), at + 1

        def over_all(layer, q, k, v):
            kv[layer, 0, at:stop], kv[layer, 1, at:stop] = k, v
            return attend(q, kv[layer, 0, :stop], kv[layer, 1, :stop])

        hidden = net.extend(torch.tensor([token]), torch.tensor([at]), over_all)
        at = stop
    return tokens, margins


def ask(count, task='subtask', suffix=''):
    return LanguageRequest(task, suffix, count)
