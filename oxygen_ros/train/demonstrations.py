"""
Demonstrations of the block task: simulated, seen through the policy's own camera, kept in compressed shards.

Shards from CORRECTION_SHARD on are driven by a policy and labelled by the expert, who needs no memory to say what would
be right in any state: they teach the way back from the policy's own mistakes (DAgger, Ross et al. 2011).
"""
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oxygen_ros.convert.letterbox import letterbox
from oxygen_ros.sim.blocks import Blocks
from oxygen_ros.sim.cameras import SceneCameras
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.instructions import COLOURS, draw_goal, GOALS
from oxygen_ros.sim.judge import Judge, RIGHT
from oxygen_ros.sim.kinematics import ArmKinematics
from oxygen_ros.sim.scene import Scene
from oxygen_ros.sim.start import begin

PHASES = ('reach', 'lower', 'close', 'lift', 'push', 'hold', 'return')
EPISODES_A_SHARD = 100
EVALUATION_SEED = 90_000_000  # seeds from here on are never trained on
CORRECTION_SHARD = 500_000
VALIDATION_SHARD = 800_000  # beside the run, to watch it
FRAME_TICKS, TICK_STEPS = 5, 10  # a frame each 0.1 s, a command each 20 ms
WEIGHTS = {'pick': 0.38, 'touch': 0.18, 'push_front': 0.17, 'push_back': 0.19, 'home': 0.08}
WILD = 0.35


@dataclass(frozen=True)
class Frames:
    """
    N frames. `images uint8 [N, 3, S, S]`, `state float32 [N, 14]`, `actions float32 [N, H, 14]` in robot units,
    `goal`, `phase` indices into GOALS and PHASES, `blocks float32 [N, 3, 3]` centres in COLOURS order, `gripper
    float32 [N, 3]` the pinch point, `episode int32` the episode's seed.
    """

    images: np.ndarray
    state: np.ndarray
    actions: np.ndarray
    goal: np.ndarray
    phase: np.ndarray
    blocks: np.ndarray
    gripper: np.ndarray
    episode: np.ndarray

    def __len__(self):
        return len(self.state)

    @classmethod
    def joined(cls, parts):
        """One Frames of several."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))


class Recorder:
    """
    Plays the expert, disturbed, and keeps what it saw and what would have been right.

    With `driver`, a function of (picture, positions, instruction) that gives set-points [H, 14], that is who drives.
    """

    def __init__(self, image_size, horizon, dt_s, camera='tight', driver=None):
        self.driver = driver
        self.scene = Scene(Blocks())
        self.kinematics = ArmKinematics(self.scene.model)
        self.expert = Expert(self.kinematics, np.arange(horizon) * dt_s)
        self.camera, self.image_size = camera, image_size
        self.cameras = SceneCameras(self.scene, {camera: Blocks.camera_sizes[camera]})

    def close(self):
        self.cameras.close()

    def plan(self, judge, goal):
        scene = self.scene
        return self.expert.plan(scene.positions().copy(), scene.velocities()[RIGHT][6], judge.blocks(), goal)

    def episode(self, seed, most_ticks=170):
        """
        Frames of one episode, as a list of tuples in the order of Frames; it ends 0.3 or 0.9 s after success.

        The executed commands carry an offset that changes now and then and follow plans of different age, the kept
        ones do not: the policy learns the way back from states it would not reach on its best behaviour.
        """
        random = np.random.default_rng([seed, 2])
        goal = draw_goal(random, WEIGHTS)
        begin(self.scene, goal, seed, self.kinematics, WILD)
        judge = Judge(self.scene, goal)
        replan = int(random.choice([5, 10, 25, 45]))
        calm = self.driver is not None or random.random() < 0.4
        text = goal.say(random)
        if self.driver is not None:
            replan = int(random.choice([10, 10, 20]))
        after = int(random.choice([15, 45]))
        frames, offset, plan, planned_at, left = [], np.zeros(6), None, 0, most_ticks
        for tick in range(most_ticks):
            if tick % FRAME_TICKS == 0:
                now = self.plan(judge, goal)
                picture = self.cameras.picture(self.camera, self.scene.snapshot())
                seen = np.rint((letterbox(picture, self.image_size) + 1) * 127.5).astype(np.uint8)
                blocks = judge.blocks()
                point = self.kinematics.forward(self.scene.positions()[RIGHT][:6])[0]
                frames.append((seen, self.scene.positions().copy(), now.rows, GOALS.index(goal),
                               PHASES.index(now.phase), [blocks[colour].position for colour in COLOURS], point, seed))
                if plan is None or tick - planned_at >= replan:
                    plan, planned_at = now.rows, tick
                    if self.driver is not None:
                        plan = self.driver(picture, self.scene.positions().copy(), text)
            if tick % 12 == 0:
                offset = np.zeros(6) if calm else random.normal(0, 0.015, 6) * (random.random() < 0.5)
            since = (tick - planned_at) * 0.02
            command = np.array([np.interp(since, self.expert.times_s, column) for column in plan.T])
            command[RIGHT][:6] += offset
            self.scene.command(command)
            self.scene.advance(TICK_STEPS)
            judge.look()
            left = min(left, after) if judge.done() else left
            left -= 1
            if left == 0:
                break
        return frames

    def shard(self, index):
        """The Frames of EPISODES_A_SHARD episodes."""
        seeds = range(index * EPISODES_A_SHARD, (index + 1) * EPISODES_A_SHARD)
        if seeds.stop > EVALUATION_SEED:
            raise ValueError(f'shard {index} would use seeds that are kept for evaluation (from {EVALUATION_SEED})')
        rows = [frame for seed in seeds for frame in self.episode(seed)]
        kinds = (np.uint8, np.float32, np.float32, np.uint8, np.uint8, np.float32, np.float32, np.int32)
        return Frames(*(np.array(column, dtype=kind) for column, kind in zip(zip(*rows), kinds)))


def shard_path(folder, index):
    return Path(folder) / f'shard_{index:04d}.npz'


def record(folder, indices, image_size, horizon, dt_s, progress=lambda indices: indices, driver=None):
    """Write the shards that are not there yet; `progress` wraps the iterable (tqdm), `driver` is Recorder's."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    recorder = None
    try:
        for index in progress(list(indices)):
            if shard_path(folder, index).exists():
                continue
            recorder = recorder or Recorder(image_size, horizon, dt_s, driver=driver)
            frames = recorder.shard(index)
            partial = folder / f'.shard_{index:04d}.npz'
            np.savez_compressed(partial, **vars(frames))
            partial.rename(shard_path(folder, index))
    finally:
        if recorder is not None:
            recorder.close()


def load(folder, indices):
    """The Frames of those shards; FileNotFoundError names the first missing one."""
    parts = []
    for index in indices:
        with np.load(shard_path(folder, index), allow_pickle=False) as file:
            parts.append(Frames(**{name: file[name] for name in Frames.__dataclass_fields__}))
    return Frames.joined(parts)
