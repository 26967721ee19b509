"""The commands that a bag recorded, in the order of the profile's joints."""
import numpy as np

from oxygen_ros.bag.read import BagError
from oxygen_ros.engine.chunk import ActionKind


class RecordedCommands:
    """
    Rows of the command topic; where the bag has none, later joint states are the reference for positions.

    `reference` is command, state or none.
    """

    def __init__(self, bag, topic, profile):
        self._bag, self._joints = bag, profile.actions
        self._positions = profile.action_kind is ActionKind.JOINT_POSITION
        held = topic in bag.topics and bag.topics[topic].count > 0
        self.topics = {topic} if held else set()
        self.states_instead = not held and self._positions
        self.reference = 'command' if held else 'state' if self.states_instead else 'none'

    def row(self, topic, data):
        """Row [J] of one command message; None where it does not name every joint."""
        message = self._bag.decode(topic, data)
        if hasattr(message, 'points'):  # JointTrajectory
            if not message.points:
                return None
            point = message.points[0]
            return self._named(message.joint_names, point.positions if self._positions else point.velocities)
        if hasattr(message, 'name'):  # JointState
            return self._named(message.name, message.position if self._positions else message.velocity)
        if not hasattr(message, 'data'):
            raise BagError(f'bag {self._bag.path}: {topic} is a {self._bag.topics[topic].type}, which is no joint '
                           f'command')
        if len(message.data) != len(self._joints):
            raise BagError(f'bag {self._bag.path}: a command on {topic} has {len(message.data)} numbers, the profile '
                           f'has {len(self._joints)} actions')
        return np.array(message.data)

    def _named(self, names, values):
        table = dict(zip(names, values))
        if any(name not in table for name in self._joints):
            return None
        return np.array([table[name] for name in self._joints])
