"""Newest message of every input, and whether they are fresh enough together to look at the world."""
from dataclasses import dataclass
import threading

from oxygen_ros.convert.instruction import Instruction
from oxygen_ros.convert.source_clock import SourceClock


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

    STILL_NS = 10_000_000_000  # equal pictures for so long are worth a word where no stamp says whether they are new

    def __init__(self, name, topic, stamp_source='header'):
        self.name = name
        self.topic = topic
        self.clock = SourceClock(stamp_source)
        self.newest = None
        self.received = 0
        self.refused = 0
        self.problem = ''
        self._still_since_ns = None  # since when messages without a stamp are equal

    @property
    def clocks(self):
        """The SourceClock of each of its sources."""
        return (self.clock,)

    def counted(self, what):
        """`repeated`, `overtaken`, `wrong_stamps` or `changes` of its source's clock, of several the most."""
        return max(getattr(clock, what) for clock in self.clocks)

    def put(self, payload, header_ns, now_ns):
        """Keep a message and return whether it is news; the same stamp again is a frozen driver, not a new picture."""
        self.received += 1
        stamp_ns = self.clock.date(header_ns, now_ns)
        if stamp_ns is None:
            return False
        if header_ns or self.newest is None or self.newest.payload != payload:
            self._still_since_ns = None
        elif self._still_since_ns is None:
            self._still_since_ns = self.newest.received_ns
        self.keep(payload, stamp_ns, now_ns)
        return True

    def keep(self, payload, stamp_ns, now_ns):
        """Replace the newest sample by one whose time is known."""
        self.newest = Sample(payload, stamp_ns, now_ns, self.received)

    def refuse(self, sentence):
        """Count a message that will not do; whatever was kept before stays."""
        self.refused += 1
        self.problem = f'{self.name} on {self.topic} refused: {sentence}'

    def accept(self):
        """A message did well, so the complaint about an earlier one is over."""
        self.problem = ''

    def clear(self):
        self.newest = self._still_since_ns = None
        self.problem = ''
        self.clock.clear()

    def lateness(self, now_ns, max_age_s):
        """Why there is no fresh message, in words; empty when there is one."""
        newest = self.newest
        if newest is None:
            doubt = self.clock.doubt
            return f'no {self.name} yet on {self.topic}' + (f': what comes is {doubt}' if doubt else '')
        age_s = (now_ns - newest.stamp_ns) / 1e9
        return self._late(self.name, age_s, max_age_s) if age_s > max_age_s else ''

    def _late(self, name, age_s, max_age_s):
        return f'{name} on {self.topic} is {age_s:.2f} s old, the limit is {max_age_s:g} s'

    def clock_warning(self):
        """Why the age of messages may be another than said, in words; empty where stamps tell it."""
        newest, since_ns = self.newest, self._still_since_ns
        if newest and since_ns is not None and newest.received_ns - since_ns > self.STILL_NS:
            return (f'{self.name} on {self.topic} is not stamped and the same to the last byte for '
                    f'{(newest.received_ns - since_ns) / 1e9:.0f} s: is the camera alive?')
        return f'{self.name} on {self.topic} is {self.clock.warning}' if self.clock.warning else ''


class JointStream(Stream):
    """The joint states: messages that may each carry only some joints, merged; the sample is float64 [J]."""

    def __init__(self, name, topic, merger):
        super().__init__(name, topic)
        self.merger = merger

    @property
    def clocks(self):
        return self.merger.clocks.values()

    def put(self, message, now_ns):
        """
        Merge a JointState and return whether every joint is known.

        Raises ValueError with a sentence for a message that will not do. One without joints of the policy is not ours.
        """
        if not self.merger.merge_message(message, now_ns):
            return False
        self.received += 1
        self.accept()
        if not self.merger.complete:
            missing = self.merger.missing()
            doubt = self.merger.clocks[missing[0]].doubt
            self.problem = (f'no state yet of {", ".join(missing)} on {self.topic}'
                            + (f': what comes is {doubt}' if doubt else ''))
            return False
        self.keep(self.merger.positions(), self.merger.time_ns(), now_ns)
        return True

    def clear(self):
        super().clear()
        self.merger.clear()

    def lateness(self, now_ns, max_age_s):
        sentence = super().lateness(now_ns, max_age_s)
        late = self.merger.late(now_ns, max_age_s) if sentence and self.newest else {}
        if not 0 < len(late) < len(self.merger.joints):
            return sentence
        return self._late(f'{", ".join(late)} of {self.name}', max(late.values()), max_age_s)

    def clock_warning(self):
        warnings = {name: clock.warning for name, clock in self.merger.clocks.items() if clock.warning}
        if not warnings:
            return ''
        who = '' if len(warnings) == len(self.merger.joints) else f'{", ".join(warnings)} of '
        return f'{who}{self.name} on {self.topic} is {next(iter(warnings.values()))}'


class Inputs:
    """All inputs of one activation; `take` hands each world out once."""

    def __init__(self, views, joints):
        self.views = views  # {view: Stream}, payload: serialised message
        self.joints = joints  # JointStream
        self.instruction = Instruction()
        self._taken = {}
        self._lock = threading.Lock()

    def streams(self):
        return (*self.views.values(), self.joints)

    def lateness(self, now_ns, image_max_age_s, joint_max_age_s, instruction_timeout_s=0.0):
        """One sentence for each input that is missing or late."""
        found = [stream.lateness(now_ns, image_max_age_s) for stream in self.views.values()]
        found.append(self.joints.lateness(now_ns, joint_max_age_s))
        found.append(self.without_instruction(now_ns, instruction_timeout_s))
        return [sentence for sentence in found if sentence]

    def without_instruction(self, now_ns, instruction_timeout_s):
        """Why no instruction is in force, in words; empty when one is."""
        if not self.instruction.instruction_id:
            return 'no instruction yet'
        if not self.instruction.text:
            return 'the instruction is empty: the arm holds'
        if self.instruction.expired(now_ns, instruction_timeout_s):
            return f'the instruction was not repeated for {instruction_timeout_s:g} s'
        return ''

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
