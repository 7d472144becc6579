"""The condition variable: waits and wake-ups, and an interrupt at each place."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest

from rstream import _condition
from rstream._condition import Condition, Event
from tests.interrupts import Interrupter, at_each_place
from tests.support import in_thread, until


def is_free(condition: Condition) -> bool:
    found: list[bool] = []

    def look() -> None:
        if condition.acquire(True, 5):
            condition.release()
            found.append(True)

    thread = in_thread(look)
    thread.join(10)
    return found == [True] and not thread.is_alive()


def test_a_wait_ends_by_a_notice_and_by_its_time() -> None:
    condition = Condition()
    seen: list[bool] = []

    def sleep() -> None:
        with condition:
            seen.append(condition.wait(10))

    threads = [in_thread(sleep) for _ in range(3)]
    until(lambda: len(condition._sleepers) == 3)
    with condition:
        condition.notify_all()
    for thread in threads:
        thread.join(10)
    assert seen == [True] * 3
    with condition:
        assert not condition.wait(0.001)
        assert not condition._sleepers
        assert not condition.wait(-1)


def test_a_nested_wait_frees_the_lock_and_takes_it_as_often_again() -> None:
    condition = Condition()
    with condition, condition:
        in_thread(lambda: is_free(condition) and woken(condition))
        assert condition.wait(10)
    assert is_free(condition)
    with pytest.raises(RuntimeError):
        condition.release()


def woken(condition: Condition) -> None:
    with condition:
        condition.notify_all()


def test_an_interrupt_anywhere_leaves_the_lock_free() -> None:
    condition = Condition()

    def use() -> None:
        with condition:
            condition.wait(0.0001)
            condition.notify_all()

    def after(where: str) -> None:
        assert is_free(condition), where
        with condition:
            condition.notify_all()

    assert at_each_place(use, after) >= 8
    at_each_place(use, after, below=True)


def test_who_was_not_woken_by_an_interrupted_notice_is_woken_by_the_next() -> None:
    condition = Condition()
    woken_ones: list[bool] = []

    def sleep() -> None:
        with condition:
            woken_ones.append(condition.wait(10))

    def notify() -> None:
        woken_ones.clear()
        threads[:] = [in_thread(sleep) for _ in range(3)]
        until(lambda: len(condition._sleepers) == 3)
        with Interrupter(number[0], package=str(_condition.__file__)) as interrupter:
            try:
                with condition:
                    condition.notify_all()
            finally:
                raised[0] = interrupter.raised

    threads: list[threading.Thread] = []
    raised, number = [1], [0]
    while raised[0]:
        number[0] += 1
        with suppress(KeyboardInterrupt):
            notify()
        with condition:
            condition.notify_all()
        for thread in threads:
            thread.join(15)
        assert woken_ones == [True] * 3, number
    assert number[0] >= 4


def test_an_interrupt_in_the_sleep_leaves_the_lock_free() -> None:
    import signal

    condition = Condition()

    class Stop(Exception):
        pass

    def handler(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(50):
            started_s = time.monotonic()
            with pytest.raises(Stop):
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                with condition:
                    condition.wait(30)
            assert time.monotonic() - started_s < 20
            assert is_free(condition)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_event_that_was_interrupted_anywhere_is_used_again() -> None:
    event = Event()

    def use() -> None:
        event.wait(0.0001)
        event.set()
        assert event.wait(10)
        event.clear()

    def after(where: str) -> None:
        event.clear()
        heard: list[bool] = []
        thread = in_thread(lambda: heard.append(event.wait(10)))
        in_thread(event.set)
        thread.join(10)
        assert heard == [True], where
        event.clear()

    assert at_each_place(use, after, below=True) >= 10
