"""
The scripted demonstrator of the block task.

It is a function of what is measured now, without memory: from any state it gives the rest of the motion, so that its
labels stay right for states that noise, a miss or a new plan brought about.
"""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.sim.joints import GRIPPER_CLOSED_M, GRIPPER_OPEN_M, START
from oxygen_ros.sim.judge import LINE_FRONT_X, LINE_BACK_X, RIGHT
from oxygen_ros.sim.kinematics import downward

REST = GRIPPER_CLOSED_M + 0.00139  # the closed gripper of the start pose
APART_M = 0.036  # fingers set to push with: two points of contact keep the block from turning
HIGH_M, GRASP_M, LIFT_M, TOUCH_M, PUSH_M = 0.12, 0.014, 0.15, 0.055, 0.022
TOP_M = 0.058  # the closed fingertips, 18 mm below the pinch point, meet a block's top at about this height
BESIDE_M = 0.052  # pinch point to block centre when a push begins
JOINT_SPEED, DOWN_SPEED, PUSH_SPEED = 2.2, 0.30, 0.22  # rad/s, m/s, m/s
LEAD_S = 0.03  # a moving arm lags its command by about this; the command starts that far ahead
CLOSE_S = 0.34


@dataclass(frozen=True)
class Plan:
    """
    Set-points [H, 14] at `times_s` from now, the phase under way and the place [2] (m) it is about, or None.

    Phases: reach, lower, close, lift, push, hold, return.
    """

    rows: np.ndarray
    phase: str
    place: np.ndarray | None


def seed_towards(kinematics, point):
    """Canonical arm joints [6] that face `point` with the gripper down, and the gripper's yaw there."""
    across = kinematics.base - point[:2]
    joints = np.array([np.arctan2(across[1], across[0]), -0.1, 0.5, 0.0, 1.1, 0.0])
    rotation = kinematics.forward(joints)[1]
    return joints, float(np.arctan2(rotation[1, 1], rotation[0, 1]))


class _Path:
    """Knots of the right arm's set-points over time, in joint space, no longer than it will be asked for."""

    def __init__(self, kinematics, joints, point, enough_s):
        self.kinematics, self.point = kinematics, point
        self.times, self.knots, self.grips = [0.0], [joints], []
        self.enough_s = enough_s

    @property
    def full(self):
        return self.times[-1] > self.enough_s

    def _add(self, joints, duration_s, grip):
        self.times.append(self.times[-1] + max(duration_s, 1e-3))
        self.knots.append(joints)
        self.grips.append((self.times[-1], grip))

    def jump(self, point, grip):
        """Move in joint space to above a point."""
        if self.full:
            return
        seed, yaw = seed_towards(self.kinematics, point)
        joints, _ = self.kinematics.solve(seed, point, downward(yaw))
        self._add(joints, np.abs(joints - self.knots[-1]).max() / JOINT_SPEED, grip)
        self.point = point

    def straight(self, point, grip, speed):
        """Move in a straight line, gripper facing down."""
        start = self.point
        length = np.linalg.norm(point - start)
        parts = max(1, int(np.ceil(length / 0.03)))
        for part in range(1, parts + 1):
            if self.full:
                return
            between = start + (point - start) * part / parts
            seed, yaw = seed_towards(self.kinematics, between)
            near = self.knots[-1] if np.abs(self.knots[-1] - seed).max() < 1.0 else seed
            joints, _ = self.kinematics.solve(near, between, downward(yaw))
            by_joint = np.abs(joints - self.knots[-1]).max() / JOINT_SPEED
            self._add(joints, max(length / parts / speed, by_joint), grip)
            self.point = between

    def wait(self, duration_s, grip):
        if duration_s > 0 and not self.full:
            self._add(self.knots[-1], duration_s, grip)

    def rows(self, times_s, rest_grip):
        """[len(times_s), 7] set-points; the gripper's goes in steps, the joints' run LEAD_S ahead."""
        knots = np.stack(self.knots)
        ahead = np.asarray(times_s) + LEAD_S
        joints = np.stack([np.interp(ahead, self.times, knots[:, joint]) for joint in range(6)], 1)
        ends, grips = [end for end, _ in self.grips], [grip for _, grip in self.grips] + [rest_grip]
        grip = np.array(grips)[np.searchsorted(ends, ahead)]
        return np.concatenate([joints, grip[:, None]], 1)


class Expert:
    """Plans for the right arm; the left one is told to stay at its start."""

    def __init__(self, kinematics, times_s):
        self.kinematics, self.times_s = kinematics, np.asarray(times_s)

    def plan(self, positions, finger_speed, blocks, goal):
        """
        Plan from measured `positions` [14] and blocks (colour -> Block) towards a Goal.

        `finger_speed` of the right gripper in m/s tells closed fingers that met the block from closing ones.
        """
        arm, grip = positions[RIGHT][:6], float(positions[RIGHT][6])
        point, _ = self.kinematics.forward(arm)
        path = _Path(self.kinematics, arm, point, self.times_s[-1] + LEAD_S)
        if goal.kind == 'home':
            phase, place, rest = *self._home(path, arm), REST
        else:
            block = blocks[goal.colour]
            place = block.position[:2]
            phase, rest = getattr(self, '_' + goal.kind)(path, point, (grip, finger_speed), block.position)
        rows = np.empty((len(self.times_s), 14))
        rows[:, :7] = START[:7]
        rows[:, RIGHT] = path.rows(self.times_s, rest)
        return Plan(rows, phase, place)

    def _home(self, path, arm):
        far = np.abs(START[RIGHT][:6] - arm).max()
        if path.point[2] < 0.08:
            path.straight(path.point + [0, 0, 0.10 - path.point[2]], REST, DOWN_SPEED)
        path._add(START[RIGHT][:6], np.abs(START[RIGHT][:6] - path.knots[-1]).max() / JOINT_SPEED, REST)
        return ('hold' if far < 0.03 else 'return'), None

    @staticmethod
    def _over(path, here, spot, grip, low, clear):
        """
        Go above `spot`: straight up first from a low place beside it, lower the nearer it is.

        True while that is still to be done, seen from `here`.
        """
        off = np.linalg.norm(here[:2] - spot)
        if off < 0.010 or (off < 0.018 and here[2] > low + 0.03):
            return False
        if here[2] < clear:
            path.straight(np.array([*here[:2], clear + 0.015]), grip, DOWN_SPEED)
        height = float(np.clip(clear + 1.2 * off, clear + 0.01, HIGH_M))
        path.jump(np.array([*spot, height]), grip)
        return True

    def _pick(self, path, here, grip, block):
        spot, off = block[:2], np.linalg.norm(here - block)
        grip, speed = grip
        if off < 0.025 and 0.034 < grip < 0.0535 and (abs(speed) < 0.01 or block[2] > 0.03):
            done = here[2] > LIFT_M - 0.015
            path.straight(np.array([*here[:2], LIFT_M]), GRIPPER_CLOSED_M, DOWN_SPEED)
            return ('hold' if done else 'lift'), GRIPPER_CLOSED_M
        near = np.linalg.norm(here[:2] - spot) < 0.012 and here[2] < GRASP_M + 0.012
        if near:
            phase = 'close'
        else:
            phase = 'reach' if self._over(path, here, spot, GRIPPER_OPEN_M, GRASP_M, 0.065) else 'lower'
            path.straight(np.array([*spot, GRASP_M]), GRIPPER_OPEN_M, DOWN_SPEED)
        left = CLOSE_S * np.clip((grip - 0.044) / (GRIPPER_OPEN_M - 0.044), 0.3, 1) if near else CLOSE_S
        path.wait(left, GRIPPER_CLOSED_M)
        path.straight(np.array([*spot, LIFT_M]), GRIPPER_CLOSED_M, DOWN_SPEED)
        return phase, GRIPPER_CLOSED_M

    def _touch(self, path, here, grip, block):
        spot = block[:2]
        phase = 'reach' if self._over(path, here, spot, REST, TOUCH_M, 0.075) else 'lower'
        if phase == 'lower' and here[2] < TOP_M + 0.002:
            phase = 'hold'
        path.straight(np.array([*spot, TOUCH_M]), REST, DOWN_SPEED / 2)
        return phase, REST

    def _push_front(self, path, here, grip, block):
        return self._push(path, here, block, -1.0, LINE_FRONT_X)

    def _push_back(self, path, here, grip, block):
        return self._push(path, here, block, 1.0, LINE_BACK_X)

    def _push(self, path, here, block, sign, line):
        behind = block[:2] - [sign * BESIDE_M, 0]
        if sign * (line - block[0]) < 0.004:
            path.straight(np.array(here), APART_M, DOWN_SPEED)
            return 'hold', APART_M
        along, across = sign * (block[0] - here[0]), here[1] - block[1]
        low = here[2] < PUSH_M + 0.015
        phase = 'push'
        if not (low and abs(across) < 0.018 and 0.015 < along < BESIDE_M + 0.04):
            if abs(across) < 0.016 and 0.040 < along < BESIDE_M + 0.03:
                # Anywhere behind the block will do: down from there, rather than up again for a better place.
                phase, behind = 'lower', here[:2]
            else:
                phase = 'reach' if self._over(path, here, behind, APART_M, PUSH_M, 0.075) else 'lower'
            path.straight(np.array([*behind, PUSH_M]), APART_M, DOWN_SPEED)
        # The fingers meet the block about this far ahead of the pinch point.
        end = line - sign * 0.030
        path.straight(np.array([end, block[1], PUSH_M]), APART_M, PUSH_SPEED)
        return phase, APART_M
