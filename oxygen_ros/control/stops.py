"""Why the arm must stand still: the emergency stop, the operator, a heart that does not beat."""
from oxygen_ros.control.watchdog import Watchdog


class Stops:
    """
    The reasons to be stopped, kept from the start of a node to its end, whatever is configured or active meanwhile.

    A reason stays until `resume`, which `refusal` speaks against while a cause lasts. The control loop reads `reason`
    at each tick, so that nothing can lift a stop on the way there. `tell(reason)` is called for each new reason. One
    thread writes. Times are those of a steady clock: a clock that is set is no heartbeat, and no lack of one.
    """

    def __init__(self, tell=lambda reason: None):
        self.reason = ''  # all of them in words; '' where nothing stops the arm
        self.pressed = False  # the emergency stop, as its newest message says
        self.deaf = ''  # why an emergency stop would not be heard
        self.heartbeat = Watchdog(0.0)
        self._reasons = ()
        self._tell = tell

    def stop(self, reason):
        """Be stopped, for one reason more where it was already."""
        if reason in self._reasons:
            return
        self._reasons += (reason,)
        self.reason = '; '.join(self._reasons)
        self._tell(reason)

    def press(self, pressed):
        """What the emergency stop says of itself; releasing it moves nothing (kinova-ros#92)."""
        self.pressed = pressed
        if pressed:
            self.stop('emergency stop')

    def hear(self, deaf):
        """Stop while `deaf` says why an emergency stop would not be heard."""
        self.deaf = deaf
        if deaf:
            self.stop(deaf)

    def begin(self, now_ns):
        """The arm may move from now on: a heart that has not beaten yet has its whole time, unless it stopped."""
        if not self.reason:
            self.heartbeat.feed(now_ns)

    def watch(self, now_ns):
        """Stop where the heartbeat is missing; to be called often while the arm may move."""
        if self.heartbeat.expired(now_ns):
            self.stop(f'no heartbeat for {self.heartbeat.timeout_ns / 1e9:g} s')

    def refusal(self, now_ns):
        """Why the arm must stay stopped now; empty where it may go on."""
        if self.pressed:
            return 'the emergency stop is still pressed'
        if self.heartbeat.expired(now_ns):
            return 'the heartbeat is still missing'
        return self.deaf

    def resume(self):
        """Forget every reason."""
        self.reason, self._reasons = '', ()
