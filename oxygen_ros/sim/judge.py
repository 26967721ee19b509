"""What it means to have done a goal, judged by the physics of the block scene."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.sim.instructions import COLOURS
from oxygen_ros.sim.joints import START

RIGHT = slice(7, 14)  # columns of the right arm
LINE_FRONT_X, LINE_BACK_X = -0.03, 0.27  # how far a push goes, m
LIFTED_M, PUSHED_M, DISTURBED_M = 0.05, 0.05, 0.02


@dataclass(frozen=True)
class Block:
    """Centre [3] in m and turn about the vertical in rad."""

    position: np.ndarray
    yaw: float


def corridor_is_free(places, colour, kind):
    """Whether a push of `colour` meets none of the other blocks; `places` maps colours to (x, y)."""
    sign = -1 if kind == 'push_front' else 1
    x, y = places[colour]
    end = LINE_FRONT_X if sign < 0 else LINE_BACK_X
    start = x - sign * 0.10
    low, high = min(start, end) - 0.05, max(start, end) + 0.05
    return not any(low < other[0] < high and abs(other[1] - y) < 0.065
                   for name, other in places.items() if name != colour)


def suits(places, goal):
    """Whether a goal can be done from these places: a push needs a free way of more than PUSHED_M."""
    if not goal.kind.startswith('push'):
        return True
    x = places[goal.colour][0]
    room = x - LINE_FRONT_X if goal.kind == 'push_front' else LINE_BACK_X - x
    return room > PUSHED_M + 0.02 and corridor_is_free(places, goal.colour, goal.kind)


class Judge:
    """Watches one episode of a scene with Blocks and tells by physics whether the goal was reached."""

    def __init__(self, scene, goal):
        self._scene, self.goal = scene, goal
        model = scene.model
        self._address = {colour: model.joint(f'{colour}_joint').qposadr[0] for colour in COLOURS}
        self._geom = {colour: model.geom(colour).id for colour in COLOURS}
        self._fingers = {geom for geom in range(model.ngeom)
                         if model.body(model.geom_bodyid[geom]).name.startswith('vx300s_right/')
                         and 'finger' in model.body(model.geom_bodyid[geom]).name}
        self.start = self.blocks()
        self.touched = set()

    def blocks(self):
        """Colour -> Block as it lies now."""
        found = {}
        for colour, address in self._address.items():
            x, y, z, w, *_, k = self._scene.data.qpos[address:address + 7]
            found[colour] = Block(np.array([x, y, z]), float(2 * np.arctan2(k, w)))
        return found

    def look(self):
        """Note which blocks the right fingers touch; call it every tick."""
        contact = self._scene.data.contact
        for pair in contact.geom[:self._scene.data.ncon]:
            for colour, geom in self._geom.items():
                if geom in pair and self._fingers.intersection(pair):
                    self.touched.add(colour)

    def done(self, goal=None):
        """
        Whether the goal (default the episode's own) holds now.

        pick: lifted by LIFTED_M. touch: a finger touched it, no other block, and it moved less than DISTURBED_M.
        push: moved by PUSHED_M to that side, less to any other, still on the table. home: every joint within 0.05 of
        the start pose, but for the right gripper, which may be open or closed.
        """
        goal = self.goal if goal is None else goal
        if goal.kind == 'home':
            return bool(np.abs(self._scene.positions() - START)[:13].max() < 0.05)
        moved = self.blocks()[goal.colour].position - self.start[goal.colour].position
        if goal.kind == 'pick':
            return bool(moved[2] > LIFTED_M)
        if goal.kind == 'touch':
            return bool(self.touched == {goal.colour} and np.linalg.norm(moved) < DISTURBED_M)
        along = -moved[0] if goal.kind == 'push_front' else moved[0]
        return bool(along > PUSHED_M and abs(moved[1]) < along and abs(moved[2]) < 0.01)
