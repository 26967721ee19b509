"""Many episodes with one set of settings."""
from dataclasses import asdict, dataclass
import hashlib
from pathlib import Path

import numpy as np
from tqdm import tqdm

from oxygen_ros.rollout.episode import ClosedLoop, LoopConfig
from oxygen_ros.rollout.log import EpisodeLog
from oxygen_ros.rollout.pilot import DECODE_ROUNDS, EnginePilot, SLOTS
from oxygen_ros.rollout.policy import nano_engine, WEIGHTS
from oxygen_ros.rollout.scores import summary
from oxygen_ros.sim.instructions import COLOURS, Goal, KINDS
from oxygen_ros.train.demonstrations import EVALUATION_SEED

DRAFT_TOKENS = 8


@dataclass(frozen=True)
class Settings:
    """
    What a run's episodes depend on, besides their number.

    `topics` is '' for one process, 'lockstep' or 'wall' for a node over ROS 2; `kinds` of goals are played in turn.
    """

    mode: str = 'oxygen'
    seed: int = 0
    topics: str = ''
    drafting: bool = False
    frame_s: float = 0.2
    delay_s: float = 0.0
    longest_s: float = 6.0
    questions: int = 2
    kinds: tuple[str, ...] = KINDS
    swap_colour: bool = False
    threads: int = 1
    weights: Path = WEIGHTS

    def __post_init__(self):
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise ValueError(f'kinds {unknown} are unknown; known are: {", ".join(KINDS)}')
        if not self.weights.is_file():
            raise FileNotFoundError(f'no weights at {self.weights}; train them with: python -m oxygen_ros train')
        if self.topics == 'wall' and self.delay_s:
            raise ValueError('in wall time the delay is what it is: leave out --delay-s, or use --topics lockstep')
        if self.topics and self.threads != 1:
            raise ValueError('--threads is for the run in one process')

    def table(self):
        """The settings as JSON, with the digest of the weights in place of their path."""
        return {**asdict(self), 'weights': hashlib.sha256(self.weights.read_bytes()).hexdigest()[:16]}

    def loop(self):
        """Make what plays the episodes; close it."""
        draft_tokens = DRAFT_TOKENS if self.drafting else 0
        if self.topics == 'wall':
            from oxygen_ros.rollout.wall_time import WallTimeLoop
            return WallTimeLoop(self.mode, str(self.weights), self.longest_s, self.questions, draft_tokens)
        config = LoopConfig(frame_s=self.frame_s, delay_s=self.delay_s, longest_s=self.longest_s,
                            questions=self.questions)
        if self.topics == 'lockstep':
            from oxygen_ros.rollout.lockstep import LockstepPilot
            pilot = LockstepPilot(self.mode, str(self.weights), config.tick_s, draft_tokens)
        else:
            pilot = EnginePilot(nano_engine(self.weights, self.mode, threads=self.threads, slots=SLOTS,
                                            decode_rounds=DECODE_ROUNDS, draft_tokens=draft_tokens), config.tick_s)
        try:
            return ClosedLoop(pilot, config)
        except BaseException:
            pilot.close()
            raise

    def scene(self, number):
        """(seed, Goal, what is said in place of the goal's words or None) of an episode."""
        seed = EVALUATION_SEED + self.seed * 10_000 + number
        random = np.random.default_rng([seed, 4])
        kind = self.kinds[number % len(self.kinds)]
        colour = '' if kind == 'home' else COLOURS[random.integers(3)]
        said = None
        if self.swap_colour and colour:
            said = Goal(kind, COLOURS[(COLOURS.index(colour) + 1 + random.integers(2)) % 3]).say(random)
        return seed, Goal(kind, colour), said


def play(settings, count, log_file=None, movie=None, movie_episodes=0):
    """
    Play `count` episodes and return them; those that `log_file` has already are taken from there.

    The first `movie_episodes` go into `movie`.
    """
    log = EpisodeLog(log_file, settings.table()) if log_file else None
    episodes = []
    loop = None
    try:
        for number in (bar := tqdm(range(count), desc=settings.mode, unit='episode', disable=None)):
            seed, goal, said = settings.scene(number)
            if log and seed in log.episodes:
                episodes.append(log.episodes[seed])
                continue
            loop = loop or settings.loop()
            loop.watch = movie.frame if movie and number < movie_episodes else None
            episodes.append(loop.run(seed, goal, said))
            if loop.watch:
                movie.end(episodes[-1].success)
            if log:
                log.add(episodes[-1])
            bar.set_postfix(success=f'{sum(e.success for e in episodes) / len(episodes):.0%}')
    finally:
        if loop:
            loop.close()
    return episodes


def figures(settings, episodes):
    """The JSON table of a run."""
    return {**summary(episodes, settings.seed, settings.mode), 'topics': settings.topics or None,
            'drafting': settings.drafting, 'frame_s': None if settings.topics == 'wall' else settings.frame_s,
            'delay_s': settings.delay_s, 'weights': settings.table()['weights']}
