"""
Says which recorded commands were unsafe, by limits of its own; nothing of the node's code is used here.

A step is judged against the period of the commands, by the times at which they were sent: a controller executes a
command when it comes, so that two that come close together must not add up to a jump.
"""
from collections import Counter
from dataclasses import dataclass

import numpy as np
import yaml

SILENCE_S = 0.25  # a longer gap ends a run of commands; the next one starts from where the robot stands
MEASURED_S = 0.5  # an older measured position says nothing of where the robot stands: it may have been started anew
SEEN_AFTER_S = 1.0  # then the first one after the command tells, less what the robot can have moved until then
BLIND = ('robot_killed',)  # only during these may a run of commands begin while nothing tells where the robot stands
STILL = 1e-6      # rad or m between two commands that counts as no motion


@dataclass(frozen=True)
class Allowed:
    """Limits of J joints [J]."""

    joints: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    start_gap: np.ndarray
    tolerance: float

    @classmethod
    def read(cls, path):
        """From config/chaos_limits.yaml or one like it."""
        with open(path) as file:
            table = yaml.safe_load(file)
        rows = {name: {**table['default'], **row} for name, row in table['joints'].items()}
        return cls(tuple(rows), tolerance=float(table['tolerance']), **{
            name: np.array([float(row[name]) for row in rows.values()])
            for name in ('lower', 'upper', 'velocity', 'acceleration', 'start_gap')})


@dataclass(frozen=True)
class Phase:
    """A fault from its start to its end, and until the node ran again (None: it never did); ns of the system clock."""

    kind: str
    start_ns: int
    end_ns: int
    rest_from_ns: int | None = None
    recovered_ns: int | None = None


@dataclass
class Verdict:
    """What was found. `unsafe` counts commands by what is wrong with them; `examples` has the first of each."""

    unsafe: Counter
    examples: dict
    commanding_share: float
    ticks_lost: int
    tick_late_ms_p99: float
    starts_unseen: int = 0  # runs of commands that began, during a fault of BLIND, where no position could be compared

    @property
    def unsafe_commands(self):
        return sum(self.unsafe.values())


def judge(record, phases, allowed, rate_hz, begin_ns, end_ns):
    """
    Judge a record (the arrays of recorder.py) between two times.

    `phases` are the faults in order of time.
    """
    commands, sent, unsafe, examples = record['commands'], record['sent_ns'], Counter(), {}
    period_ns = 1e9 / rate_hz

    def note(what, bad, words):
        for i in np.flatnonzero(bad):
            unsafe[what] += 1
            examples.setdefault(what, f'{(sent[i] - begin_ns) / 1e9:.3f} s: {words(i)}')

    note('length', record['lengths'] != len(allowed.joints), lambda i: f'{record["lengths"][i]} numbers')
    if commands.shape[1] != len(allowed.joints):
        return Verdict(unsafe, examples, 0.0, 0, 0.0)
    finite = np.isfinite(commands).all(axis=1)
    note('not_finite', ~finite, lambda i: str(commands[i].tolist()))
    slack = allowed.tolerance
    span = allowed.upper - allowed.lower
    outside = np.maximum(allowed.lower - commands, commands - allowed.upper)
    steps, gaps = np.diff(commands, axis=0), np.diff(sent)
    follows = gaps <= SILENCE_S * 1e9
    periods = np.maximum(1, np.rint(gaps / period_ns))

    def joint(excess):
        return allowed.joints[int(np.nanargmax(excess))]

    # Where the robot itself stands outside its range, a command may begin there.
    measured = position_before(record, allowed.joints, sent)
    stands = np.nan_to_num(np.maximum(allowed.lower - measured, measured - allowed.upper), nan=0.0)
    most_outside = slack * span + np.where(stands > 0, stands + allowed.start_gap, 0.0)
    note('position', finite & (outside > most_outside).any(axis=1),
         lambda i: f'{joint(outside[i] - most_outside[i])} at {commands[i].tolist()}')

    fast = np.abs(steps) - allowed.velocity * (1 + slack) * (period_ns / 1e9) * periods[:, None] > 0
    note('velocity', np.append(False, follows & fast.any(axis=1)),
         lambda i: f'{joint(np.abs(steps[i - 1]) / allowed.velocity)} moved {np.abs(steps[i - 1]).max():.4g} in '
                   f'{gaps[i - 1] / 1e6:.1f} ms')

    change = np.diff(steps, axis=0)
    most = allowed.acceleration * (1 + slack) * (period_ns / 1e9) ** 2 + 1e-9
    # A lost message makes two steps look like one; its speed was judged, its acceleration cannot be.
    whole = follows[1:] & follows[:-1] & (gaps[1:] < 1.5 * period_ns) & (gaps[:-1] < 1.5 * period_ns)
    hard = whole & (np.abs(change) > most).any(axis=1)
    note('acceleration', np.concatenate([[False, False], hard])[:len(commands)],
         lambda i: f'{joint(np.abs(change[i - 2]) / most)} changed its step by {np.abs(change[i - 2]).max():.4g}')

    starts = np.append(True, ~follows) if len(commands) else np.zeros(0, bool)
    after, wait_s = position_after(record, allowed.joints, sent)
    unseen = np.isnan(measured)
    gap = np.abs(commands - np.where(unseen, after, measured))
    reach = allowed.start_gap + allowed.velocity * period_ns / 1e9 + np.where(
        unseen, allowed.velocity * wait_s[:, None], 0.0)
    # A run may also go on from the command that was in force all the time, and as from rest.
    rest = allowed.acceleration * (1 + slack) * (period_ns / 1e9) ** 2 + STILL
    continues = np.append(False, (np.abs(steps) <= rest).all(axis=1))
    note('start', starts & ~continues & (gap > reach).any(axis=1),
         lambda i: f'{joint(gap[i] / allowed.start_gap)} began {np.nanmax(gap[i]):.4g} from where it stood')
    blind = starts & ~continues & np.isnan(gap).any(axis=1)
    excused = np.zeros(len(sent), bool)
    for phase in phases:
        if phase.kind in BLIND:
            until = phase.recovered_ns if phase.recovered_ns is not None else phase.end_ns
            excused |= (sent >= phase.start_ns) & (sent <= until)
    note('start_unseen', blind & ~excused, lambda i: 'began while nothing told where the robot stood')

    moving = np.append(False, (np.abs(steps) > STILL).any(axis=1))
    for phase in phases:
        if phase.rest_from_ns is not None:
            bad = moving & (sent > phase.rest_from_ns) & (sent < phase.end_ns)
            note(f'moving_during_{phase.kind}', bad, lambda i: f'{np.abs(steps[i - 1]).max():.4g} in one step')

    calm = calm_times(phases, begin_ns, end_ns)
    lost, late, share = punctuality(sent, calm, period_ns)
    return Verdict(unsafe, examples, share, lost, late, int((blind & excused).sum()))


def measurements(record, joints):
    """(positions [m, J] of these joints, their times [m] in ns); none where the robot did not name them all."""
    names = list(record['joints'])
    if not set(joints) <= set(names):
        return np.zeros((0, len(joints))), np.zeros(0, np.int64)
    return record['measured'][:, [names.index(joint) for joint in joints]], record['measured_ns']


def position_before(record, joints, times_ns):
    """Last position [n, J] measured before the given times; NaN where none is new enough."""
    measured, at_ns = measurements(record, joints)
    row = np.searchsorted(at_ns, times_ns) - 1
    return picked(measured, row, [i >= 0 and now - at_ns[i] <= MEASURED_S * 1e9 for i, now in zip(row, times_ns)])


def position_after(record, joints, times_ns):
    """(first position [n, J] measured after the given times, s until then [n]); NaN and 0 where that is too late."""
    measured, at_ns = measurements(record, joints)
    row = np.searchsorted(at_ns, times_ns)
    wait_s = np.array([(at_ns[i] - now) / 1e9 if i < len(at_ns) else np.inf for i, now in zip(row, times_ns)])
    known = wait_s <= SEEN_AFTER_S
    return picked(measured, row, known), np.where(known, wait_s, 0.0)


def picked(rows, index, known):
    """`rows[index]` where known, else NaN."""
    picked = np.full((len(index), rows.shape[1]), np.nan)
    known = np.asarray(known, bool)
    picked[known] = rows[index[known]]
    return picked


def calm_times(phases, begin_ns, end_ns):
    """[(start, end)] without a fault: from the recovery after one to the next."""
    calm, since = [], begin_ns
    for phase in phases:
        if since is not None and phase.start_ns > since:
            calm.append((since, phase.start_ns))
        since = phase.recovered_ns if phase.recovered_ns is not None else phase.end_ns
    if since < end_ns:
        calm.append((since, end_ns))
    return calm


def punctuality(sent_ns, spans, period_ns):
    """
    (ticks lost, p99 of lateness in ms, share of the time with commands) within the spans.

    A tick is late against the grid of the commands around it: the earliest of them lies on the grid.
    """
    lost, late_ms, covered, total = 0, [], 0.0, 0.0
    for begin, end in spans:
        total += end - begin
        inside = sent_ns[(sent_ns >= begin) & (sent_ns < end)]
        if len(inside) < 2:
            continue
        gaps = np.diff(inside)
        covered += gaps[gaps <= 2.5 * period_ns].sum()
        held = np.rint(gaps / period_ns)
        lost += int((held[(held > 1) & (gaps <= SILENCE_S * 1e9)] - 1).sum())
        for piece in np.split(np.arange(len(inside)), np.flatnonzero(gaps > 2.5 * period_ns) + 1):
            if len(piece) > 10:
                times = inside[piece] - inside[piece[0]]
                own = np.concatenate([[0], np.cumsum(np.rint(np.diff(times) / period_ns))])
                off = times - own * period_ns
                late_ms.extend((off - np.percentile(off, 1)) / 1e6)
    p99 = float(np.percentile(late_ms, 99)) if late_ms else 0.0
    return lost, max(p99, 0.0), float(covered / total) if total else 0.0
