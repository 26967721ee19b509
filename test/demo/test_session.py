import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from oxygen_ros.sim.questions import place_of


@pytest.fixture
def demo(tmp_path):
    started = []

    def start(*arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        started.append(subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', 'demo', '--directory', tmp_path / 'run', *arguments],
            stdin=stdin, stdout=stdout, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, PYTHONUNBUFFERED='1')))
        return started[-1]
    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # so that it stops robot and node
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


class Terminal:
    """The person's end of a terminal: types, and reads what is shown."""

    def __init__(self):
        self._mine, self.its = pty.openpty()
        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 200, 0, 0))
        self._shown = ''

    def close(self):
        os.close(self._mine)
        os.close(self.its)

    def type(self, line):
        os.write(self._mine, f'{line}\n'.encode())

    def read_until(self, pattern, within_s=180):
        """Match of a pattern in what is shown from the last match on."""
        end = time.monotonic() + within_s
        while not (found := re.search(pattern, self._shown)):
            assert time.monotonic() < end, f'{pattern!r} was not shown, but: {self._shown[-3000:]}'
            if select.select([self._mine], [], [], 1.0)[0]:
                self._shown += os.read(self._mine, 65536).decode(errors='replace')
        self._shown = self._shown[found.end():]
        return found


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_what_is_typed_while_it_runs_is_answered_and_obeyed(demo, terminal):
    process = demo('--no-bag', '--seconds', '900', '--instruction', 'pick up the red block',
                   stdin=terminal.its, stdout=terminal.its)
    terminal.read_until('Type an instruction, or a question')
    terminal.read_until("subtask: '[^']*red block")
    terminal.type('where is the green block?')
    terminal.read_until(r"  asked: 'where is the green block\?'")
    answer = terminal.read_until(r"  question: '([^']*)' \(eos\)")[1]
    assert place_of(answer) is not None
    terminal.type('')
    terminal.type('touch the blue block')
    terminal.read_until("  instructed: 'touch the blue block'")
    terminal.read_until('  the node follows instruction 2 now')
    terminal.read_until("subtask: '[^']*blue block")
    process.send_signal(signal.SIGINT)
    terminal.read_until('stopping the robot')
    terminal.read_until('last texts')
    assert process.wait(60) == 0


@pytest.mark.parametrize('said', ['starting the simulated robot', 'demo: running'])
def test_ctrl_c_ends_with_status_0_and_no_traceback_while_starting_and_while_running(demo, said):
    process = demo('--no-bag', '--seconds', '60')
    for line in process.stdout:
        if said in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    assert 'Traceback' not in rest and 'stopping the robot' in rest


@pytest.mark.parametrize('arguments, sentence', [
    (('--instruction', ' '), '--instruction is empty'),
    (('--json', '/no/such/folder/x.json'), 'its folder does not exist'),
    (('--params-file', '/no/such.yaml'), 'No such file'),
    (('--seconds', '0'), 'must be greater than 0')])
def test_a_wrong_command_line_is_one_sentence(demo, arguments, sentence):
    process = demo(*arguments)
    text = process.communicate(timeout=60)[0]
    assert process.returncode == 2
    assert sentence in text and 'Traceback' not in text
