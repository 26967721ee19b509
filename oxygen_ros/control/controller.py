"""
From action chunks to joint commands: one tick at a time, in pure functions of a given time.

One thread calls it. All times are nanoseconds of one clock.
"""
from dataclasses import replace
import math

import numpy as np

from oxygen_ros.control.chunk_buffer import ChunkBuffer, DeltaQueue
from oxygen_ros.control.counters import ControlCounters
from oxygen_ros.control.examined import Examined
from oxygen_ros.control.limiter import MotionLimiter, VelocityLimiter
from oxygen_ros.control.plan import Plan
from oxygen_ros.control.ramp import MeasuredPosition
from oxygen_ros.control.state import ControlState, Tick
from oxygen_ros.engine.chunk import ActionKind

NAN = float('nan')
STALL_S = 0.1  # a longer gap between two ticks is a standstill for the robot


class Controller:
    """
    Samples, joins, limits and watches; says what to publish at each tick, or nothing.

    Without a valid chunk it brakes within the acceleration limit and holds the last command (zero for velocities), then
    falls silent after `hold_s`. Whatever starts again, starts at the measured position. A stop is left by `resume`
    alone, and only observations made after that lead to motion.
    """

    def __init__(self, config, joints, limits, kind):
        if tuple(limits.joints) != tuple(joints):
            raise ValueError(f'limits are for {", ".join(limits.joints)}, the joints are {", ".join(joints)}')
        self.config, self.joints, self.limits, self.kind = config, tuple(joints), limits, ActionKind(kind)
        self.counters = ControlCounters()
        self._measured = MeasuredPosition(self.joints)
        self._positions = self.kind is ActionKind.JOINT_POSITION
        self._deltas = self.kind is ActionKind.EEF_DELTA
        self._buffer = DeltaQueue() if self._deltas else ChunkBuffer(len(self.joints), self.kind, config.blend_s)
        self._limiter = MotionLimiter(limits, config.period_s) if self._positions \
            else VelocityLimiter(limits, config.period_s)
        self._stall_ns = round(max(STALL_S, 3 * config.period_s) * 1e9)
        self._hold_ns, self._jump_ns = round(config.hold_s * 1e9), round(config.clock_jump_s * 1e9)
        self.plan = None  # what is being executed, for the engine to continue; replaced whole, read by any thread
        self._sent = False  # a command is in force at the robot, as far as this controller knows
        self._quiet_since_ns = None  # first tick without a chunk
        self.deactivate()

    # --- what happens to it

    def activate(self, now_ns):
        """Begin: commands start when a chunk of an observation made from now on comes."""
        self.instruction_id, self._told_to_hold, self._last_ns = None, False, None
        self._sent = False
        self._restart(now_ns, 'no chunk yet')

    def deactivate(self):
        """End at once; `hold_command` has the last thing to send."""
        self.state, self.reason = ControlState.INACTIVE, 'inactive'
        self.instruction_id = None
        self._drop()
        self._quiet_since_ns = self._last_ns = None
        self._not_before_ns = 0
        self._told_to_hold = False

    def hold_command(self):
        """What makes the robot stay where it is, [J]: last command or zero velocity; None where nothing was sent."""
        if not self._sent or self._deltas:
            return None
        return self._limiter.position.copy() if self._positions else np.zeros(len(self.joints))

    @property
    def moving(self):
        """True where the last command was not at rest: a few more ticks end it gently."""
        return self._sent and not self._deltas and bool(self._limiter.velocity.any())

    def measured(self, positions, now_ns):
        """Take the measured joint positions [J]; False where they are not finite."""
        return self._measured.update(positions, now_ns)

    def instruction(self, instruction_id, text, now_ns):
        """
        The instruction in force; the same id changes nothing, empty text means hold.

        From now on only chunks of this instruction are taken. Nothing is expected of a stopped robot.
        """
        self._told_to_hold = not text
        if not text:
            self.instruction_id = instruction_id
            self._retire('the instruction is empty')
        elif instruction_id != self.instruction_id:
            self.instruction_id = instruction_id
            if not self.config.finish_old_chunk:
                self._retire('a new instruction')

    def stop(self, reason):
        """Brake, hold, fall silent; forget what was planned."""
        if self.state is ControlState.INACTIVE:
            return
        if self.state is not ControlState.STOPPED:
            self.counters.stops += 1
        self.state, self.reason = ControlState.STOPPED, reason
        self._drop()

    def resume(self, now_ns):
        """Leave a stop, also one that no tick has seen; motion needs a chunk of an observation made from now on."""
        if self.state is not ControlState.INACTIVE:
            self._restart(now_ns, 'no chunk since the stop ended', keep_command=True)

    def reset(self, now_ns):
        """Forget what was planned and observed before now; the instruction stays, and so does a stop."""
        if self.state is ControlState.STOPPED:
            self._drop()
            self._not_before_ns = now_ns
        elif self.state is not ControlState.INACTIVE:
            self._restart(now_ns, 'no chunk since the reset', keep_command=True)

    def examine(self, chunk):
        """All that can be judged of a chunk at any time, as an Examined; the one method for any thread."""
        refusal = self._judge_columns(chunk)
        if refusal:
            return Examined(chunk, None, refusal)
        if chunk.joint_names != self.joints:
            columns = [chunk.joint_names.index(name) for name in self.joints]
            chunk = replace(chunk, joint_names=self.joints, data=chunk.data[:, columns])
        refusal = self._judge_motion(chunk)
        return Examined(chunk, None if refusal or self._deltas else self._buffer.path(chunk), refusal)

    def offer(self, chunk, now_ns):
        """'' where a chunk (or an Examined) is taken, else why not; a chunk is taken whole or not at all."""
        examined = chunk if isinstance(chunk, Examined) else self.examine(chunk)
        reason = self._judge(examined, now_ns)
        if reason:
            self.counters.chunks_rejected += 1
            return reason
        chunk = examined.chunk
        self._accept(chunk, examined.path, now_ns)
        self.counters.chunks_taken += 1
        self.plan = Plan(chunk, now_ns - chunk.stamp_ns)
        return ''

    # --- the tick

    def tick(self, now_ns):
        """What to publish now."""
        self.counters.ticks += 1
        last_ns, self._last_ns = self._last_ns, now_ns
        if last_ns is not None and not 0 <= now_ns - last_ns <= self._jump_ns:
            self._clock_jumped(now_ns, (now_ns - last_ns) / 1e9)
        if last_ns is not None and now_ns - last_ns > self._stall_ns:
            # Without commands the robot has come to rest at the last one, and so begins from rest. Where it was moving
            # that is a guess (a velocity goes on), so the hold is said, however long ago it began.
            if self._limiter.velocity.any():
                self._quiet_since_ns = None
            self._limiter.velocity[:] = 0.0
        if self.state is ControlState.INACTIVE:
            return self._silent()
        if self.state is not ControlState.STOPPED and self._buffer.valid(now_ns):
            return self._fresh(now_ns)
        return self._without_chunk(now_ns)

    def periods_to_rest(self):
        """How many more ticks braking would take."""
        return math.ceil((np.abs(self._limiter.velocity) / self.limits.acceleration).max() / self.config.period_s)

    def horizon(self, now_ns, points):
        """
        Positions [points, J] for the next periods after the newest tick, as the ticks would command them, or None.

        For joint_trajectory_controller, which needs points ahead of it to move through (positions only). Where the plan
        ends it comes to rest.
        """
        if not self._positions or not self._sent:
            return None
        ahead, period_ns = self._limiter.copy(), self.config.period_s * 1e9
        rows = np.empty((points, len(self.joints)))
        for i in range(points):
            then_ns = now_ns + round((i + 1) * period_ns)
            if self.state is ControlState.RUNNING and self._buffer.valid(then_ns):
                ahead.follow(*self._buffer.sample(then_ns))
            else:
                ahead.brake()
            rows[i] = ahead.position
        return rows

    def _fresh(self, now_ns):
        if self.kind is ActionKind.JOINT_VELOCITY:
            # Where the range ends can only be told from where the joints are.
            missing = self._measured.missing(now_ns, self.config.max_measured_age_s)
            if missing:
                self.reason = missing
                return self._without_chunk(now_ns)
        clamps = 0
        if self._deltas:
            command = self._buffer.take(now_ns)
            if command is not None:
                most = self.limits.velocity * self._buffer.chunk.dt_s
                clamps = int(np.count_nonzero(np.abs(command) > most))
                np.clip(command, -most, most, out=command)
        else:
            value, slope = self._buffer.sample(now_ns)
            if self._positions:
                clamps = self._limiter.follow(value, slope)
                command = self._limiter.position.copy()
            else:
                clamps = self._limiter.follow(value, self._measured.position)
                command = self._limiter.velocity.copy()
        self.state, self.reason, self._quiet_since_ns = ControlState.RUNNING, '', None
        self.counters.clamps += clamps
        age_ms = (now_ns - self._buffer.chunk.stamp_ns) / 1e6
        if command is None:
            self.counters.ticks_between += 1
            return Tick(None, 'silent', 'between two deltas', 0, age_ms)
        self._sent = True
        self.counters.ticks_fresh += 1
        return Tick(command, 'fresh', '', clamps, age_ms)

    def _without_chunk(self, now_ns):
        if self.state is ControlState.RUNNING:
            self.state = ControlState.HOLDING
            self.reason = self.reason or 'the last chunk has run out'
        if self._quiet_since_ns is None:
            self._quiet_since_ns = now_ns
        if self._deltas or not self._in_motion_or_held(now_ns):
            if self.state is ControlState.HOLDING:
                self.state = ControlState.WAITING
            self._forget_command()
            self._drop()
            return self._silent()
        if self._positions:
            self._limiter.brake()
            command = self._limiter.position.copy()
        else:
            self._limiter.follow(np.zeros(len(self.joints)), self._measured.position)
            command = self._limiter.velocity.copy()
        self.counters.ticks_held += 1
        return Tick(command, 'held', self.reason, 0, NAN)

    def _in_motion_or_held(self, now_ns):
        """True while there is something to repeat: a command was sent, and not too long ago."""
        if not self._sent:
            return False
        return bool(self._limiter.velocity.any()) or now_ns - self._quiet_since_ns <= self._hold_ns

    def _forget_command(self):
        """The robot is on its own: whatever comes next starts where it stands."""
        self._sent = False
        if self._positions:
            self._limiter.forget()
        else:
            self._limiter.start()

    def _silent(self):
        self.counters.ticks_silent += 1
        return Tick(None, 'silent', self.reason, 0, NAN)

    # --- chunks

    def _judge_columns(self, chunk):
        if chunk.kind is not self.kind:
            return f'the chunk is of kind {chunk.kind.value}, the command interface takes {self.kind.value}'
        if chunk.joint_names != self.joints and sorted(chunk.joint_names) != sorted(self.joints):
            return f'the chunk is for {", ".join(chunk.joint_names)}, the robot has {", ".join(self.joints)}'
        finite = np.isfinite(chunk.data)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            return (f'{int((~finite).sum())} of {chunk.data.size} numbers are not finite, the first is '
                    f'{chunk.joint_names[column]} of step {row}')
        return ''

    def _judge_motion(self, chunk):
        if self._positions:
            return self.limits.judge_positions(chunk.data, chunk.dt_s)
        if not self._deltas:
            return self.limits.judge_velocities(chunk.data, chunk.dt_s)
        if chunk.dt_s < self.config.period_s * (1 - 1e-6):
            return (f'its steps are {chunk.dt_s * 1e3:.1f} ms apart, the timer ticks every '
                    f'{self.config.period_s * 1e3:.1f} ms: deltas cannot be skipped')
        return self.limits.judge_speed(chunk.data / chunk.dt_s)

    def _judge(self, examined, now_ns):
        chunk = examined.chunk
        if self.state is ControlState.INACTIVE:
            return 'not active'
        if self.state is ControlState.STOPPED:
            return f'stopped: {self.reason}'
        if examined.refusal:
            return examined.refusal
        if self._told_to_hold:
            return 'the instruction is empty'
        if self.instruction_id is not None and chunk.instruction_id != self.instruction_id:
            return f'the chunk obeys instruction {chunk.instruction_id}, {self.instruction_id} is in force'
        if chunk.stamp_ns < self._not_before_ns:
            return 'its observation was made before the last stop, reset or start'
        age_s = (now_ns - chunk.stamp_ns) / 1e9
        if age_s > self.config.max_chunk_age_s:
            return f'its observation is {age_s:.2f} s old, {self.config.max_chunk_age_s:g} s is the most'
        if -age_s > self.config.max_future_s:
            return f'its observation lies {-age_s:.2f} s in the future'
        newest = self._buffer.chunk
        if newest is not None and chunk.stamp_ns <= newest.stamp_ns:
            return f'its observation is not newer than that of the chunk in use (frame {newest.frame_id})'
        if (chunk.end_ns if self._positions else chunk.end_ns + round(chunk.dt_s * 1e9)) <= now_ns:
            return f'it ended {(now_ns - chunk.end_ns) / 1e9:.2f} s ago'
        return self._judge_entry(chunk, now_ns) if self._positions else ''

    def _judge_entry(self, chunk, now_ns):
        passed = chunk.data[:1 + max(0, math.ceil((now_ns - chunk.stamp_ns) / (chunk.dt_s * 1e9)))]
        if self._limiter.started:
            return self.limits.judge_entry(passed, self._limiter.position)
        missing = self._measured.missing(now_ns, self.config.max_measured_age_s)
        return missing or self.limits.judge_entry(passed, self._measured.position)

    def _accept(self, chunk, path, now_ns):
        if self._deltas:
            self._buffer.push(chunk, now_ns)
            return
        newest = self._buffer.chunk
        follows = newest is not None and newest.instruction_id == chunk.instruction_id and self._buffer.valid(now_ns)
        if follows:
            before = self._buffer.sample(now_ns)[0].copy()
            gap = float(np.abs(self._buffer.entry(path, now_ns) - before).max())
            self._buffer.push(chunk, now_ns, path=path)
            self.counters.boundary_gap = gap
            self.counters.boundary_gap_max = max(gap, self.counters.boundary_gap_max)
            return
        # A start, or another task: nothing is blended with what came before but where the robot stands.
        if self._positions and not self._limiter.started:
            self._limiter.start(self._measured.position)
        self._buffer.start_from(self._limiter.position if self._positions else self._limiter.velocity)
        fade_s = self.config.blend_s if self._sent else self.config.ramp_s
        if self._positions:  # a fade is at most 1.5 gaps a fade fast: that alone keeps to the limits of speed
            gap = np.abs(self._buffer.entry(path, now_ns) - self._limiter.position)
            fade_s = max(fade_s, float((1.5 * gap / self.limits.velocity).max()))
        self._buffer.push(chunk, now_ns, round(fade_s * 1e9), path)

    # --- changes of state

    def _drop(self):
        self._buffer.clear()
        self.plan = None

    def _retire(self, reason):
        """Let go of the present plan: brake and hold."""
        if self.state not in (ControlState.RUNNING, ControlState.HOLDING, ControlState.WAITING):
            return
        self._drop()
        self.reason = reason
        if self.state is ControlState.RUNNING:
            self.state = ControlState.HOLDING

    def _restart(self, now_ns, reason, keep_command=False):
        """Take nothing that was observed before now; `keep_command` goes on holding what is in force."""
        self._drop()
        self._not_before_ns = now_ns
        self.reason = reason
        if keep_command and self._sent:
            # Still braking or holding: go on with that, and start again from there.
            self.state = ControlState.HOLDING
            return
        self.state, self._quiet_since_ns = ControlState.WAITING, None
        self._forget_command()

    def _clock_jumped(self, now_ns, jump_s):
        self.counters.clock_jumps += 1
        self._measured.clear()
        if self.state is ControlState.INACTIVE:
            return
        self._quiet_since_ns = now_ns
        self._drop()
        self._not_before_ns = now_ns
        if self.state is not ControlState.STOPPED:
            self.reason = f'the clock jumped by {jump_s:.2f} s'
            if self.state is ControlState.RUNNING:
                self.state = ControlState.HOLDING
