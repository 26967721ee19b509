"""Forward and inverse kinematics of one simulated arm, on physics data of its own."""
import numpy as np

from oxygen_ros.sim.joints import ARM
from oxygen_ros.sim.scene import mujoco

PINCH_M = 0.135  # from gripper_link along its x axis to the point between the fingertips


def downward(yaw):
    """Rotation [3, 3]: gripper x axis down, the fingers' opening axis (gripper y) in the table plane at `yaw`."""
    y = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    x = np.array([0.0, 0.0, -1.0])
    return np.stack([x, y, np.cross(x, y)], 1)


class ArmKinematics:
    """
    Pinch point and damped least squares inverse kinematics of one side's six arm joints.

    It never touches the scene's own state, so that a plan can be made while the physics stands.
    """

    def __init__(self, model, side='right'):
        self._model, self._data = model, mujoco.MjData(model)
        joints = [model.joint(f'vx300s_{side}/{part}') for part in ARM[:6]]
        self._position = np.array([joint.qposadr[0] for joint in joints])
        self._velocity = np.array([joint.dofadr[0] for joint in joints])
        self.lower, self.upper = np.array([joint.range for joint in joints]).T
        self._gripper = model.body(f'vx300s_{side}/gripper_link').id
        base = model.body(f'vx300s_{side}/shoulder_link').id
        mujoco.mj_kinematics(model, self._data)
        self.base = self._data.xpos[base][:2].copy()  # where the waist turns

    def forward(self, joints):
        """Pinch point [3] in m and gripper rotation [3, 3] at the arm's joints [6]."""
        self._data.qpos[self._position] = joints
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        rotation = self._data.xmat[self._gripper].reshape(3, 3)
        return self._data.xpos[self._gripper] + rotation[:, 0] * PINCH_M, rotation.copy()

    def solve(self, joints, point, rotation, iterations=60, damping=0.03, turn_weight=0.3):
        """
        Joints [6] that bring the pinch point to `point` with `rotation`, starting from `joints`.

        Returns them with the remaining distance in m. A step of one joint is at most 0.2 rad.
        """
        joints = np.array(joints, dtype=float)
        moved, turned = np.zeros((3, self._model.nv)), np.zeros((3, self._model.nv))
        for _ in range(iterations):
            here, facing = self.forward(joints)
            miss = point - here
            twist = 0.5 * np.cross(facing.T, rotation.T).sum(0)
            if np.linalg.norm(miss) < 3e-4 and np.linalg.norm(twist) < 3e-3:
                break
            mujoco.mj_jac(self._model, self._data, moved, turned, here, self._gripper)
            jacobian = np.concatenate([moved[:, self._velocity], turn_weight * turned[:, self._velocity]])
            error = np.concatenate([miss, turn_weight * twist])
            step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping**2 * np.eye(6), error)
            joints = np.clip(joints + step * min(1.0, 0.2 / max(np.abs(step).max(), 1e-9)), self.lower, self.upper)
        return joints, float(np.linalg.norm(point - self.forward(joints)[0]))
