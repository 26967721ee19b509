"""Newest message of every input, and whether they are fresh enough together to look at the world."""
from dataclasses import dataclass
import threading

from oxygen_ros.convert.instruction import Instruction


@dataclass(frozen=True)
class Sample:
    """One message as it came; times are on the node's timeline."""

    payload: object
    stamp_ns: int
    received_ns: int
    sequence: int


class Stream:
    """
    The newest message of one topic; the older one is dropped when a newer one comes.

    Written by the executor's thread, read by the engine's: a sample is immutable and replaced in one assignment.
    `problem` says in words why the newest message was refused, until a good one comes.
    """

    FUTURE_NS = 100_000_000  # a stamp further ahead of its own arrival is a wrong clock
    PAST_NS = 10_000_000_000  # and so is one further behind

    def __init__(self, name, topic, stamp_source='header'):
        self.name = name
        self.topic = topic
        self.stamp_source = stamp_source
        self.newest = None
        self.received = 0
        self.refused = 0
        self.repeated = 0
        self.wrong_stamps = 0
        self.problem = ''
        self._last_header_ns = 0

    def put(self, payload, header_ns, now_ns, repeats=False):
        """
        Keep a message and return whether it is news.

        The same stamp again is a frozen driver, not a new picture. A stamp of zero, from the future or far in the past
        is replaced by the time of arrival and counted. `repeats` allows the same stamp again, where several publishers
        share a topic.
        """
        self.received += 1
        if header_ns and header_ns == self._last_header_ns and not repeats:
            self.repeated += 1
            return False
        self._last_header_ns = header_ns
        stamp = now_ns
        if self.stamp_source == 'header':
            if -self.FUTURE_NS <= now_ns - header_ns <= self.PAST_NS:
                stamp = min(header_ns, now_ns)
            else:
                self.wrong_stamps += 1
        self.newest = Sample(payload, stamp, now_ns, self.received)
        return True

    def refuse(self, sentence):
        """Count a message that will not do; whatever was kept before stays."""
        self.refused += 1
        self.problem = f'{self.name} on {self.topic} refused: {sentence}'

    def accept(self):
        """A message did well, so the complaint about an earlier one is over."""
        self.problem = ''

    def clear(self):
        self.newest = None
        self.problem = ''
        self._last_header_ns = 0

    def lateness(self, now_ns, max_age_s):
        """Why there is no fresh message, in words; empty when there is one."""
        newest = self.newest
        if newest is None:
            return f'no {self.name} yet on {self.topic}'
        # The stamp may be honest and old, or wrong and new: the older of the two ages counts.
        age_s = (now_ns - min(newest.stamp_ns, newest.received_ns)) / 1e9
        if age_s > max_age_s:
            return f'{self.name} on {self.topic} is {age_s:.2f} s old, the limit is {max_age_s:g} s'
        return ''


class Inputs:
    """All inputs of one activation; `take` hands each world out once."""

    def __init__(self, views, joints):
        self.views = views  # {view: Stream}, payload: serialised message
        self.joints = joints  # Stream, payload: float64 [J], set only when every joint is known
        self.instruction = Instruction()
        self._taken = {}
        self._lock = threading.Lock()

    def streams(self):
        return (*self.views.values(), self.joints)

    def lateness(self, now_ns, image_max_age_s, joint_max_age_s, instruction_timeout_s=0.0):
        """One sentence for each input that is missing or late."""
        found = [stream.lateness(now_ns, image_max_age_s) for stream in self.views.values()]
        found.append(self.joints.lateness(now_ns, joint_max_age_s))
        if not self.instruction.instruction_id:
            found.append('no instruction yet')
        elif not self.instruction.text:
            found.append('the instruction is empty: the arm holds')
        elif self.instruction.expired(now_ns, instruction_timeout_s):
            found.append(f'the instruction was not repeated for {instruction_timeout_s:g} s')
        return [sentence for sentence in found if sentence]

    def refusals(self):
        """One sentence for each input whose newest message was refused."""
        return [stream.problem for stream in self.streams() if stream.problem]

    def spread(self, sync_tolerance_s):
        """Why the images do not belong together; empty when they do."""
        stamps = {view: stream.newest.stamp_ns for view, stream in self.views.items() if stream.newest}
        if len(stamps) < 2:
            return ''
        oldest, newest = min(stamps, key=stamps.get), max(stamps, key=stamps.get)
        apart_s = (stamps[newest] - stamps[oldest]) / 1e9
        if apart_s <= sync_tolerance_s:
            return ''
        return f'images lie {apart_s:.3f} s apart ({oldest} is behind {newest}), the limit is {sync_tolerance_s:g} s'

    def take(self):
        """
        Samples of the views, the joints and the instruction; None when no view has a new image since the last take.

        The caller has asked `lateness` and `spread` first. What is taken once is not taken again, however it ends.
        """
        with self._lock:
            samples = {view: stream.newest for view, stream in self.views.items()}
            joints, instruction = self.joints.newest, self.instruction
            if joints is None or not instruction.text or None in samples.values():
                return None
            sequences = {view: sample.sequence for view, sample in samples.items()}
            if all(self._taken.get(view) == number for view, number in sequences.items()):
                return None
            self._taken = sequences
            return samples, joints, instruction

    def clear(self):
        """Forget what was received (the clock stepped); the instruction stays in force."""
        for stream in self.streams():
            stream.clear()
