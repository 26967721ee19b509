"""The one thread that owns the engine, from loading the model to closing it."""
from collections import deque
from concurrent.futures import Future
import threading

from oxygen_ros.scheduling import give_way


class EngineThread:
    """
    Runs jobs, and in between a step whenever it is woken.

    CUDA graphs and torch's thread pools belong to the thread that made them (rclpy#1288, pytorch#123177), so building,
    running, cancelling and closing all happen here. A step that raises ends stepping: `failure` keeps the exception,
    `on_failure` is told, and jobs still run, so that the engine can be closed and built again.
    """

    def __init__(self, name='engine'):
        self.on_failure = lambda error: None
        self._condition = threading.Condition()
        self._jobs = deque()
        self._step = None
        self._woken = False
        self._closed = False
        self.failure = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self):
        return self._thread.is_alive()

    def call(self, job):
        """Queue `job()` and return its Future; jobs run in order, between two steps."""
        future = Future()
        with self._condition:
            if self._closed:
                raise RuntimeError('the engine thread is closed')
            self._jobs.append((job, future))
            self._condition.notify()
        return future

    def start(self, step):
        """Call `step()` from now on whenever woken, until it raises or `pause`."""
        with self._condition:
            self.failure = None
            self._step = step
            self._woken = True
            self._condition.notify()

    def wake(self):
        """Something new may be there to work on; waking twice is waking once."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def pause(self):
        """Stop stepping; the Future is done when the step that may be running now has ended."""
        with self._condition:
            self._step = None
        return self.call(lambda: None)

    def close(self, timeout_s=5.0):
        """End the thread after the queued jobs; False when it does not end in time."""
        with self._condition:
            self._step = None
            self._closed = True
            self._condition.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self):
        give_way()  # and with it the threads that torch will start from here
        while True:
            with self._condition:
                while not (self._jobs or self._closed or (self._step and self._woken)):
                    self._condition.wait()
                job = self._jobs.popleft() if self._jobs else None
                step = self._step
                if job is None:
                    if self._closed:
                        return
                    self._woken = False
            if job is not None:
                self._do(*job)
                continue
            try:
                step()
            except Exception as error:
                with self._condition:
                    self._step = None
                    self.failure = error
                self.on_failure(error)

    @staticmethod
    def _do(job, future):
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(job())
        except BaseException as error:  # a SystemExit of a library must not end the thread unseen
            future.set_exception(error)
