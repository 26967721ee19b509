"""
The DDS settings that images need.

Best-effort images lose half their frames on Fast DDS's default transport; `config/fastdds_shm.xml` gives it a
shared-memory segment that holds them. Whatever the user has set stays.
"""
import os
from pathlib import Path
import sys

from oxygen_ros import share

OLD, NEW = 'FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'
FILE = 'fastdds_shm.xml'


def profiles_variable(environment):
    """The variable that the installed Fast DDS reads its profiles by: version 2 (Jazzy) and 3 (Kilted) differ."""
    prefixes = [*environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
    old = any(next(Path(prefix, 'lib').glob('libfastrtps.so*'), None) for prefix in prefixes if prefix)
    return OLD if old else NEW


def configure(environment, discovery=True):
    """
    Add to an environment, in place, what is not set there: the profile, and with `discovery` this machine alone.

    Another middleware than Fast DDS gets no profile. A process must have them before its rclpy.init.
    """
    if 'fastrtps' in environment.get('RMW_IMPLEMENTATION', 'fastrtps') and not any(map(environment.get, (OLD, NEW))):
        environment[profiles_variable(environment)] = str(share.config_file(FILE))
    if discovery and not any(map(environment.get, ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY'))):
        environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
