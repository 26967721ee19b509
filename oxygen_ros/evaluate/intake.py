"""Messages of a bag into the node's own inputs: the same streams, joint merger, instruction and image code."""
from oxygen_ros.bag.read import BagError
from oxygen_ros.convert.images import to_rgb
from oxygen_ros.convert.instruction import Change, clean

BACK_S = 1.0  # stamps may overtake each other a little; further back, the clock was set or started over


class Intake:
    """
    What `listener.Listener` does with live messages, for those of a `bag.read.Bag`; `parts` is the node's Configured.

    `resolve` gives a topic's full name. Refusals are counted where the node counts them.
    """

    def __init__(self, bag, parts, time, skips):
        self._bag, self._parts, self._time, self._skips = bag, parts, time, skips
        self._views = {stream.topic: stream for stream in parts.inputs.views.values()}
        self._first_view = next(iter(self._views))
        self._joints = parts.inputs.joints.topic
        self._stamps_ns = {}

    @property
    def topics(self):
        return set(self._views) | {self._joints}

    def decode(self, view, payload):
        """Picture kept by `image` -> RGB uint8 [h, w, 3]; ValueError with a sentence."""
        return to_rgb(self._bag.decode(*payload))

    def put(self, topic, data):
        """Take one message of `topics`."""
        if topic in self._views:
            self._image(self._views[topic], topic, data)
        else:
            self._joint_state(topic, data)

    def _check_clock(self, topic, stamp_ns):
        last_ns = self._stamps_ns.get(topic, stamp_ns)
        if stamp_ns < last_ns - BACK_S * 1e9:
            since_s = (self._time.now_ns() - self._bag.start_ns) / 1e9
            raise BagError(f'bag {self._bag.path}: the clock goes backwards on {topic}, by '
                           f'{(last_ns - stamp_ns) / 1e9:.1f} s at {since_s:.1f} s: a replay that started over or two '
                           f'clocks were recorded; cut the bag there')
        self._stamps_ns[topic] = stamp_ns

    def _image(self, stream, topic, data):
        try:
            stamp = self._bag.decode(topic, data).header.stamp
        except BagError as error:
            stream.refuse(str(error))
            return
        stamp_ns = stamp.sec * 10**9 + stamp.nanosec
        self._check_clock(topic, stamp_ns)
        news = stream.put((topic, data), stamp_ns, self._time.now_ns())
        if topic == self._first_view:
            self._skips.arrived() if news else self._skips.repeated()

    def _joint_state(self, topic, data):
        parts, stream = self._parts, self._parts.inputs.joints
        try:
            message = self._bag.decode(topic, data)
            known = stream.put(message, self._time.now_ns())
        except ValueError as error:
            stream.refuse(str(error))
            return
        self._check_clock(topic, message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
        if known:
            parts.loop.post('measured', stream.newest.payload, stream.newest.stamp_ns)

    def instruction(self, text):
        """Take an instruction; a text that will not do is refused as the node does."""
        parts, now_ns = self._parts, self._time.now_ns()
        try:
            parts.inputs.instruction, change = parts.inputs.instruction.receive(text, now_ns)
        except ValueError:
            parts.messages_refused += 1
            return
        if change is not Change.REPEATED:
            now = parts.inputs.instruction
            parts.loop.post('instruction', now.instruction_id, now.text, now_ns)

    def question(self, text):
        parts = self._parts
        text = clean(text)
        if not text or parts.runner.question is None or not parts.runner.ask(text):
            parts.messages_refused += 1
