"""What is being executed, as the engine sees it."""
from typing import NamedTuple

from oxygen_ros.engine.chunk import ActionChunk


class Plan(NamedTuple):
    """The newest chunk the controller took, in robot units, and how long after its observation it came."""

    chunk: ActionChunk
    delay_ns: int
