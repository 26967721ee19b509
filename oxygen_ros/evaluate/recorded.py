"""The commands that a bag recorded, in the order of the profile's joints."""
import numpy as np

from oxygen_ros.bag.read import BagError
from oxygen_ros.engine.chunk import ActionKind


class RecordedCommands:
    """
    Rows of what the command topics of `outputs` said; where the bag has none, later joint states are the reference.

    `resolve` gives a topic's full name. States stand in for positions only. `reference` is command, state or none.
    """

    def __init__(self, bag, outputs, resolve, profile):
        self._bag, self._joints = bag, profile.actions
        self._positions = profile.action_kind is ActionKind.JOINT_POSITION
        self._outputs = {resolve(output.topic): output for output in outputs}
        self._newest = np.full(len(self._joints), np.nan)
        held = all(name in bag.topics and bag.topics[name].count for name in self._outputs)
        self.topics = set(self._outputs) if held else set()
        self.states_instead = not held and self._positions
        self.reference = 'command' if held else 'state' if self.states_instead else 'none'

    def row(self, topic, data):
        """Row [J] in force after one command message; None until every joint has been commanded."""
        output, message = self._outputs[topic], self._bag.decode(topic, data)
        if hasattr(message, 'points'):  # JointTrajectory
            if message.points:
                point = message.points[0]
                self._named(output, message.joint_names, point.positions if self._positions else point.velocities)
        elif hasattr(message, 'name'):  # JointState
            self._named(output, message.name, message.position if self._positions else message.velocity)
        elif not hasattr(message, 'data'):
            raise BagError(f'bag {self._bag.path}: {topic} is a {self._bag.topics[topic].type}, which is no joint '
                           f'command')
        elif len(message.data) != len(output.joints):
            raise BagError(f'bag {self._bag.path}: a command on {topic} has {len(message.data)} numbers, '
                           f'{len(output.joints)} joints go there')
        else:
            self._newest[output.columns] = message.data
        return self._newest.copy() if np.isfinite(self._newest).all() else None

    def _named(self, output, names, values):
        table = dict(zip(names, values))
        for joint, column in zip(output.joints, output.columns):
            if joint in table:
                self._newest[column] = table[joint]
