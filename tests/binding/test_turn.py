"""_core.Turn: one thread is inside, it may enter again, and Ctrl-C ends the wait of another."""

from __future__ import annotations

import itertools
import signal
import threading
import time

import pytest

from rstream import _core
from tests.support import until


def test_only_one_thread_is_inside():
    turn = _core.Turn()
    counted = 0

    def count():
        nonlocal counted
        for _ in range(2000):
            with turn, turn:
                before = counted
                if before % 50 == 0:
                    time.sleep(0)  # lets another thread run
                counted = before + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counted == 8000


def test_the_others_wait_until_the_last_of_nested_blocks():
    turn = _core.Turn()
    entered = threading.Event()

    def enter():
        with turn:
            entered.set()

    with turn:
        with turn:
            thread = threading.Thread(target=enter)
            thread.start()
        assert not entered.wait(0.1)
    assert entered.wait(30)
    thread.join(30)


def test_an_exception_leaves_it():
    turn = _core.Turn()
    with pytest.raises(KeyError), turn:
        raise KeyError("x")
    with pytest.raises(RuntimeError, match="not entered"):
        turn.__exit__(None, None, None)


def test_a_signal_ends_the_wait():
    turn = _core.Turn()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with turn:
            inside.set()
            leave.wait(30)

    def interrupt(*_):
        raise InterruptedError("by the test")

    old = signal.signal(signal.SIGUSR1, interrupt)
    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert inside.wait(30)
        main = threading.get_ident()
        threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGUSR1)).start()
        with pytest.raises(InterruptedError), turn:
            pass
    finally:
        signal.signal(signal.SIGUSR1, old)
        leave.set()
        holder.join(30)
    until(lambda: not holder.is_alive())
    with turn:
        pass


def test_a_visit_waits_a_limited_time_and_says_whether_it_is_inside():
    turn = _core.Turn()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with turn.within(0) as is_inside:
            assert is_inside
            inside.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(30)
    for seconds in (0, 0.01):
        with turn.within(seconds) as is_inside:
            assert not is_inside
        assert not turn.is_mine
    threading.Timer(0.05, leave.set).start()
    with turn.within(30) as is_inside:
        assert is_inside
        with turn.within(0) as is_inside_again:
            assert is_inside_again
        assert turn.is_mine
    holder.join(30)
    assert not turn.is_mine


def test_a_rival_comes_between_two_visits_of_one_thread():
    turn = _core.Turn()
    came = []
    both = threading.Barrier(2)

    def visit(name, count):
        both.wait(30)
        for _ in range(count):
            with turn.within(30):
                came.append(name)
                time.sleep(0.001)  # the other one comes

    threads = [threading.Thread(target=visit, args=(name, 100)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    # While both were there: a busy host may run one of them later than the other.
    begin = max(came.index(name) for name in "ab")
    end = min(len(came) - came[::-1].index(name) for name in "ab")
    turns = sum(a != b for a, b in itertools.pairwise(came[begin:end]))
    assert turns > (end - begin) / 2 > 10
