"""Rosbag2 bags of a robot at work, as the node's parameter file names its topics, into a Recording."""
from bisect import bisect_right

from oxygen_ros.bag.read import Bag, BagError
from oxygen_ros.configure import command_outputs
from oxygen_ros.convert.images import to_rgb
from oxygen_ros.convert.instruction import clean
from oxygen_ros.convert.joints import JointMerger
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.evaluate.parameters import FileParameters
from oxygen_ros.evaluate.recorded import RecordedCommands
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.profile import VIEWS
from oxygen_ros.train.recording import FRAME_S, Gathered

FRESH_S = 0.2  # joint states and the pictures of other views must be this new


class _Names:
    """The node's place in the graph: at its root."""

    @staticmethod
    def resolve_topic_name(name):
        return name if name.startswith('/') else f'/{name}'


def read_bags(paths, config, image_size, horizon, dt_s):
    """
    Recording of bags; each stretch of one instruction is an episode. `config` is the node's parameter file.

    It says which topics are the views, the joint states and the commands (where a bag has none, later joint states
    stand in). Frames without an instruction or without fresh inputs are left out.
    """
    params = FileParameters(config)
    profile = load_profile(params['profile'])
    if profile.action_kind is not ActionKind.JOINT_POSITION:
        raise ValueError(f'profile {profile.name} has {profile.action_kind.value} actions: only joint positions are '
                         'trained on')
    views = [view for view in VIEWS if view in params['views']]
    gathered = Gathered(views, profile.joints, image_size, horizon, dt_s)
    for path in paths:
        with Bag(path) as bag:
            _Episodes(bag, params, profile, views, gathered).read()
    return gathered.done()


class _Episodes:
    """Reads one bag in order of time and hands over an episode at each new instruction and at the end."""

    def __init__(self, bag, params, profile, views, gathered):
        resolve = _Names.resolve_topic_name
        self.bag, self.gathered, self.views = bag, gathered, views
        self.cameras = {resolve(params[f'image.{view}.topic']): view for view in views}
        self.joints, self.instruction = resolve('joint_states'), resolve('instruction')
        self.merger = JointMerger(profile.joints)
        self.recorded = RecordedCommands(bag, command_outputs(params, profile, _Names), resolve, profile)
        bag.require([*self.cameras, self.joints, self.instruction])
        self.text, self.seen = '', {}
        self._begin()

    def _begin(self):
        self.times, self.pictures, self.states, self.command_times, self.commands = [], [], [], [], []

    def _end(self):
        if self.times and self.commands:
            # Before the first command of a stretch nothing says what was wanted.
            first = bisect_right(self.times, self.command_times[0] - 1e-9)
            texts = [self.text] * (len(self.times) - first)
            if texts:
                self.gathered.episode(self.times[first:], self.pictures[first:], self.states[first:], texts, texts,
                                      self.command_times, self.commands)
        self._begin()

    def read(self):
        """All messages of the bag."""
        wanted = {*self.cameras, self.joints, self.instruction, *self.recorded.topics}
        for topic, time_ns, data in self.bag.messages(wanted):
            time_s = (time_ns - self.bag.start_ns) / 1e9
            if topic == self.instruction:
                text = clean(self.bag.decode(topic, data).data)
                if text != self.text:
                    self._end()
                    self.text = text
            elif topic == self.joints:
                try:
                    self.merger.merge_message(self.bag.decode(topic, data), time_ns)
                except ValueError as error:
                    raise BagError(f'bag {self.bag.path}: {error}') from None
                if self.recorded.states_instead and self.merger.complete:
                    self._command(time_s, self.merger.positions())
            elif topic in self.recorded.topics:
                self._command(time_s, self.recorded.row(topic, data))
            else:
                self.seen[self.cameras[topic]] = (time_s, topic, data)
                if self.cameras[topic] == self.views[0]:
                    self._frame(time_s, time_ns)
        self._end()

    def _command(self, time_s, row):
        if row is not None:
            self.command_times.append(time_s)
            self.commands.append(row)

    def _frame(self, time_s, time_ns):
        """Keep the moment of a picture of the first view, if all that belongs to it is there."""
        fresh = len(self.seen) == len(self.views) and all(time_s - at <= FRESH_S for at, *_ in self.seen.values())
        joints = self.merger.complete and time_ns - self.merger.time_ns() <= FRESH_S * 1e9
        if not (self.text and fresh and joints) or (self.times and time_s - self.times[-1] < FRAME_S - 0.02):
            return
        pictures = []
        for view in self.views:
            _, topic, data = self.seen[view]
            try:
                pictures.append(self.gathered.small(to_rgb(self.bag.decode(topic, data))))
            except ValueError as error:
                raise BagError(f'bag {self.bag.path}: {topic}: {error}') from None
        self.times.append(time_s)
        self.pictures.append(pictures)
        self.states.append(self.merger.positions())
