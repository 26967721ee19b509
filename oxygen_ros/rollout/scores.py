"""From episodes to the figures that are reported."""
from dataclasses import dataclass, field
import hashlib
import math

import numpy as np


@dataclass(frozen=True)
class Episode:
    """
    What one episode came to; `answers` are (question kind, right) pairs.

    Of the commands it keeps how many there were in `commanded_s`, the sum of squares and number of their third
    differences (`jerk`), and a digest to compare them by; `commands` [T, J] is there only while it is in memory.
    """

    seed: int
    kind: str
    success: bool
    sim_s: float
    commanded_s: float
    chunks: int
    command_count: int = 0
    jerk: tuple[float, int] = (0.0, 0)
    digest: str = ''
    wrong_goal: bool = False
    answers: tuple[tuple[str, bool], ...] = ()
    place_errors_mm: tuple[float, ...] = ()
    frame_ms: tuple[float, ...] = ()
    commands: np.ndarray | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, commands, command_hz, **fields):
        """An episode with these commands [T, 14]."""
        digest = hashlib.sha256(np.ascontiguousarray(commands, np.float64).tobytes()).hexdigest()[:16]
        return cls(command_count=len(commands), jerk=jerk_of(commands, command_hz), digest=digest, commands=commands,
                   **fields)


def jerk_of(commands, command_hz):
    """(sum of squares, number) of the commands' third differences over arm joints, rad/s^3; grippers are left out."""
    if len(commands) < 4:
        return 0.0, 0
    differences = np.diff(np.delete(commands, (6, 13), axis=1), 3, axis=0) * command_hz ** 3
    return float((differences ** 2).sum()), differences.size


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
    """Root mean square of the commands' third difference over all episodes, rad/s^3."""
    count = sum(e.jerk[1] for e in episodes)
    return math.sqrt(sum(e.jerk[0] for e in episodes) / count) if count else 0.0


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
    frames_ms = [ms for e in episodes for ms in e.frame_ms]
    places = [error for e in episodes for error in e.place_errors_mm]
    seconds, commanded_s = sum(e.sim_s for e in episodes), sum(e.commanded_s for e in episodes)
    return {
        'episodes': len(episodes), 'seed': seed, 'mode': mode, 'success': done / len(episodes),
        'success_ci95': list(wilson(done, len(episodes))), 'by_kind': kinds,
        'wrong_goal': sum(e.wrong_goal for e in episodes) / len(episodes),
        'text_accuracy': sum(right for _, right in answers) / len(answers) if answers else None,
        'text_ci95': list(wilson(sum(right for _, right in answers), len(answers))), 'by_question': by_question,
        'place_error_mm_median': float(np.median(places)) if places else None,
        'chunk_rate_hz': sum(e.chunks for e in episodes) / seconds if seconds else 0.0,
        'command_rate_hz': sum(e.command_count for e in episodes) / commanded_s if commanded_s else 0.0,
        'jerk_rms': jerk_rms(episodes),
        'frame_ms': float(np.median(frames_ms)) if frames_ms else None,
    }
