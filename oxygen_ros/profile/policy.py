"""A profile and a checkpoint, checked against each other, to a model and its processor."""
from dataclasses import replace

from oxygen_ros.profile.beside import profile_beside, read_facts, read_found_statistics
from oxygen_ros.profile.facts import agree
from oxygen_ros.profile.load import load_profile, profile_path, read_yaml
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import find_tokenizer

DEFAULT = 'aloha_sim'


def profile_for(source='', checkpoint='', **overrides):
    """
    Profile of a policy: `source` is a YAML path or shipped name; empty takes profile.yaml beside the weights.

    Statistics that the profile leaves to the checkpoint are read from there, and everything that the checkpoint's files
    say is compared. Raises ValueError or FileNotFoundError with one sentence that shows both sides.
    """
    if not source:
        beside = checkpoint and profile_beside(checkpoint)
        if checkpoint and not beside:
            raise ValueError(f'no profile given and no profile.yaml beside {checkpoint}: name one')
        source = beside or DEFAULT
    statistics = found = None
    if checkpoint:
        path = profile_path(source)
        try:
            wanted = overrides.get('statistics', read_yaml(path).get('statistics'))
        except ValueError as error:
            raise ValueError(f'{path}: {error}') from None
        if wanted == 'checkpoint' or (isinstance(wanted, dict) and 'asset_id' in wanted):
            asset_id = wanted.get('asset_id') if isinstance(wanted, dict) else ''
            statistics = found = read_found_statistics(checkpoint, str(asset_id or ''))
    profile = load_profile(source, statistics, **overrides)
    if checkpoint:
        agree(profile, read_facts(checkpoint), found)
    return profile


def model_config(profile):
    """Pi05Config of the profile's model, with its chunk length."""
    from oxygen_ros.model.config import CONFIGS
    if profile.model not in CONFIGS:
        raise ValueError(f'profile {profile.name}: model must be one of {sorted(CONFIGS)}, got {profile.model}')
    return replace(CONFIGS[profile.model], horizon=profile.chunk_horizon)


def build_processor(profile, config, tokenizer='', checkpoint=''):
    """Processor for a profile and the sizes of its model; `tokenizer` is a path, empty looks beside the weights."""
    return Processor(profile, find_tokenizer(profile.model, tokenizer, checkpoint), config.image_size,
                     config.action_dim, config.vocabulary)


def load_policy(profile, checkpoint='', tokenizer='', dtype=None, device='cpu', seed=None, progress=True):
    """
    Return `(model, processor)` of a Profile: with the weights of `checkpoint`, or random ones if `seed` is a number.

    Everything that can be checked without reading the weights is checked first.
    """
    import torch
    from oxygen_ros.model.checkpoint import check_tensors, load_into, open_checkpoint
    from oxygen_ros.model.pi05 import Pi05
    config = model_config(profile)
    dtype = dtype or torch.float32
    processor = build_processor(profile, config, tokenizer, checkpoint)
    if checkpoint:
        opened = open_checkpoint(checkpoint)
        check_tensors(opened, config)
        model = load_into(Pi05(config, dtype=dtype, device=device), opened, progress)
    elif seed is not None:
        model = Pi05.random(config, seed, dtype=dtype, device=device)
    else:
        raise ValueError(f'profile {profile.name} has no checkpoint: give one, or ask for random weights')
    return model, processor
