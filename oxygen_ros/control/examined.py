"""A chunk with all that can be said about it without the present moment."""
from typing import NamedTuple

from oxygen_ros.engine.chunk import ActionChunk


class Examined(NamedTuple):
    """
    Made by `Controller.examine` in whatever thread has the time, so that the control thread need not.

    `chunk` has its columns in the controller's order. `path` is what it says between its rows (None for deltas), and
    `refusal` why it is not taken at any time, or ''.
    """

    chunk: ActionChunk
    path: object
    refusal: str
