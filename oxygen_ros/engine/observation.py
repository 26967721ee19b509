"""One time-aligned set of camera images, joint state and instruction."""
from dataclasses import dataclass
from types import MappingProxyType
from typing import Mapping

import numpy as np


@dataclass(frozen=True)
class Observation:
    """
    What the engine sees of the world for one frame; already decoded and complete, nothing in it is made up.

    `stamp_ns` is the acquisition time on the node's clock. `images` maps a view name of the model to RGB uint8
    [height, width, 3] of any size; a view that is absent was not configured. `state` is float64 [J] in robot units
    (rad, m) in the order of the profile's joints. `instruction_id` counts changes of the text, from 1.
    """

    stamp_ns: int
    images: Mapping[str, np.ndarray]
    state: np.ndarray  # [J]
    instruction: str
    instruction_id: int

    def __post_init__(self):
        if not self.images:
            raise ValueError('an observation needs at least one image')
        for view, image in self.images.items():
            if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
                raise ValueError(f'view {view}: image must be uint8 [h, w, 3], got {image.dtype} {image.shape}')
        if self.state.ndim != 1 or not np.isfinite(self.state).all():
            raise ValueError(f'joint state must be a finite vector, got shape {self.state.shape}: {self.state}')
        if not self.instruction.strip():
            raise ValueError('an observation needs an instruction')
        object.__setattr__(self, 'images', MappingProxyType(dict(self.images)))
