"""Between an observation and the model's numbers, both ways, for one profile."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.engine.chunk import ActionChunk, NotFinite
from oxygen_ros.profile.normalise import normalise, unnormalise
from oxygen_ros.profile.profile import VIEWS
from oxygen_ros.profile.prompt import build_prompt, out_of_range, state_bins
from oxygen_ros.profile.robot import RobotTransform
from oxygen_ros.profile.text_stream import TextStream


@dataclass(frozen=True)
class ModelInputs:
    """What the prefix is made of: present views in VIEWS order with their slots, and the prompt without padding."""

    images: np.ndarray         # [V, 3, S, S] float32 in [-1, 1]
    slots: tuple[int, ...]     # [V] index of each view in VIEWS
    prompt_tokens: np.ndarray  # [T] int64, BOS first
    prompt: str
    dropped_characters: int    # of the instruction, which was too long
    state_out_of_range: int    # dimensions of the normalised state outside [-1, 1]


class Processor:
    """
    The engine's view of a profile: observation -> model inputs, model actions -> robot actions, tokens <-> text.

    `image_size` is S of the model, `action_dim` D, `vocabulary` its number of token ids. Raises ValueError where
    profile, tokenizer and model do not fit each other.
    """

    def __init__(self, profile, tokenizer, image_size=224, action_dim=32, vocabulary=257152):
        if tokenizer.size > vocabulary:
            raise ValueError(f'tokenizer {tokenizer.path} has {tokenizer.size} pieces, the model has {vocabulary} '
                             'token ids: it belongs to another model')
        if len(profile.actions) > action_dim:
            raise ValueError(f'profile {profile.name} has {len(profile.actions)} actions, the model gives {action_dim}')
        self.profile = profile
        self.tokenizer = tokenizer
        self.image_size = image_size
        self.action_dim = action_dim
        self._robot = RobotTransform(profile)
        self._suffixes = {}

    @property
    def eos_id(self):
        return self.tokenizer.eos_id

    @property
    def suppressed(self):
        """Task -> list of (first, last) token ids that its text must not contain, both included."""
        ranges = {}
        for task, first, last in self.profile.suppressed:
            ranges.setdefault(task, []).append((first, last))
        return ranges

    def inputs(self, observation):
        """Return the ModelInputs of an Observation; raises ValueError with the views or counts that do not fit."""
        prompt, outside = self.prompt(observation.instruction, observation.state)
        images, slots = self.images(observation.images)
        return ModelInputs(images, slots, np.array(prompt.tokens, dtype=np.int64), prompt.text,
                           prompt.dropped_characters, outside)

    def images(self, images):
        """View name -> uint8 [h, w, 3] mapping -> (float32 [V, 3, S, S], slot indices)."""
        from oxygen_ros.convert.letterbox import letterbox  # needs torch, which the rest of a profile does not
        missing = [view for view in self.profile.required_views if view not in images]
        extra = [view for view in images if view not in self.profile.views]
        if missing or extra:
            raise ValueError(f'profile {self.profile.name} wants the views {list(self.profile.required_views)} '
                             f'(optional {list(self.profile.optional_views)}), the observation has {list(images)}')
        views = [view for view in self.profile.views if view in images]
        stacked = np.stack([np.asarray(letterbox(images[view], self.image_size, self.profile.antialias))
                            for view in views]).astype(np.float32, copy=False)
        return stacked, tuple(VIEWS.index(view) for view in views)

    def model_state(self, state):
        """Robot state [J] -> (model state [J], the same normalised)."""
        profile = self.profile
        if state.shape != (len(profile.joints),):
            raise ValueError(f'profile {profile.name} has {len(profile.joints)} joints, the state has {state.shape}')
        model = self._robot.state(state)
        return model, normalise(model, profile.state_statistics, profile.normalisation, profile.normalisation_rule)

    def prompt(self, instruction, state):
        """Text and robot state [J] -> (Prompt, number of state dimensions out of range)."""
        profile = self.profile
        _, scaled = self.model_state(state)
        bins = None
        if profile.state_in_prompt:
            padding = max(profile.pad_state_to - len(scaled), 0)
            bins = state_bins(np.concatenate([scaled, np.zeros(padding)]), profile.clip_state)
        prompt = build_prompt(self.tokenizer, profile.prompt, instruction, bins, profile.max_prompt_tokens)
        return prompt, out_of_range(scaled)

    def high_level_prompt(self, instruction):
        """Token ids [T] int64, BOS first, of the prompt that the model makes its own subtask from."""
        prompt = build_prompt(self.tokenizer, self.profile.high_level_prompt, instruction, None,
                              self.profile.max_prompt_tokens)
        return np.array(prompt.tokens, dtype=np.int64)

    def suffix_tokens(self, text):
        """Token ids of a language suffix, without BOS; [] for an empty one."""
        if not text:
            return []
        if text not in self._suffixes:
            if len(self._suffixes) > 256:
                self._suffixes.clear()
            self._suffixes[text] = tuple(self.tokenizer.encode(text))
        return list(self._suffixes[text])

    def chunk(self, actions, observation, frame_id):
        """Normalised actions [H, D] of the model -> ActionChunk in robot units: the one un-normalise step."""
        profile = self.profile
        actions = np.asarray(actions, dtype=np.float64)
        if actions.shape != (profile.chunk_horizon, self.action_dim):
            raise ValueError(f'profile {profile.name} expects actions [{profile.chunk_horizon}, {self.action_dim}], '
                             f'got {list(actions.shape)}')
        if not np.isfinite(actions).all():
            raise NotFinite(f'the model gave {int((~np.isfinite(actions)).sum())} non-finite actions in frame '
                            f'{frame_id}')
        own = unnormalise(actions[:, :len(profile.actions)], profile.action_statistics, profile.action_normalisation,
                          profile.normalisation_rule)
        model_state, _ = self.model_state(observation.state)
        return ActionChunk(frame_id=frame_id, stamp_ns=observation.stamp_ns, instruction_id=observation.instruction_id,
                           kind=profile.action_kind, joint_names=profile.actions, dt_s=profile.dt_s,
                           data=self._robot.to_velocities(self._robot.actions(own, model_state), observation.state))

    def model_actions(self, data, observation):
        """
        Robot actions [n, A] -> the model's scale, for this observation's state; the inverse of `chunk`.

        NaN in `position_actions`: the position behind a velocity cannot be told.
        """
        profile = self.profile
        model_state, _ = self.model_state(observation.state)
        actions = normalise(self._robot.training_actions(data, model_state), profile.action_statistics,
                            profile.action_normalisation, profile.normalisation_rule)
        actions[:, [profile.actions.index(name) for name, _ in profile.position_actions]] = np.nan
        return actions

    def text_stream(self):
        """Return a TextStream for one language stream."""
        return TextStream(self.tokenizer)
