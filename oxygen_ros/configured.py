"""Everything that exists between configure and cleanup."""
from dataclasses import dataclass, field, replace

from oxygen_ros.control.stops import Stops
from oxygen_ros.control_loop import ControlLoop, Durations
from oxygen_ros.convert.joints import JointMerger
from oxygen_ros.frames import FrameRunner
from oxygen_ros.inputs import Inputs
from oxygen_ros.profile.profile import Profile
from oxygen_ros.timeline import Timeline
from oxygen_ros.worker import EngineThread


@dataclass
class Configured:
    """The parts of a configured node and what can be asked of them together."""

    model: str
    mode: str
    dry_run: bool
    profile: Profile
    engine: object
    timeline: Timeline
    worker: EngineThread
    inputs: Inputs
    merger: JointMerger
    runner: FrameRunner
    loop: ControlLoop
    outputs: tuple
    stops: Stops
    messages_refused: int = 0  # besides those that the inputs count themselves
    collections: Durations = field(default_factory=Durations)  # of garbage, in the executor's thread
    qos_problems: dict = field(default_factory=dict)  # topic, resolved -> sentence
    heard: dict = field(default_factory=dict)  # topic as subscribed -> Heard
    chunk_refusal: str = ''  # why the newest chunk was not taken
    broken_chunk: str = ''  # why the newest chunk could be taken at no time: not finite, out of range
    clock_steps: int = 0  # of this machine's clock, or of simulated time

    def inputs_refused(self):
        return self.messages_refused + sum(stream.refused for stream in self.inputs.streams())

    def broken(self):
        """Why what the model says is of no use, in words; empty where it is. The arm holds until it is."""
        return f'broken chunk: {self.broken_chunk}' if self.broken_chunk else self.runner.broken

    def failure(self):
        """Why nothing will move before cleanup and configure; empty when nothing broke."""
        advice = 'deactivate, clean up and configure the node to start again'
        if self.loop.failure is not None:
            return f'the control thread failed: {self.loop.failure}; {advice}'
        if self.worker.failure is not None:
            return f'the engine failed: {self.worker.failure}; {advice}'
        return '' if self.worker.alive else f'the engine thread has ended; {advice}'

    def state(self, now_ns):
        """(state, detail) of the active node."""
        limits, tick = self.runner.limits, self.loop.last
        complaints = [] if self.timeline.started else ['simulated time has not begun: nothing on /clock']
        complaints += self.inputs.lateness(
            now_ns, limits.image_max_age_s, limits.joint_max_age_s, limits.instruction_timeout_s)
        complaints += [*self.inputs.refusals(), self.inputs.spread(limits.sync_tolerance_s)]
        complaints += self.qos_problems.values()
        complaints += [self.runner.problem, self.runner.stuck(now_ns)]
        failure = self.failure() or self.loop.stalled()
        if failure:
            state, complaints = 'error', [failure]
        elif self.stops.reason:
            state, complaints = 'stopped', [f'{self.stops.reason}; call ~/resume to go on']
        else:
            state = self.loop.controller.state.value
            complaints.append(self.chunk_refusal)
            if tick and state != 'running':
                complaints.append(tick.reason)
        if self.dry_run:
            complaints.append('dry run: no joint command is published')
        return state, '; '.join(dict.fromkeys(sentence for sentence in complaints if sentence))

    def follow_step(self, step_s):
        """The clock stepped: the instruction is as old as before, else none would time out for as long as the step."""
        instruction = self.inputs.instruction
        self.inputs.instruction = replace(instruction, received_ns=instruction.received_ns + round(step_s * 1e9))

    def clear_inputs(self):
        """Forget what was received and what the model made of it; the instruction stays in force."""
        self.inputs.clear()
        self.chunk_refusal = self.broken_chunk = self.runner.broken = ''

    def reset(self, now_ns):
        """Forget inputs, chunks and texts, and start again from what comes next; a stop stays."""
        self.clear_inputs()
        self.loop.post('reset', now_ns)
        self.worker.call(self.runner.end)
