import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture
def demo(tmp_path):
    started = []

    def start(*arguments):
        started.append(subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', 'demo', '--directory', tmp_path / 'run', *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, PYTHONUNBUFFERED='1')))
        return started[-1]
    yield start
    for process in started:
        process.kill()


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
