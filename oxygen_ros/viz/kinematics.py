"""Where links are for given joint positions, by yourdfpy from the robot's URDF."""
from io import BytesIO

import numpy as np

MAX_URDF_BYTES = 16 * 2**20


class Kinematics:
    """
    Forward kinematics of the URDF `text`; meshes are not read.

    Raises ValueError with a sentence where the text is no URDF. The text may come from any publisher, so a document
    type, which could name files or unfold without end, is refused.
    """

    def __init__(self, text):
        import yourdfpy
        data = text.encode()
        if len(data) > MAX_URDF_BYTES:
            raise ValueError(f'the robot description has {len(data)} bytes, more than {MAX_URDF_BYTES}')
        if '<!DOCTYPE' in text.upper() or '<!ENTITY' in text.upper():
            raise ValueError('the robot description declares a document type or entities; a URDF needs neither')
        try:
            self._robot = yourdfpy.URDF.load(BytesIO(data), load_meshes=False, build_scene_graph=True,
                                             mesh_dir='')
            self.joints, self.root = tuple(self._robot.actuated_joint_names), self._robot.base_link
        except Exception as error:  # a broken text makes the parser fail in any way
            raise ValueError(f'the robot description is no URDF: {" ".join(str(error).split())[:200]}') from None

    @property
    def links(self):
        return tuple(self._robot.link_map)

    def tips(self, joints):
        """One link a gripper or arm: the child of the last of `joints` on each chain from the root, in their order."""
        children = {joint.child for joint in self._robot.joint_map.values() if joint.name in joints}
        parents = {joint.child: joint.parent for joint in self._robot.joint_map.values()}
        inner = set()
        for link in children:
            while link in parents:
                link = parents[link]
                inner.add(link)
        ends = [joint for joint in self._robot.joint_map.values() if joint.name in joints and joint.child not in inner]
        ordered = sorted(ends, key=lambda joint: joints.index(joint.name))
        # A gripper's fingers slide; the hand that carries them is what a path is drawn of.
        links = [joint.parent if joint.type == 'prismatic' else joint.child for joint in ordered]
        return tuple(dict.fromkeys(links))

    def positions(self, joints, rows, links):
        """Places of `links` in the root frame, [N, L, 3] m, for joint positions `rows` [N, J] of `joints`."""
        known = [i for i, name in enumerate(joints) if name in self._robot.joint_map]
        found = np.empty((len(rows), len(links), 3))
        for n, row in enumerate(rows):
            self._robot.update_cfg({joints[i]: float(row[i]) for i in known})
            for i, link in enumerate(links):
                found[n, i] = self._robot.get_transform(link, self.root)[:3, 3]
        return found
