"""The joint limits that the node uses for the simulated robot."""
import yaml

from oxygen_ros.control.limits import JointLimits
from oxygen_ros.share import config_file
from oxygen_ros.sim.joints import JOINTS


def robot_limits():
    """JointLimits from config/aloha.yaml."""
    table = yaml.safe_load(config_file('aloha.yaml').read_text())
    return JointLimits.from_table(JOINTS, table['/**/oxygen']['ros__parameters']['limits'])
