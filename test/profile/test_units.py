from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.profile.profile import Normalisation, Profile, Statistics
from oxygen_ros.profile.units import check_units

DEGREES = Statistics(q01=[-100.0, 0.0], q99=[90.0, 100.0])
ARM = Profile(name='arm', views=('base_0_rgb',), joints=('elbow', 'gripper'), action_kind=ActionKind.JOINT_POSITION,
              chunk_horizon=5, dt_s=0.1, state_statistics=DEGREES, action_statistics=DEGREES)
LOWER, UPPER = np.array([-3.0, 0.0]), np.array([3.0, 0.06])


def test_degrees_are_told_from_radians():
    with pytest.raises(ValueError, match='elbow reach 100 in the statistics, its limits end at 3: the units differ'):
        check_units(ARM, LOWER, UPPER)


def test_a_map_for_each_joint_makes_it_fit():
    one = (('elbow', 57.3, 0.0),)
    with pytest.raises(ValueError, match='gripper reach 100'):
        check_units(replace(ARM, action_maps=one), LOWER, UPPER)
    check_units(replace(ARM, action_maps=(*one, ('gripper', 100 / 0.06, 0.0))), LOWER, UPPER)


def test_a_range_does_not_hide_wrong_units():
    with pytest.raises(ValueError, match='elbow'):
        check_units(replace(ARM, action_ranges=(('elbow', -3.0, 3.0),)), LOWER, UPPER)


def test_what_cannot_be_compared_is_not():
    check_units(replace(ARM, delta=(True, True)), LOWER, UPPER)
    check_units(ARM, np.full(2, -np.inf), np.full(2, np.inf))
    check_units(replace(ARM, action_kind=ActionKind.JOINT_VELOCITY), LOWER, UPPER)
    check_units(replace(ARM, normalisation=Normalisation.IDENTITY, action_normalisation=Normalisation.IDENTITY), LOWER,
                UPPER)


def test_other_statistics_are_compared_too():
    spread = Statistics(mean=[0.0, 0.0], std=[40.0, 0.001])
    with pytest.raises(ValueError, match='elbow reach 80'):
        check_units(replace(ARM, action_normalisation=Normalisation.MEAN_STD, action_statistics=spread), LOWER, UPPER)
