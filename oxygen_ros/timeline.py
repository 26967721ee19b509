"""One clock for observations, chunks and ticks that never steps while the robot moves."""
import threading


class Timeline:
    """
    ROS time that runs at the pace of the steady clock.

    Header stamps are ROS time, so they compare with `now_ns()`; but ROS time follows the system clock, which is set
    from time to time, and a control loop must not jump with it (rclpy#1490). The distance between the two clocks is
    taken once and kept; `stepped()` notices that it changed and takes it anew. With simulated time there is no steady
    clock to follow and `now_ns()` is the simulated time itself.
    """

    STEP_NS = 50_000_000  # a larger change of the distance is a step, a smaller one is the noise of reading two clocks

    def __init__(self, ros_ns, steady_ns, simulated=False):
        self._ros_ns = ros_ns
        self._steady_ns = steady_ns
        self.simulated = simulated
        self._lock = threading.Lock()
        self._newest_ns = 0
        self._offset_ns = self._distance()

    def _distance(self):
        # The steady clock is read on both sides, so that being interrupted in between does not count as a step.
        for _ in range(5):
            before = self._steady_ns()
            ros = self._ros_ns()
            after = self._steady_ns()
            if after - before < 1_000_000:
                break
        return ros - (before + after) // 2

    @property
    def started(self):
        """False while simulated time stands at zero because no clock message has come yet."""
        return not self.simulated or self._ros_ns() > 0

    def now_ns(self):
        return self._ros_ns() if self.simulated else self._steady_ns() + self._offset_ns

    def stepped(self):
        """
        Return by how many seconds ROS time stepped since the last call, 0.0 when it did not.

        A step forwards of simulated time cannot be told from a fast clock; steps back (a bag that starts over) can.
        """
        with self._lock:
            if self.simulated:
                now = self._ros_ns()
                step = min(0, now - self._newest_ns)
                self._newest_ns = now
                return step / 1e9
            step = self._distance() - self._offset_ns
            if abs(step) < self.STEP_NS:
                return 0.0
            self._offset_ns += step
            return step / 1e9
