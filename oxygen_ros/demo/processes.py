"""The processes of a demo: started together, logged, watched, and stopped in reverse order."""
import os
from pathlib import Path
import signal
import subprocess
import sys

STOP_TIMEOUT_S = 10.0


def _take_interrupts():
    """A shell that runs this in the background has interrupts ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Crashed(RuntimeError):
    """A process of the demo ended by itself; the text says which and shows its last lines."""


class Processes:
    """
    Children that run verbs of this package, each with a log file of its own in `directory`.

    Use as a context manager: leaving it, by whatever way, interrupts the children (the node holds first), waits, and
    kills what does not end within STOP_TIMEOUT_S.
    """

    def __init__(self, directory, environment):
        self._directory = Path(directory)
        self._environment = environment
        self._children = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name, *arguments, nice=0):
        """Start `python -m oxygen_ros ARGUMENTS` under `name`; its output goes to `<name>.log`."""
        log = (self._directory / f'{name}.log').open('wb')
        with log:
            # A session of its own: Ctrl-C in the terminal reaches this process alone, which stops the others in order.
            self._children[name] = subprocess.Popen(
                [sys.executable, '-m', 'oxygen_ros', *map(str, arguments)], env=self._environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=_take_interrupts)
            os.setpriority(os.PRIO_PROCESS, self._children[name].pid, nice)

    def pid(self, name):
        return self._children[name].pid

    def check(self):
        """Raise Crashed if a child has ended."""
        for name, child in self._children.items():
            if child.poll() is not None:
                raise Crashed(f'{name} ended with exit status {child.returncode}. Its last words:\n{self.tail(name)}')

    def tail(self, name, lines=8):
        text = (self._directory / f'{name}.log').read_text(errors='replace').strip().splitlines()
        return '\n'.join(f'  {line}' for line in text[-lines:]) or '  (it printed nothing)'

    def stop(self):
        """Interrupt the children, the last started first; return the exit status of each."""
        statuses = {}
        for name, child in reversed(self._children.items()):
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(STOP_TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
            statuses[name] = child.returncode
        self._children.clear()
        return statuses
