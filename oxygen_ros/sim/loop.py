"""The simulated robot's own time: advances the body, applies commands, says when each output is due."""
from collections import deque
from dataclasses import dataclass
import threading
import time

from oxygen_ros.sim.schedule import NS, Pace, Schedule

# Many ROS nodes take a stamp of zero for none.
START_NS = NS
MAX_QUEUED = 100  # commands that lock-step keeps for later periods


@dataclass
class LoopCounters:
    """What the loop counted since it was made."""

    resets: int = 0
    lockstep_periods: int = 0
    lockstep_timeouts: int = 0
    commands_overflowed: int = 0


class Loop:
    """
    Runs a body (`Scene` or `FollowingArms`) in the thread that calls `run`; the other methods are for any thread.

    `outputs` maps a name to a function that is called with the simulated time in ns whenever one of its `rates_hz`
    is due. Simulated time starts at 1 s, goes on through a reset, and keeps to the wall clock by `pace`.

    With `lockstep_hz` the loop stops at each of its periods until one command has come, and a command drives exactly
    one period: the run is then a function of the commands alone. A command that does not come within
    `lockstep_timeout_s` of wall time is counted and the last one is held.
    """

    def __init__(self, body, rates_hz, outputs, pace=None, lockstep_hz=0.0, lockstep_timeout_s=1.0,
                 monotonic_ns=time.monotonic_ns):
        self.body, self.counters = body, LoopCounters()
        self.pace = Pace(1.0) if pace is None else pace
        self._outputs = dict(outputs)
        if lockstep_hz:
            # Last of its moment, so that a period's sensors are out before its command is waited for.
            rates_hz = {**rates_hz, 'lockstep': lockstep_hz}
            self._outputs['lockstep'] = self._await_command
        self._lockstep, self._timeout_s = bool(lockstep_hz), lockstep_timeout_s
        self._schedule = Schedule(rates_hz, START_NS)
        self._step_ns = round(body.step_s * NS)
        self._monotonic_ns = monotonic_ns
        self._changed = threading.Condition()
        self._commands = deque()
        self._reset_seed = None
        self._resets_done = 0
        self._stopped = False
        self._body_ns = START_NS  # the simulated time that the body has reached
        self._motion, self._motion_ns = None, START_NS

    @property
    def now_ns(self):
        """The simulated time that the body has reached."""
        return self._body_ns

    def command(self, motion):
        """Execute a `Motion` from the body's next step on; in lock-step, for the next period without a command."""
        with self._changed:
            if not self._lockstep:
                self._commands.clear()
            elif len(self._commands) >= MAX_QUEUED:
                self.counters.commands_overflowed += 1
                return
            self._commands.append(motion)
            self._changed.notify_all()

    def reset(self, seed, timeout_s=10.0):
        """Start the scene again from `seed` and drop pending commands; False if the loop did not get to it in time."""
        with self._changed:
            awaited = self._resets_done + 1
            self._reset_seed = seed
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._resets_done >= awaited or self._stopped, timeout_s) \
                and self._resets_done >= awaited

    def stop(self):
        """Make `run` return soon."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def run(self):
        """Simulate until `stop`."""
        while True:
            with self._changed:
                if self._stopped:
                    return
                if self._reset_seed is not None:
                    self._start_again()
            moment_ns, due = self._schedule.next()
            if not self._wait(moment_ns):
                continue
            self._advance(moment_ns)
            for name in due:
                self._outputs[name](moment_ns)

    def _interrupted(self):
        return self._stopped or self._reset_seed is not None

    def _start_again(self):
        self.body.reset(self._reset_seed)
        self._schedule.restart(self._body_ns)
        self._commands.clear()
        self._motion = None
        self._reset_seed = None
        self._resets_done += 1
        self.counters.resets += 1
        self._changed.notify_all()

    def _wait(self, moment_ns):
        """Wait on the wall clock; False when a stop or a reset came first."""
        with self._changed:
            while not self._interrupted():
                left_ns = self.pace.wait_ns(moment_ns, self._monotonic_ns())
                if left_ns <= 0:
                    return True
                self._changed.wait_for(self._interrupted, left_ns / NS)
            return False

    def _advance(self, moment_ns):
        with self._changed:
            if self._commands and not self._lockstep:
                self._take_command()
        steps = (moment_ns - self._body_ns) // self._step_ns
        if steps <= 0:
            return
        if self._motion is not None:
            self.body.command(self._motion.at((self._body_ns - self._motion_ns) / NS))
        self.body.advance(steps)
        self._body_ns += steps * self._step_ns

    def _take_command(self):
        self._motion, self._motion_ns = self._commands.popleft(), self._body_ns

    def _await_command(self, moment_ns):
        with self._changed:
            self.counters.lockstep_periods += 1
            came = self._changed.wait_for(lambda: self._commands or self._interrupted(), self._timeout_s)
            if self._commands and not self._interrupted():
                self._take_command()
            elif not came:
                self.counters.lockstep_timeouts += 1
