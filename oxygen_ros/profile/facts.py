"""What a checkpoint's own files say about how it was trained, and whether a profile agrees with it."""
from dataclasses import dataclass

from oxygen_ros.profile.profile import NEEDS, VIEWS, Normalisation, NormalisationRule, Statistics


@dataclass(frozen=True)
class FoundStatistics:
    """Statistics read from a checkpoint; `state_mode` and `action_mode` where its files say them, else None."""

    state: Statistics
    actions: Statistics
    rule: NormalisationRule
    source: str
    state_mode: Normalisation | None = None
    action_mode: Normalisation | None = None


@dataclass(frozen=True)
class CheckpointFacts:
    """
    What config.json and the processor files state; None where they are silent.

    `cameras` are the names of the image features in the order of the model's slots.
    """

    source: str
    chunk_horizon: int | None = None
    state_size: int | None = None
    action_size: int | None = None
    action_dim: int | None = None
    image_size: int | None = None
    max_prompt_tokens: int | None = None
    cameras: tuple[str, ...] = ()
    empty_cameras: int = 0
    state_in_prompt: bool | None = None
    relative_actions: bool | None = None
    relative_exclude: tuple[str, ...] = ()
    state_mode: Normalisation | None = None
    action_mode: Normalisation | None = None
    variants: tuple[str, ...] = ()
    norm_asset: str = ''


def disagreements(profile, facts, found=None):
    """
    Return `[(key, profile's value, checkpoint's value)]` of everything in which the two differ.

    Keys that the profile lists in `ignore_conflicts` are left out.
    """
    rows = []

    def compare(key, ours, theirs):
        if theirs is not None and ours != theirs and key not in profile.ignore_conflicts:
            rows.append((key, ours, theirs))

    compare('chunk_horizon', profile.chunk_horizon, facts.chunk_horizon)
    compare('joints', len(profile.joints), facts.state_size)
    compare('actions', len(profile.actions), facts.action_size)
    compare('state_in_prompt', profile.state_in_prompt, facts.state_in_prompt)
    compare('max_prompt_tokens', profile.max_prompt_tokens, facts.max_prompt_tokens)
    state_mode = found.state_mode if found and found.state_mode else facts.state_mode
    action_mode = found.action_mode if found and found.action_mode else facts.action_mode
    compare('normalisation', profile.normalisation.value, state_mode and state_mode.value)
    compare('action_normalisation', profile.action_normalisation.value, action_mode and action_mode.value)
    if facts.relative_actions is not None:
        theirs = tuple(facts.relative_actions and not any(word in name.lower() for word in facts.relative_exclude)
                       for name in profile.actions)
        compare('delta', profile.delta or (False,) * len(profile.actions), theirs)
    if facts.cameras:
        compare('views', profile.views, camera_slots(facts))
    if facts.variants:
        compare('model', 'pi05' if profile.model == 'pi05' else f'{profile.model} (other sizes)',
                'pi05' if facts.variants == ('gemma_2b', 'gemma_300m') else ' and '.join(facts.variants))
    if found is not None:
        for what, ours, statistics, mode in (('state', profile.joints, found.state, profile.normalisation),
                                             ('actions', profile.actions, found.actions,
                                              profile.action_normalisation)):
            for name in NEEDS[mode]:
                value = getattr(statistics, name)
                # openpi pads some statistics to the model's 32 columns
                if value is not None and len(value) not in (len(ours), 32):
                    compare(f'statistics of {what}', f'{len(ours)} columns', f'{len(value)} columns')
                    break
    return rows


def camera_slots(facts):
    """Views that the image features of a LeRobot config fill, by name where they are named so, else in their order."""
    names = [camera.rpartition('.')[2] for camera in facts.cameras]
    real = [name for name in names if not name.startswith('empty_camera')]
    if all(name in VIEWS for name in real):
        return tuple(view for view in VIEWS if view in real)
    return VIEWS[:len(real)]


def agree(profile, facts, found=None):
    """Raise ValueError with both sides of every disagreement between a profile and the checkpoint's files."""
    rows = disagreements(profile, facts, found)
    if rows:
        sides = '; '.join(f'{key}: the profile says {shown(ours)}, the checkpoint {shown(theirs)}'
                          for key, ours, theirs in rows)
        raise ValueError(f'profile {profile.name} does not fit {facts.source}: {sides}. Correct the profile, or list '
                         f'these keys under ignore_conflicts if you know better')


def shown(value):
    return f'[{", ".join(str(v) for v in value)}]' if isinstance(value, tuple) else str(value)
