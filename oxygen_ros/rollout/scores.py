"""From episodes to the figures that are reported."""
from dataclasses import dataclass, field
import math

import numpy as np


@dataclass(frozen=True)
class Episode:
    """What one episode came to; `answers` are (question kind, right) pairs, `commands [T, J]` at `command_hz`."""

    seed: int
    kind: str
    success: bool
    ticks: int
    sim_s: float
    chunks: int
    commands: np.ndarray = field(repr=False)
    command_hz: float = 50.0
    wrong_goal: bool = False
    answers: tuple[tuple[str, bool], ...] = ()
    place_errors_mm: tuple[float, ...] = ()
    frame_ms: tuple[float, ...] = ()


def wilson(successes, trials, z=1.96):
    """Wilson's score interval (low, high) of a share; (0, 1) where nothing was tried."""
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def jerk_rms(episodes):
    """Root mean square of the commands' third difference over arm joints, rad/s^3; grippers are left out."""
    squares = [np.diff(np.delete(e.commands, (6, 13), axis=1), 3, axis=0) * e.command_hz ** 3 for e in episodes
               if len(e.commands) > 3]
    return float(np.sqrt(np.mean(np.concatenate([s.ravel() for s in squares]) ** 2))) if squares else 0.0


def summary(episodes, seed, mode):
    """The JSON table of a rollout; what a clock decides is under keys that end in _ms, _hz."""
    done = sum(e.success for e in episodes)
    kinds = {}
    for kind in sorted({e.kind for e in episodes}):
        of_kind = [e for e in episodes if e.kind == kind]
        kinds[kind] = {'success': sum(e.success for e in of_kind) / len(of_kind), 'episodes': len(of_kind),
                       'success_ci95': list(wilson(sum(e.success for e in of_kind), len(of_kind)))}
    answers = [answer for e in episodes for answer in e.answers]
    by_question = {}
    for kind in sorted({kind for kind, _ in answers}):
        of_kind = [right for asked, right in answers if asked == kind]
        by_question[kind] = {'right': sum(of_kind) / len(of_kind), 'asked': len(of_kind)}
    places = [error for e in episodes for error in e.place_errors_mm]
    seconds = sum(e.sim_s for e in episodes)
    return {
        'episodes': len(episodes), 'seed': seed, 'mode': mode, 'success': done / len(episodes),
        'success_ci95': list(wilson(done, len(episodes))), 'by_kind': kinds,
        'wrong_goal': sum(e.wrong_goal for e in episodes) / len(episodes),
        'text_accuracy': sum(right for _, right in answers) / len(answers) if answers else None,
        'text_ci95': list(wilson(sum(right for _, right in answers), len(answers))), 'by_question': by_question,
        'place_error_mm_median': float(np.median(places)) if places else None,
        'chunk_rate_hz': sum(e.chunks for e in episodes) / seconds if seconds else 0.0,
        'command_rate_hz': sum(len(e.commands) for e in episodes) / seconds if seconds else 0.0,
        'jerk_rms': jerk_rms(episodes),
        'frame_ms': float(np.median([ms for e in episodes for ms in e.frame_ms] or [0.0])),
    }
