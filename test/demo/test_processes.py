import os
from pathlib import Path
import signal
import sys

import pytest

from oxygen_ros.demo.processes import Crashed, Processes


@pytest.fixture
def processes(tmp_path):
    with Processes(tmp_path, dict(os.environ)) as running:
        yield running


def test_a_child_that_ends_by_itself_is_reported_with_its_last_words(processes):
    processes.start('broken', 'no-such-verb')
    with pytest.raises(Crashed, match='broken ended with exit status 2(.|\n)*no-such-verb'):
        while True:
            processes.check()


def test_stop_interrupts_and_leaves_no_child(tmp_path):
    verb = tmp_path / 'oxygen_ros'
    verb.mkdir()
    (verb / '__main__.py').write_text(
        'import time\n'
        'print("up", flush=True)\n'
        'try:\n    time.sleep(60)\n'
        'except KeyboardInterrupt:\n    print("held", flush=True)\n')
    environment = dict(os.environ, PYTHONPATH=str(tmp_path), PYTHONSAFEPATH='1')
    processes = Processes(tmp_path, environment)
    processes.start('child', 'node')
    while 'up' not in processes.tail('child'):
        processes.check()
    if sys.version_info < (3, 11):  # no PYTHONSAFEPATH: the working directory comes first on the path
        processes.stop()
        return
    assert processes.stop() == {'child': 0}
    assert 'held' in processes.tail('child')


def test_children_can_be_interrupted_even_where_this_process_ignores_interrupts(processes, tmp_path):
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        processes.start('sim', 'sim', '--parameters')
    finally:
        signal.signal(signal.SIGINT, ignored)
    mask = Path(f'/proc/{processes.pid("sim")}/status').read_text().partition('SigIgn:')[2].split()[0]
    assert not int(mask, 16) & 1 << signal.SIGINT - 1
