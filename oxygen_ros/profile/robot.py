"""Robot transforms: the numbers of a robot to those a checkpoint was trained on, and back."""
import numpy as np


class Identity:
    """The checkpoint was trained on the robot's own numbers."""

    columns = None

    def state(self, values):
        return values

    def actions(self, values):
        return values

    def training_actions(self, values):
        return values


class Aloha:
    """
    ALOHA to the space of pi0's base checkpoints ("adapt_to_pi") and back; 14 columns, [6 joints, gripper] twice.

    Source: openpi src/openpi/policies/aloha_policy.py. State grippers are linear positions scaled to 0..1, output
    grippers are gripper joint angles scaled to 0..1, as ALOHA's own code uses them.
    """

    columns = 14
    FLIP = np.array([1, -1, -1, 1, 1, 1, 1] * 2, dtype=np.float64)
    GRIPPERS = [6, 13]
    LINEAR_M = (0.01844, 0.05800)
    ANGLE_RAD = (0.5476, 1.6296)
    COMMAND_RAD = (-0.6213, 1.4910)
    ARM_M, HORN_M = 0.036, 0.022

    def state(self, values):
        """Robot state [14] -> model state [14]."""
        values = self.FLIP * values
        low, high = self.LINEAR_M
        linear = values[..., self.GRIPPERS] * (high - low) + low
        with np.errstate(divide='ignore', invalid='ignore'):
            sine = (self.HORN_M ** 2 + linear ** 2 - self.ARM_M ** 2) / (2 * self.HORN_M * linear)
        angle = np.arcsin(np.clip(sine, -1, 1))
        low, high = self.ANGLE_RAD
        values[..., self.GRIPPERS] = (angle - low) / (high - low)
        return values

    def actions(self, values):
        """Model actions [H, 14] -> robot actions [H, 14]."""
        values = self.FLIP * values
        low, high = self.COMMAND_RAD
        values[..., self.GRIPPERS] = (values[..., self.GRIPPERS] + self.ANGLE_RAD[0] - low) / (high - low)
        return values

    def training_actions(self, values):
        """Robot actions -> model actions, as in training; the inverse of `actions`."""
        values = self.FLIP * values
        low, high = self.COMMAND_RAD
        values[..., self.GRIPPERS] = values[..., self.GRIPPERS] * (high - low) + low - self.ANGLE_RAD[0]
        return values


ROBOTS = {'none': Identity(), 'aloha': Aloha()}


class RobotTransform:
    """Everything between robot units and un-normalised model numbers for one profile: unit maps, robot, delta."""

    def __init__(self, profile):
        if profile.robot not in ROBOTS:
            raise ValueError(f'profile {profile.name}: robot must be one of {sorted(ROBOTS)}, got {profile.robot}')
        self._robot = ROBOTS[profile.robot]
        columns = self._robot.columns
        if columns and (len(profile.joints), len(profile.actions)) != (columns, columns):
            raise ValueError(f'profile {profile.name}: robot {profile.robot} has {columns} columns, the profile has '
                             f'{len(profile.joints)} joints and {len(profile.actions)} actions')
        self._state_scale, self._state_offset = affine(profile.joints, profile.state_maps)
        self._action_scale, self._action_offset = affine(profile.actions, profile.action_maps)
        self._delta = np.array(profile.delta or (False,) * len(profile.actions), dtype=bool)
        self._low = np.full(len(profile.actions), -np.inf)
        self._high = np.full(len(profile.actions), np.inf)
        for name, low, high in profile.action_ranges:
            at = profile.actions.index(name)
            self._low[at], self._high[at] = low, high
        self._binary = [profile.actions.index(name) for name in profile.binary]
        self._position_actions = [(profile.actions.index(name), speed) for name, speed in profile.position_actions]
        self._dt_s = profile.dt_s

    def state(self, robot):
        """Robot state [J] -> model state [J], not normalised."""
        return self._robot.state(np.asarray(robot, dtype=np.float64) * self._state_scale + self._state_offset)

    def actions(self, model, model_state):
        """Model actions [H, A], not normalised, and the model state [J] of the chunk's start -> robot actions."""
        actions = np.array(model, dtype=np.float64)
        actions[:, self._delta] += model_state[:len(self._delta)][self._delta]
        actions = self.unlimited(actions)
        for at in self._binary:
            middle = (self._low[at] + self._high[at]) / 2
            actions[:, at] = np.where(actions[:, at] > middle, self._high[at], self._low[at])
        return np.clip(actions, self._low, self._high)

    def unlimited(self, actions):
        """Absolute model actions [H, A] in robot units, before ranges are applied."""
        return (self._robot.actions(actions) - self._action_offset) / self._action_scale

    def to_velocities(self, actions, state):
        """
        Turn the positions among robot velocities [H, A] into velocities, from the robot state [J] of the chunk's start.

        Row i gets the velocity that reaches its position by the end of its time, within the greatest speed; so zero
        means staying there for every column, which is what holding does.
        """
        for at, speed in self._position_actions:
            place = state[at]
            for i, target in enumerate(actions[:, at]):
                actions[i, at] = np.clip((target - place) / self._dt_s, -speed, speed)
                place += actions[i, at] * self._dt_s
        return actions

    def training_actions(self, robot, model_state):
        """Robot actions [H, A] -> model actions as in training: the inverse of `actions` within the ranges."""
        actions = self._robot.training_actions(np.asarray(robot, dtype=np.float64) * self._action_scale
                                               + self._action_offset)
        actions = np.array(actions)
        actions[:, self._delta] -= model_state[:len(self._delta)][self._delta]
        return actions


def affine(names, maps):
    scale, offset = np.ones(len(names)), np.zeros(len(names))
    for name, a, b in maps:
        scale[names.index(name)], offset[names.index(name)] = a, b
    return scale, offset
