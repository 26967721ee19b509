"""The thread that ticks the controller on an exact schedule and publishes what it commands."""
from collections import deque
import math
import threading
import time

import numpy as np

from oxygen_ros.control.stops import Stops
from oxygen_ros.scheduling import become_realtime

REST_POLL_S = 0.005
STALL_PERIODS, STALL_S = 5, 0.25  # so long without a tick, whichever is longer, is a standstill


class Durations:
    """The newest of many durations, bounded; asking for a percentile keeps the others waiting for microseconds only."""

    def __init__(self, size=4096):
        self._values = np.zeros(size)  # [ms], a ring
        self._count = 0

    def add(self, duration_ns):
        self._values[self._count % len(self._values)] = duration_ns / 1e6
        self._count += 1

    def percentile(self, percent):
        """Percentile in ms, by nearest rank; 0.0 before the first."""
        values = np.array(self._values[:self._count])
        if not len(values):
            return 0.0
        rank = min(len(values) - 1, int(len(values) * percent / 100))
        return float(np.partition(values, rank)[rank])


class ControlLoop:
    """
    Owns the controller: nobody else touches it, so that it needs no lock and a tick waits for no one.

    Other threads `post` calls, which are made just before the next tick. `step` is called by the thread of `start`, or
    by a timer where time is simulated. `publish(Tick)` is called for each tick that commands something. While `stops`
    has a reason no tick moves the arm, whatever was posted.
    """

    MAX_POSTED = 1000
    PERISHABLE = ('measured', 'offer')  # newer ones follow; where the thread stands still, these make room for a stop

    def __init__(self, controller, timeline, rate_hz, priority=0, stops=None, publish=lambda tick: None):
        self.controller = controller
        self.timeline = timeline
        self.stops = stops or Stops()
        self.late = Durations()  # of the ticks, behind their schedule
        self.cost = Durations()  # of a whole tick, its calls and its publishing included
        self.ticks = 0
        self.lost = 0
        self.last = None  # newest Tick
        self.realtime = False
        self.failure = None
        self.on_failure = lambda: None  # called where a tick failed, as the last act
        self.rate_hz = rate_hz
        self.publish = publish
        self._priority = priority
        self._posted = deque()
        self._thread = None
        self._stopping = threading.Event()
        self._ticked_ns = 0  # end of the newest tick, steady clock

    @property
    def period_s(self):
        return 1.0 / self.rate_hz

    @property
    def running(self):
        return self._thread is not None and self._thread.is_alive()

    @property
    def resting(self):
        """True when everything posted was done and the controller commands no motion any more."""
        return not self._posted and not self.controller.moving

    def stalled(self):
        """Why no command leaves although the thread should tick, in words; any thread."""
        silent_s = (time.monotonic_ns() - self._ticked_ns) / 1e9
        if self._thread is None or silent_s < max(STALL_S, STALL_PERIODS * self.period_s):
            return ''
        return f'the control thread has not ticked for {silent_s:.1f} s'

    def post(self, method, *arguments, then=None):
        """Have `controller.method(*arguments)` called before the next tick; `then(result)` after it."""
        if method in self.PERISHABLE and len(self._posted) >= self.MAX_POSTED:
            return
        self._posted.append((method, arguments, then))

    def tick(self):
        """Apply what was posted, tick once, publish."""
        begun_ns, now_ns = time.monotonic_ns(), self.timeline.now_ns()
        self.apply()
        if self.stops.reason:
            self.controller.stop(self.stops.reason)
        tick = self.controller.tick(now_ns)
        if tick.command is not None:
            self.publish(tick)
        self.last = tick
        self.ticks += 1
        self._ticked_ns = time.monotonic_ns()
        self.cost.add(self._ticked_ns - begun_ns)
        return tick

    def step(self):
        """Tick, unless a tick failed before; the failure is kept and told."""
        if self.failure is not None:
            return
        try:
            self.tick()
        except Exception as error:
            self.failure = error
            self.on_failure()

    def apply(self):
        """Make the posted calls, those that came by now and no later ones."""
        for _ in range(len(self._posted)):
            method, arguments, then = self._posted.popleft()
            result = getattr(self.controller, method)(*arguments)
            if then:
                then(result)

    def start(self):
        """Tick in a thread of its own on an absolute schedule of the steady clock."""
        self._stopping.clear()
        self._ticked_ns = time.monotonic_ns()
        self._thread = threading.Thread(target=self._run, name='control', daemon=True)
        self._thread.start()

    def stop(self):
        """End the thread; True where nobody but the caller ticks now."""
        thread, self._thread = self._thread, None
        self._stopping.set()
        if thread and thread is not threading.current_thread():
            thread.join(2.0)
        return thread is None or not thread.is_alive()

    def come_to_rest(self, longest_s):
        """End the thread when the arm rests; where there is none (simulated time), or it is late, tick here."""
        end_s = time.monotonic() + longest_s
        while self.running and not self.resting and time.monotonic() < end_s:
            time.sleep(REST_POLL_S)
        if not self.stop():
            return
        for _ in range(math.ceil(longest_s * self.rate_hz)):
            if self.resting or self.failure is not None:
                return
            self.step()
            time.sleep(self.period_s)

    def _run(self):
        self.realtime = bool(self._priority) and become_realtime(self._priority)
        period_ns = 1e9 / self.rate_hz  # not rounded: 60 Hz must not become 59.999...
        origin_ns, count = time.monotonic_ns(), 0
        while not self._stopping.is_set() and self.failure is None:
            count += 1
            due_ns = origin_ns + round(count * period_ns)
            wait_ns = due_ns - time.monotonic_ns()
            if wait_ns > 0:
                time.sleep(wait_ns / 1e9)
            late_ns = time.monotonic_ns() - due_ns
            self.late.add(late_ns)
            missed = int(late_ns / period_ns)
            self.lost += missed
            count += missed
            self.step()
