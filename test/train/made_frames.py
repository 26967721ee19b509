"""Made-up frames of the block task, for the tests of the training."""
import numpy as np

from oxygen_ros.sim.instructions import Goal, GOALS
from oxygen_ros.sim.joints import START
from oxygen_ros.train.demonstrations import Frames, PHASES


def made_frames(count=12, seed=0):
    """Frames of `count` episodes of one frame each, all about reaching for the blue block."""
    random = np.random.default_rng(seed)
    state = np.tile(START, (count, 1)) + random.normal(0, 0.3, (count, 14))
    places = random.uniform((0.02, 0.36), (0.22, 0.64), (count, 3, 2))
    blocks = np.concatenate([places, np.full((count, 3, 1), 0.02)], -1)
    pixels = random.integers(0, 255, (count, 3, 56, 56), dtype=np.uint8)
    return Frames(pixels, state.astype(np.float32), np.tile(START, (count, 10, 1)).astype(np.float32),
                  np.full(count, GOALS.index(Goal('pick', 'blue'))), np.full(count, PHASES.index('reach')),
                  blocks.astype(np.float32), blocks[:, 0].astype(np.float32), np.arange(count))
