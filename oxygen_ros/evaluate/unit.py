"""One unit of work: a stretch of one bag in one mode; independent of all others, so that it can be resumed or moved."""
from collections import Counter
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
import os

import numpy as np

from oxygen_ros import build
from oxygen_ros.bag.read import Bag, BagError
from oxygen_ros.configure import configure
from oxygen_ros.convert.images import to_rgb
from oxygen_ros.engine.request import FinishReason
from oxygen_ros.evaluate.intake import Intake
from oxygen_ros.evaluate.parameters import FileParameters
from oxygen_ros.evaluate.recorded import RecordedCommands
from oxygen_ros.evaluate.scores import ActionScore, Jumps
from oxygen_ros.evaluate.skips import Skips, without_numbers
from oxygen_ros.report.run_data import MAX_THUMBNAILS, MAX_TOKENS, RunData, Thinned, Thumbnail, Token
from oxygen_ros.report.thumbnail import small_jpeg

LEAD_S = 2.0           # of inputs before the stretch, so that its first frame has them
FRAMES_A_UNIT = 10**6  # frame ids of one stretch never meet those of the next
STAGES = ('inputs_ms', 'vision_ms', 'prefill_ms', 'denoise_ms', 'decode_ms', 'chunk_ready_ms', 'frame_ms')
TEXT_ENDS = (FinishReason.EOS, FinishReason.LENGTH)


@dataclass(frozen=True)
class Unit:
    """
    What to run. `part` counts the stretches of a bag; times are bag time in ns, `stop_ns` not included.

    `delay_ns` is how long a frame takes in bag time, given and never measured, so that two runs are the same. `threads`
    are torch's. `curves` asks for what a report shows, besides the figures.
    """

    bag: str
    config: str
    mode: str
    part: int
    start_ns: int
    stop_ns: int
    bag_start_ns: int
    bag_end_ns: int
    delay_ns: int
    seed: int
    threads: int
    overrides: tuple = ()
    curves: bool = True

    def parameters(self):
        """The file's parameters for this unit; no deadline, because that would let a clock choose the decode rounds."""
        return FileParameters(self.config, {
            **dict(self.overrides), 'engine.mode': self.mode, 'engine.seed': self.seed, 'engine.threads': self.threads,
            'engine.deadline_s': 0.0})


class BagTime:
    """The node's timeline, set by hand."""

    simulated, started = True, True

    def __init__(self):
        self.time_ns = 0

    def now_ns(self):
        return self.time_ns

    def stepped(self):
        return 0.0


class Inline:
    """
    The node's engine thread without a thread.

    Keeps the engine that it built for later units with the same settings, because loading a model takes longer than
    running a short stretch; at most one, because it may fill the memory.
    """

    alive, failure = True, None
    _kept = {}

    def __init__(self, settings):
        self._settings = settings

    def call(self, job):
        kept = self._kept
        # Real-time chunking looks at the controller that its engine was built with.
        if self._settings not in kept or self._settings.rtc_enabled:
            for engine in kept.values():
                engine.close()
            kept.clear()
            kept[self._settings] = job()
        future = Future()
        future.set_result(kept[self._settings])
        return future


def run_unit(unit, progress=lambda seconds: None):
    """
    Evaluate one unit: a dictionary of sums, texts and times, and a RunData or None; see `collect` for their use.

    Raises BagError, ValueError or OSError with a sentence.
    """
    with Bag(unit.bag) as bag:
        return _Stretch(unit, bag, progress).run()


class _Stretch:
    def __init__(self, unit, bag, progress):
        self._unit, self._bag, self._progress, self._time = unit, bag, progress, BagTime()
        params = unit.parameters()
        self._parts = parts = configure(
            params, self._time, Inline(build.EngineSettings.read(params)), Future.result, self,
            lambda view, payload: self._intake.decode(view, payload))
        parts.runner.sinks, parts.loop.publish = self, self._published
        parts.engine.reset(frame_id=unit.part * FRAMES_A_UNIT)
        self._skips = Skips()
        self._intake = Intake(bag, parts, self._time, self._skips)
        self._recorded = RecordedCommands(bag, parts.outputs, self.resolve_topic_name, parts.profile)
        self._names = {name: self.resolve_topic_name(name) for name in ('instruction', 'question')}
        bag.require([*self._intake.topics, self._names['instruction']])
        profile = parts.profile
        self._score = ActionScore(profile.chunk_horizon, len(profile.actions))
        self._jumps = Jumps(profile.action_kind)
        self._offers = []           # (due, chunk), at most one
        self._busy_until_ns = 0
        self._woken = False
        self._rejected = Counter()
        self._begun, self._texts, self._pieces = {}, [], {}
        self._times = {stage: [] for stage in STAGES}
        self._frames = 0
        self._curves = self._run_data() if unit.curves else None

    @staticmethod
    def resolve_topic_name(name):
        """The node's place in the graph: at its root."""
        return name if name.startswith('/') else f'/{name}'

    def run(self):
        unit, loop = self._unit, self._parts.loop
        self._remember_instruction()
        period_ns = 1e9 / loop.rate_hz
        tail_ns = round(self._parts.profile.chunk_horizon * self._parts.profile.dt_s * 1e9) + 1
        wanted = self._intake.topics | set(self._names.values()) | self._recorded.topics
        ticks, active, done_s = 0, False, 0.0
        for topic, time_ns, data in self._bag.messages(wanted, unit.start_ns - round(LEAD_S * 1e9),
                                                       unit.stop_ns + tail_ns):
            if time_ns >= unit.start_ns and not active:
                active = True
                self._time.time_ns = unit.start_ns
                loop.apply()
                loop.controller.activate(unit.start_ns)
                self._tell_instruction()
                # Pictures of the lead-in belong to the part before.
                self._parts.inputs.take()
                self._skips.counts.clear()
                self._skips.used()
            if active and time_ns < unit.stop_ns:
                # Everything that falls before this message, in its order.
                while (tick_ns := unit.start_ns + round((ticks + 1) * period_ns)) <= time_ns:
                    self._events_until(tick_ns)
                    self._time.time_ns = tick_ns
                    loop.tick()
                    ticks += 1
                self._events_until(time_ns)
            self._time.time_ns = time_ns
            self._take(topic, time_ns, data, active and time_ns < unit.stop_ns)
            seconds = (min(time_ns, unit.stop_ns) - unit.start_ns) / 1e9
            if seconds - done_s > 0.5:
                self._progress(seconds - done_s)
                done_s = seconds
        self._skips.end()
        self._score.close()
        self._parts.engine.reset()
        return self._result(), self._curves

    def _take(self, topic, time_ns, data, active):
        if topic in self._recorded.topics:
            row = self._recorded.row(topic, data)
            if self._curves and self._unit.start_ns <= time_ns < self._unit.stop_ns:
                self._curves.command_times_s.append(self._seconds(time_ns))
            if row is not None:
                self._score.add_reference(time_ns, row)
                self._sample('recorded command', time_ns, row)
            return
        if not active and time_ns >= self._unit.stop_ns and topic != self._parts.inputs.joints.topic:
            return
        if topic == self._names['instruction']:
            self._intake.instruction(self._bag.decode(topic, data).data)
        elif topic == self._names['question']:
            if active:
                self._intake.question(self._bag.decode(topic, data).data)
        else:
            self._intake.put(topic, data)
        if topic == self._parts.inputs.joints.topic and self._parts.merger.complete:
            row = self._parts.merger.positions()
            if self._recorded.states_instead:
                self._score.add_reference(time_ns, row)
            self._sample('measured', time_ns, row)
        if active:
            self._woken = True
            self._step()

    # --- the engine, in bag time

    def _events_until(self, time_ns):
        """Hand over what the engine finished by now, and let it go on with what came meanwhile."""
        while True:
            if self._offers and self._offers[0][0] <= time_ns:
                due_ns, chunk = self._offers.pop()
                self._time.time_ns = due_ns
                self._offer(chunk)
            elif self._woken and self._busy_until_ns <= time_ns:
                self._time.time_ns = max(self._time.time_ns, self._busy_until_ns)
                self._step()
            else:
                return

    def _step(self):
        """Start a frame if the engine is free and there is a new and fresh world."""
        now_ns, runner = self._time.now_ns(), self._parts.runner
        if now_ns < self._busy_until_ns:
            return
        self._woken = False
        refused = sum(stream.refused for stream in self._parts.inputs.streams())
        if not runner.step():
            sentence = runner.delayed or runner.problem
            if sum(stream.refused for stream in self._parts.inputs.streams()) > refused:
                sentence = next(iter(self._parts.inputs.refusals()), '')
            self._skips.delayed(sentence)
            return
        self._skips.used()
        self._frames += 1
        self._busy_until_ns = now_ns + self._unit.delay_ns
        if self._offers and self._offers[0][0] <= now_ns:
            self._offer(self._offers.pop()[1])
        for stage in STAGES:
            self._times[stage].append(float(getattr(runner.report, stage, 0.0)))
        if self._curves:
            self._frame_curves(now_ns, runner.report)

    def chunk(self, chunk):
        """From the engine: it leaves when the frame's given time has passed."""
        self._score.add_chunk(chunk)
        self._offers.append((self._time.now_ns() + self._unit.delay_ns, chunk))
        if self._curves and chunk.kind.value == 'joint_position':
            self._curves.chunks.add(self._seconds(chunk.stamp_ns), (chunk.dt_s, chunk.data))

    def _offer(self, chunk):
        now_ns = self._time.now_ns()

        def answered(reason):
            if reason:
                self._rejected[without_numbers(reason)] += 1
        self._jumps.change(chunk, now_ns)
        self._parts.loop.post('offer', chunk, now_ns, then=answered)

    def token(self, event):
        """From the engine: one token of a stream."""
        now_ns = self._time.now_ns()
        place = (event.frame_id, event.task)
        pieces = self._pieces.setdefault(event.request_id, [])
        pieces.append(event.text)
        if event.finished:
            del self._pieces[event.request_id]
            if event.finish_reason in TEXT_ENDS:
                self._texts.append([*place, ''.join(pieces)])
        if self._curves and len(self._curves.tokens) < MAX_TOKENS:
            self._curves.tokens.append(Token(self._seconds(now_ns), event.task, event.request_id, event.text,
                                             event.finish_reason.value))

    def text(self, task, text):
        """From the frame runner; the texts are put together in `token`, with their frame."""

    def _published(self, tick):
        self._sample('published command', self._time.now_ns(), tick.command)

    # --- the instruction that was given before this stretch

    def _remember_instruction(self):
        """Take the instructions before the lead-in; topics are read alone, which is quick."""
        topic, begin_ns = self._names['instruction'], self._unit.start_ns - round(LEAD_S * 1e9)
        for _, time_ns, data in self._bag.messages({topic}, None, begin_ns):
            self._time.time_ns = time_ns
            self._intake.instruction(self._bag.decode(topic, data).data)
        self._parts.loop.apply()

    def _tell_instruction(self):
        now = self._parts.inputs.instruction
        if now.instruction_id:
            self._parts.loop.post('instruction', now.instruction_id, now.text, self._time.now_ns())

    # --- what comes out

    def _seconds(self, time_ns):
        return (time_ns - self._unit.bag_start_ns) / 1e9

    def _run_data(self):
        unit, profile = self._unit, self._parts.profile
        run = RunData(f'{os.path.basename(unit.bag)}, {unit.mode}', (unit.bag_end_ns - unit.bag_start_ns) / 1e9,
                      profile.actions)
        span_s = max(run.duration_s, 1e-3)
        self._pictures = Thinned(span_s, MAX_THUMBNAILS)
        return run

    def _sample(self, name, time_ns, row):
        if self._curves and len(row) == len(self._curves.joints):
            self._curves.curves[name].add(self._seconds(time_ns), np.asarray(row, float))

    def _frame_curves(self, now_ns, report):
        run, counters, time_s = self._curves, self._parts.engine.counters, self._seconds(now_ns)
        run.stages.add(time_s, {stage.removesuffix('_ms'): round(float(getattr(report, stage, 0.0)), 3)
                                for stage in STAGES[1:5]})
        run.pool.add(time_s, (counters.slots_used, counters.slots_total, counters.blocks_used, counters.blocks_total,
                              counters.live_streams))
        if self._pictures.wants(time_s):
            stream = next(iter(self._parts.inputs.views.values()))
            self._pictures.add(time_s, None)
            rgb = to_rgb(self._bag.decode(*stream.newest.payload))
            run.thumbnails.append(Thumbnail(time_s, stream.topic, small_jpeg(rgb)))

    def _result(self):
        parts, score, jumps = self._parts, self._score, self._jumps
        if not self._frames and not self._skips.counts:
            raise BagError(f'bag {self._unit.bag}: no picture on {next(iter(parts.inputs.views.values())).topic} '
                           f'within the stretch')
        return {
            'frames': self._frames,
            'skipped': dict(sorted(self._skips.counts.items())),
            'squared': score.squared.tolist(), 'absolute': score.absolute.tolist(), 'count': score.count.tolist(),
            'reference': self._recorded.reference,
            'joints': list(parts.profile.actions),
            'jumps': {'largest': jumps.largest, 'total': jumps.total, 'count': jumps.count, 'joint': jumps.joint},
            'clamps': int(parts.loop.controller.counters.clamps),
            'ticks': {name: int(getattr(parts.loop.controller.counters, f'ticks_{name}')) for name in (
                'fresh', 'held', 'silent')},
            'rejected': dict(sorted(self._rejected.items())),
            'inputs_refused': int(parts.inputs_refused()),
            'texts': sorted(self._texts),
            'times': self._times,
        }


def described(unit):
    """The unit as plain data, for a file's name and content."""
    return asdict(replace(unit, overrides=tuple(unit.overrides)))
