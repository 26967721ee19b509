"""The engine's thread: jobs in order, a step when woken, failures kept."""
import threading

import pytest

from oxygen_ros.worker import EngineThread

WAIT_S = 10


@pytest.fixture
def thread():
    thread = EngineThread()
    yield thread
    thread.close()


def test_jobs_run_in_order_in_one_thread_that_is_not_the_callers(thread):
    order = []
    futures = [thread.call(lambda i=i: (order.append(i), threading.get_ident())[1]) for i in range(20)]
    idents = {future.result(WAIT_S) for future in futures}
    assert order == list(range(20)) and len(idents) == 1 and threading.get_ident() not in idents


def test_a_job_that_raises_tells_its_caller_and_the_next_one_runs(thread):
    def fail():
        raise ValueError('no')
    with pytest.raises(ValueError, match='no'):
        thread.call(fail).result(WAIT_S)
    with pytest.raises(SystemExit):
        thread.call(lambda: exit(3)).result(WAIT_S)
    assert thread.call(lambda: 7).result(WAIT_S) == 7


def test_it_steps_once_for_any_number_of_wakes_and_sleeps_without(thread):
    steps, go, entered = [], threading.Semaphore(0), threading.Semaphore(0)

    def step():
        steps.append(1)
        entered.release()
        go.acquire()
    thread.start(step)  # starting wakes
    assert entered.acquire(timeout=WAIT_S)
    for _ in range(5):
        thread.wake()  # while the first step runs
    go.release()
    assert entered.acquire(timeout=WAIT_S)
    go.release()
    thread.call(lambda: None).result(WAIT_S)
    assert len(steps) == 2


def test_pause_waits_for_the_running_step_and_stops_stepping(thread):
    steps, inside, go = [], threading.Event(), threading.Event()

    def step():
        inside.set()
        go.wait(WAIT_S)
        steps.append(1)
    thread.start(step)
    assert inside.wait(WAIT_S)
    paused = thread.pause()
    assert not paused.done()
    go.set()
    paused.result(WAIT_S)
    thread.wake()
    thread.call(lambda: None).result(WAIT_S)
    assert steps == [1]


def test_a_step_that_raises_ends_stepping_and_is_told_but_jobs_go_on(thread):
    told = threading.Event()
    thread.on_failure = lambda error: told.set()

    def step():
        raise RuntimeError('the GPU is gone')
    thread.start(step)
    assert told.wait(WAIT_S) and 'GPU is gone' in str(thread.failure)
    assert thread.call(lambda: 1).result(WAIT_S) == 1 and thread.alive
    thread.start(lambda: None)
    assert thread.failure is None


def test_close_ends_the_thread_after_the_jobs_that_were_asked_for():
    thread, done = EngineThread(), []
    thread.call(lambda: done.append(1))
    assert thread.close() and done == [1] and not thread.alive
    with pytest.raises(RuntimeError, match='closed'):
        thread.call(lambda: None)
