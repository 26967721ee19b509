"""The plan in space as plain shapes: a path a gripper, where it stands, where it is told to be, what is said."""
from dataclasses import dataclass

import numpy as np

from oxygen_ros.viz.palette import COMMANDED, MEASURED, PLAN, state_colour

MAX_PATH_POINTS = 25
PATH_WIDTH_M, POINT_M, TEXT_M = 0.006, 0.025, 0.05


@dataclass(frozen=True)
class Shape:
    """`kind` is line, points or text; `places` [N, 3] m in the root frame; `colour` RGB 0-255; `size_m` as drawn."""

    namespace: str
    number: int
    kind: str
    places: np.ndarray
    colour: tuple[int, int, int]
    size_m: float
    text: str = ''


def thin_rows(rows, limit=MAX_PATH_POINTS):
    """At most `limit` of the rows [N, J], first and last among them."""
    if len(rows) <= limit:
        return rows
    return rows[np.linspace(0, len(rows) - 1, limit).round().astype(int)]


def plan_shapes(kinematics, joints, rows, links):
    """A path with an end point for every link, from chunk rows [H, J] in the order of `joints`."""
    places = kinematics.positions(joints, thin_rows(rows), links)  # [N, L, 3]
    shapes = []
    for i in range(len(links)):
        shapes.append(Shape('plan', 2 * i, 'line', places[:, i], PLAN, PATH_WIDTH_M))
        shapes.append(Shape('plan', 2 * i + 1, 'points', places[-1:, i], PLAN, POINT_M))
    return shapes


def standing_shapes(kinematics, joints, links, measured=None, commanded=None):
    """Points where the links are and where the newest command puts them; positions [J] or None."""
    shapes = []
    for namespace, row, colour in (('measured', measured, MEASURED), ('commanded', commanded, COMMANDED)):
        if row is not None and np.isfinite(row).all():
            places = kinematics.positions(joints, row[None], links)[0]
            shapes.append(Shape(namespace, 0, 'points', places, colour, POINT_M))
    return shapes


def text_shape(state, instruction, texts, place=(0.0, 0.0, 0.8)):
    """State, instruction and current texts, floating above the robot in the colour of the state."""
    lines = [state] + ([f'> {instruction}'] if instruction else []) + [f'{task}: {text[-80:]}' for task, text in texts]
    return Shape('text', 0, 'text', np.array([place]), state_colour(state), TEXT_M, '\n'.join(lines))
