"""The processes of a chaos run, which may be paused, killed and started again."""
import os
from pathlib import Path
import signal
import subprocess
import sys


class Fleet:
    """
    Named child processes, each with a log in `directory`; leaving the context ends them all.

    Each has a session of its own, so that a Ctrl-C reaches them in order and a kill takes its children along.
    """

    def __init__(self, directory, environment):
        self.directory, self._environment = Path(directory), environment
        self._children, self._commands = {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in reversed(list(self._children)):
            self.end(name)

    def start(self, name, *arguments):
        """Start `python -m ARGUMENTS` under a name; its log goes on where it was started before."""
        self._commands[name] = arguments
        with (self.directory / f'{name}.log').open('ab') as log:
            self._children[name] = subprocess.Popen(
                [sys.executable, '-m', *map(str, arguments)], env=self._environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def restart(self, name):
        self.start(name, *self._commands[name])

    def pid(self, name):
        return self._children[name].pid

    def signal(self, name, number):
        """Send a signal to a process that still runs."""
        if self._children[name].poll() is None:
            self._children[name].send_signal(number)

    def kill(self, name):
        """End it at once, without a chance to clean up."""
        child = self._children[name]
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def end(self, name, timeout_s=15.0):
        """Ask it to end, wait, and kill it if it does not; gives its exit status."""
        child = self._children.pop(name)
        if child.poll() is None:
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGINT)
            try:
                child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        return child.returncode

    def dead(self):
        """'' or which process has ended by itself, with its last words."""
        for name, child in self._children.items():
            if child.poll() is not None:
                return f'{name} ended with status {child.returncode}: {self.tail(name)}'
        return ''

    def tail(self, name, lines=6):
        text = (self.directory / f'{name}.log').read_text(errors='replace').strip().splitlines()
        return ' | '.join(text[-lines:]) or '(it said nothing)'

    def memory_mb(self, name):
        """Resident memory of a process; NaN where the system does not tell."""
        try:
            for line in Path(f'/proc/{self.pid(name)}/status').read_text().splitlines():
                if line.startswith('VmRSS:'):
                    return int(line.split()[1]) / 1024
        except OSError:
            pass
        return float('nan')
