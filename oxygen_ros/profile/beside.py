"""What lies beside the weights: statistics, facts and a profile."""
from pathlib import Path

from oxygen_ros.profile.facts import CheckpointFacts
from oxygen_ros.profile.lerobot_files import read_lerobot_config, read_processors
from oxygen_ros.profile.openpi_files import find_norm_stats, read_norm_stats, read_openpi_config
from oxygen_ros.profile.small_json import read_json

PROFILE = 'profile.yaml'


def folder_of(checkpoint):
    """Folder of a checkpoint given as file or folder (LeRobot training writes into `pretrained_model`)."""
    path = Path(checkpoint)
    if path.is_file():
        return path.parent
    if not (path / 'model.safetensors').is_file() and (path / 'pretrained_model').is_dir():
        return path / 'pretrained_model'
    return path


def read_facts(checkpoint):
    """CheckpointFacts of the config.json beside the weights; all silent if there is none."""
    path = folder_of(checkpoint) / 'config.json'
    if not path.is_file():
        return CheckpointFacts(f'{path.parent} (no config.json)')
    table = read_json(path)
    if 'type' in table or 'input_features' in table:
        return read_lerobot_config(path, table)
    return read_openpi_config(path, table)


def read_found_statistics(checkpoint, asset_id=''):
    """
    Return the FoundStatistics beside the weights, or None.

    openpi's norm_stats.json comes first: beside LeRobot processor files it was put there on purpose, because those of
    some published checkpoints have no statistics at all.
    """
    folder = folder_of(checkpoint)
    path = find_norm_stats(folder, asset_id)
    if path is not None:
        return read_norm_stats(path)
    return read_processors(folder)


def profile_beside(checkpoint):
    """Path of a profile.yaml beside the weights, or None."""
    path = folder_of(checkpoint) / PROFILE
    return path if path.is_file() else None
