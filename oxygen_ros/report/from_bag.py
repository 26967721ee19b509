"""The run that a bag recorded: a node's own topics beside the robot's."""
import numpy as np

from oxygen_ros.bag.play_names import is_command
from oxygen_ros.bag.read import BagError
from oxygen_ros.report.run_data import MAX_THUMBNAILS, MAX_TIMES, MAX_TOKENS, RunData, Thinned, Thumbnail, Token
from oxygen_ros.report.thumbnail import thumbnail

IMAGE_TYPES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
COMMAND_TYPES = ('std_msgs/msg/Float64MultiArray', 'trajectory_msgs/msg/JointTrajectory', 'sensor_msgs/msg/JointState')
STAGES = ('vision_ms', 'prefill_ms', 'denoise_ms', 'decode_ms')
COUNTERS = ('frames', 'prefills', 'chunks', 'tokens', 'streams_started', 'streams_finished', 'streams_refused',
            'max_live_streams', 'ticks', 'ticks_fresh', 'ticks_held', 'ticks_silent', 'ticks_lost', 'clamps',
            'chunks_rejected', 'images_received', 'inputs_refused')


def run_from_bag(bag, name=None):
    """
    RunData of an open `bag.read.Bag`, in one pass.

    Topics are found by type; of several command topics the fullest is taken. A picture that cannot be decoded is left
    out and noted. Raises BagError.
    """
    return BagRun(bag, name or bag.path.name).run


class BagRun:
    """Fills a RunData from a bag's messages."""

    def __init__(self, bag, name):
        self._bag = bag
        self.run = RunData(name, (bag.end_ns - bag.start_ns) / 1e9)
        self.run.topics.update({topic.name: topic.count for topic in bag.topics.values()})
        self._handlers = {}
        self._bind('oxygen_ros/msg/ActionChunk', self._chunk)
        self._bind('oxygen_ros/msg/LanguageToken', self._token)
        self._bind('oxygen_ros/msg/EngineStatus', self._status)
        commands = [topic for topic in bag.topics.values()
                    if topic.type in COMMAND_TYPES and is_command(topic.name, topic.type)
                    and not topic.name.endswith('/action_trajectory')]
        states = [topic for topic in bag.topics.values()
                  if topic.type == 'sensor_msgs/msg/JointState' and not is_command(topic.name, topic.type)]
        for group, handler in ((commands, self._command), (states, self._state)):
            if group:
                self._handlers[max(group, key=lambda topic: topic.count).name] = handler
        images = [topic for topic in bag.topics.values() if topic.type in IMAGE_TYPES and topic.count
                  and not topic.name.endswith('/overlay')]
        self._pictures = {topic.name: Thinned(max(self.run.duration_s, 1e-3), max(1, MAX_THUMBNAILS // len(images)))
                          for topic in images}
        self._names = self._joint_names()
        self._frame_of_status = None
        self._read()

    def _bind(self, type_name, handler):
        for topic in self._bag.topics.values():
            if topic.type == type_name:
                self._handlers[topic.name] = handler

    def _joint_names(self):
        """Names of the joints: of the chunks where there are any (their order is that of the commands), else states."""
        for handler in (self._chunk, self._state):
            for topic in [name for name, bound in self._handlers.items() if bound == handler]:
                for _, _, data in self._bag.messages({topic}):
                    message = self._bag.decode(topic, data)
                    self.run.joints = tuple(getattr(message, 'joint_names', None) or message.name)
                    return self.run.joints
        return ()

    def _read(self):
        for topic, time_ns, data in self._bag.messages(set(self._handlers) | set(self._pictures)):
            time_s = (time_ns - self._bag.start_ns) / 1e9
            if topic in self._pictures:
                self._picture(topic, time_s, data)
            else:
                self._handlers[topic](time_s, topic, data)

    def _ordered(self, names, values):
        """Row in the order of `joints`, NaN where a joint is absent."""
        table = dict(zip(names, values))
        return np.array([table.get(name, np.nan) for name in self._names])

    def _state(self, time_s, topic, data):
        if self.run.curves['measured'].wants(time_s):
            message = self._bag.decode(topic, data)
            self.run.curves['measured'].add(time_s, self._ordered(message.name, message.position))

    def _command(self, time_s, topic, data):
        if len(self.run.command_times_s) < MAX_TIMES:
            self.run.command_times_s.append(time_s)
        published = self.run.curves['published command']
        if not published.wants(time_s):
            return
        message = self._bag.decode(topic, data)
        if hasattr(message, 'points'):
            if message.points:
                published.add(time_s, self._ordered(message.joint_names, message.points[0].positions))
        elif hasattr(message, 'name'):
            published.add(time_s, self._ordered(message.name, message.position))
        elif len(message.data) == len(self._names):
            published.add(time_s, np.array(message.data))
        elif not self.run.notes:
            self.run.notes.append(f'{topic} has {len(message.data)} numbers, the joints are {len(self._names)}: '
                                  'its curve is left out')

    def _chunk(self, time_s, topic, data):
        if not self.run.chunks.wants(time_s):
            return
        message = self._bag.decode(topic, data)
        joints = len(message.joint_names)
        if message.kind != 'joint_position' or tuple(message.joint_names) != self._names or not joints:
            return
        if len(message.data) != message.horizon * joints:
            raise BagError(f'bag {self._bag.path}: a chunk on {topic} has {len(message.data)} numbers for horizon '
                           f'{message.horizon} and {joints} joints')
        stamp_s = (message.header.stamp.sec * 10**9 + message.header.stamp.nanosec - self._bag.start_ns) / 1e9
        # A stamp far from the bag's own time comes from another clock.
        begin_s = stamp_s if abs(stamp_s - time_s) < 10 else time_s
        self.run.chunks.add(begin_s, (message.dt, np.array(message.data).reshape(message.horizon, joints)))

    def _token(self, time_s, topic, data):
        if len(self.run.tokens) < MAX_TOKENS:
            message = self._bag.decode(topic, data)
            self.run.tokens.append(Token(time_s, message.task, message.request_id, message.text,
                                         message.finish_reason))

    def _status(self, time_s, topic, data):
        message = self._bag.decode(topic, data)
        self.run.counters = {name: int(getattr(message, name)) for name in COUNTERS}
        self.run.counters |= {'model': message.model, 'mode': message.mode, 'pool_bytes': int(message.pool_bytes)}
        self.run.pool.add(time_s, (message.slots_used, message.slots_total, message.blocks_used, message.blocks_total,
                                   message.live_streams))
        if message.frames and message.frames != self._frame_of_status:
            self._frame_of_status = message.frames
            self.run.stages.add(time_s, {name.removesuffix('_ms'): getattr(message, name) for name in STAGES})

    def _picture(self, topic, time_s, data):
        keep = self._pictures[topic]
        if not keep.wants(time_s):
            return
        try:
            jpeg = thumbnail(self._bag.decode(topic, data))
        except ValueError as error:
            note = f'pictures of {topic} are left out: {error}'
            if note not in self.run.notes:
                self.run.notes.append(note)
            return
        keep.add(time_s, None)
        self.run.thumbnails.append(Thumbnail(time_s, topic, jpeg))
