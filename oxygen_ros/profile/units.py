"""Do the numbers of a checkpoint fit the joints of the robot, or were they degrees, or a gripper in percent?"""
import numpy as np

from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.profile.profile import Normalisation
from oxygen_ros.profile.robot import RobotTransform

FACTOR = 10.0  # degrees are 57 times radians, a gripper in percent some thousand times its slide in metres


def reach(statistics, mode):
    """`(low [J], high [J])` that the statistics call usual, or None for identity."""
    if mode is Normalisation.QUANTILE:
        return statistics.q01, statistics.q99
    if mode is Normalisation.MIN_MAX:
        return statistics.min, statistics.max
    if mode is Normalisation.MEAN_STD:
        return statistics.mean - 2 * statistics.std, statistics.mean + 2 * statistics.std
    return None


def check_units(profile, lower, upper):
    """
    Raise ValueError where what the checkpoint calls usual lies ten times outside a joint's limits.

    `lower` and `upper` [J] are the limits of the profile's joints in robot units; infinite ones are not compared. Only
    positions that are not relative to the state can be compared, after the profile's maps and ranges (lerobot#1259).
    """
    if profile.action_kind is not ActionKind.JOINT_POSITION:
        return
    usual = reach(profile.action_statistics, profile.action_normalisation)
    if usual is None:
        return
    count = len(profile.actions)
    rows = np.stack([column[:count] for column in usual])
    robot = np.abs(RobotTransform(profile).unlimited(rows)).max(axis=0)
    largest = np.maximum(np.abs(lower), np.abs(upper))
    relative = profile.delta or (False,) * count
    for name, value, limit, skip in zip(profile.joints, robot, largest, relative):
        if not skip and np.isfinite(limit) and value > FACTOR * limit:
            raise ValueError(
                f'profile {profile.name}: the actions of {name} reach {value:.4g} in the statistics, its limits end at '
                f'{limit:.4g}: the units differ; give the joint an entry under state_maps and action_maps')
