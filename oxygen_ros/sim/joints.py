"""The names, units and start pose of the simulated robot's joints; needs neither MuJoCo nor ROS."""
import numpy as np

SIDES = ('left', 'right')
ARM = ('waist', 'shoulder', 'elbow', 'forearm_roll', 'wrist_angle', 'wrist_rotate', 'gripper')
JOINTS = tuple(f'{side}_{part}' for side in SIDES for part in ARM)  # 12 in rad, the two grippers in m

GRIPPER_CLOSED_M, GRIPPER_OPEN_M = 0.021, 0.057  # slide of one finger

# The pose that gym-aloha's tasks start from.
_ARM_LOWER = (-3.14158, -1.85005, -1.76278, -3.14158, -1.8675, -3.14158, GRIPPER_CLOSED_M)
_ARM_UPPER = (3.14158, 1.25664, 1.6057, 3.14158, 2.23402, 3.14158, GRIPPER_OPEN_M)
_ARM_START = (0.0, -0.96, 1.16, 0.0, -0.3, 0.0, 0.02239)
LOWER = np.array(_ARM_LOWER * 2)  # [14]
UPPER = np.array(_ARM_UPPER * 2)  # [14]
START = np.array(_ARM_START * 2)  # [14]
for _table in (LOWER, UPPER, START):
    _table.flags.writeable = False


def unit(joint):
    """The unit of a joint's position."""
    return 'm' if joint.endswith('gripper') else 'rad'
