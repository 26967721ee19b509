"""What the engine thread does for one frame: take the world, run the engine, hand out what it says."""
from collections import deque
from dataclasses import dataclass, replace
import threading

from oxygen_ros.engine.chunk import NotFinite
from oxygen_ros.engine.observation import Observation
from oxygen_ros.engine.request import FinishReason, LanguageRequest


@dataclass(frozen=True)
class Task:
    """A language task that runs by itself, at each n-th frame."""

    name: str
    suffix: str
    every_n_frames: int = 1
    max_tokens: int = 32
    priority: int = 0
    within_s: float = 0.0


@dataclass(frozen=True)
class Limits:
    """How fresh and how close together the inputs of one frame must be, and how many frames a second there may be."""

    image_max_age_s: float = 0.5
    joint_max_age_s: float = 0.5
    sync_tolerance_s: float = 0.1
    instruction_timeout_s: float = 0.0
    max_frame_rate_hz: float = 0.0  # 0: a frame for every image that finds the engine free


class FrameRunner:
    """
    The engine's side of the node; every method but `ask` runs in the engine thread.

    `decode(view, payload)` turns a stored message into RGB uint8 [h, w, 3] or raises ValueError. `sinks` has
    `chunk(ActionChunk)`, `token(TokenEvent)` and `text(task, text)`. Settings are replaced whole, in one assignment, by
    another thread.
    """

    MAX_QUESTIONS = 8
    STUCK_S = 2.0
    EARLY_NS = 5_000_000  # an image this much before a frame is due is taken: the next one may be far

    def __init__(self, engine, inputs, timeline, decode, tasks=(), limits=Limits(), question=None):
        self.engine = engine
        self.inputs = inputs
        self.timeline = timeline
        self.sinks = None  # set before the first step
        self.tasks = tuple(tasks)
        self.limits = limits
        self.question = question  # text -> LanguageRequest
        self.report = None
        self.counters = replace(engine.counters)  # as of the end of the newest frame: the sums in it belong together
        self.delayed = ''  # why the last world was not taken
        self.problem = ''  # why the last frame gave no chunk
        self.broken = ''  # the same, where the model itself gave numbers that are none
        self.frames_refused = 0
        self.texts_finished = 0
        self.questions_refused = 0
        self._decode = decode
        self._questions = deque()
        self._asking = threading.Lock()
        self._instruction_id = 0
        self._texts = {}
        self._frames = 0
        self._busy_since_ns = 0  # start of the frame that runs now, 0 between frames
        self._began_ns = None  # start of the newest frame

    def ask(self, text):
        """Queue a question for the next frame; False when too many wait already. Any thread."""
        with self._asking:
            if len(self._questions) >= self.MAX_QUESTIONS:
                self.questions_refused += 1
                return False
            self._questions.append(text)
            return True

    def step(self):
        """Run one frame if there is a new and fresh world; True when one was run."""
        instruction = self.inputs.instruction
        if instruction.instruction_id != self._instruction_id:
            # Texts about another instruction are of no use to anyone; their streams end with a marker.
            self.engine.cancel_all(FinishReason.CANCELLED)
            self._instruction_id = instruction.instruction_id
        if not self._due(self.timeline.now_ns()):
            return False  # the next image wakes this thread again
        observation = self._observe()
        if observation is None:
            return False
        self._busy_since_ns = self._began_ns = self.timeline.now_ns()
        try:
            self.report = self.engine.run_frame(observation, self._requests(), self.sinks.chunk, self._on_token)
            self.problem = self.broken = ''
        except ValueError as error:
            # This world does not fit the model (an instruction too long), or its actions are not finite: no chunk, so
            # the arm holds. Any other exception is a broken engine and ends the thread's work.
            self.frames_refused += 1
            self.problem = f'frame refused: {error}'
            self.broken = self.problem if isinstance(error, NotFinite) else ''
            return False
        finally:
            self._busy_since_ns = 0
            self.counters = replace(self.engine.counters)
        self._frames += 1
        return True

    def end(self):
        """End every stream and forget what was begun (a reset or the end of an activation)."""
        self.engine.cancel_all(FinishReason.CANCELLED)
        self._texts.clear()
        self.counters = replace(self.engine.counters)

    def stuck(self, now_ns):
        """Why nothing comes from the engine, in words; empty while frames take a normal time. Any thread."""
        since_ns = self._busy_since_ns
        busy_s = (now_ns - since_ns) / 1e9 if since_ns else 0.0
        return f'the engine has been busy with one frame for {busy_s:.1f} s' if busy_s > self.STUCK_S else ''

    def _due(self, now_ns):
        """False while the newest frame is too young for another; a clock that stepped back holds nothing up."""
        rate_hz = self.limits.max_frame_rate_hz
        if not rate_hz or self._began_ns is None:
            return True
        return not 0 <= now_ns - self._began_ns < 1e9 / rate_hz - self.EARLY_NS

    def _observe(self):
        limits, now_ns = self.limits, self.timeline.now_ns()
        late = self.inputs.lateness(
            now_ns, limits.image_max_age_s, limits.joint_max_age_s, limits.instruction_timeout_s)
        self.delayed = late[0] if late else self.inputs.spread(limits.sync_tolerance_s)
        taken = None if self.delayed else self.inputs.take()
        if taken is None:
            return None
        samples, joints, instruction = taken
        images = {}
        for view, sample in samples.items():
            stream = self.inputs.views[view]
            try:
                images[view] = self._decode(view, sample.payload)
            except ValueError as error:
                stream.refuse(str(error))
                return None
            stream.accept()
        # The oldest image anchors the frame: nothing in it is older than its stamp says (axol#290).
        stamp_ns = min(sample.stamp_ns for sample in samples.values())
        return Observation(stamp_ns, images, joints.payload, instruction.text, instruction.instruction_id)

    def _requests(self):
        requests = [LanguageRequest(task.name, task.suffix, task.max_tokens, task.priority, task.within_s)
                    for task in self.tasks
                    if self._frames % task.every_n_frames == 0]
        with self._asking:
            while self._questions:
                requests.append(self.question(self._questions.popleft()))
        return requests

    def _on_token(self, event):
        self.sinks.token(event)
        text = self._texts.pop(event.request_id, '') + event.text
        if not event.finished:
            self._texts[event.request_id] = text
        elif event.finish_reason in (FinishReason.EOS, FinishReason.LENGTH):
            self.texts_finished += 1
            self.sinks.text(event.task, text)
