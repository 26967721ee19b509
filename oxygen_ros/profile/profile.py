"""The facts of a checkpoint that its weights do not say."""
from dataclasses import dataclass
from enum import Enum

import numpy as np

from oxygen_ros.engine.chunk import ActionKind

VIEWS = ('base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb')  # the model's camera slots, in their fixed order


class PrefixMask(str, Enum):
    """How prompt tokens attend within the prefix: openpi and LeRobot, or the OxyGen paper's code."""

    BIDIRECTIONAL = 'bidirectional'
    CAUSAL_PROMPT = 'causal_prompt'


class Normalisation(str, Enum):
    """Quantile maps [q01, q99] to [-1, 1]; mean_std standardises; identity leaves the numbers alone."""

    QUANTILE = 'quantile'
    MEAN_STD = 'mean_std'
    IDENTITY = 'identity'


@dataclass(frozen=True)
class Statistics:
    """Per-dimension statistics of state or actions, each float64 [J] or None where the mode does not need it."""

    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    q01: np.ndarray | None = None
    q99: np.ndarray | None = None


@dataclass(frozen=True)
class Profile:
    """
    What a checkpoint expects and gives; the wrong value changes every action without an error, so all are explicit.

    `views` are the camera slots it uses, a subset of VIEWS in that order. `joints` names state and action columns in
    the checkpoint's order. `chunk_horizon` is H, `dt_s` the spacing of its rows. `state_in_prompt` writes the
    discretised state into the prompt. `language_suffix` maps a language task to the text appended for it.
    """

    name: str
    views: tuple[str, ...]
    joints: tuple[str, ...]
    action_kind: ActionKind
    chunk_horizon: int
    dt_s: float
    state_statistics: Statistics
    action_statistics: Statistics
    normalisation: Normalisation = Normalisation.QUANTILE
    prefix_mask: PrefixMask = PrefixMask.BIDIRECTIONAL
    state_in_prompt: bool = True
    max_prompt_tokens: int = 200
    antialias: bool = True
    language_suffix: tuple[tuple[str, str], ...] = ()
