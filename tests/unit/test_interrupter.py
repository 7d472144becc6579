"""The fixture of tests/interrupts.py raises at each place of CPython's, and at no other."""

from __future__ import annotations

import threading

from rstream import _core
from tests.interrupts import Interrupter


def outcomes(call, is_right, **options):
    """For each place: where it is, and whether all is right after it."""
    found = []
    while True:
        interrupter = Interrupter(len(found) + 1, package=__file__, **options)
        try:
            with interrupter:
                call()
        except KeyboardInterrupt:
            pass
        if not interrupter.raised:
            return found
        found.append((interrupter.where.partition(":")[0], is_right()))


def test_it_finds_a_lock_that_is_taken_before_the_try():
    lock = threading.Lock()

    def call():
        lock.acquire()
        try:
            len(())
        finally:
            lock.release()

    def is_right():
        is_free = lock.acquire(False)
        lock.release()
        return is_free

    found = [right for _, right in outcomes(call, is_right)]
    assert found == [True, False, True, True]  # it begins, acquire, len, release


def test_a_lock_in_c_with_a_block_is_right_everywhere():
    turn = _core.Turn()
    items: list[int] = []

    def call():
        with turn:
            for number in range(3):
                items.append(number)  # noqa: PERF402 - the places of this loop are counted

    def is_right():
        free = []

        def look():
            with turn:
                free.append(True)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join(5)
        return free == [True]

    found = outcomes(call, is_right)
    assert len(found) >= 8
    assert all(right for _, right in found)
    again = outcomes(call, is_right, again=1)
    assert all(right for _, right in again)


def test_a_generator_below_yield_from_is_not_interrupted():
    def numbers():
        yield from iter(range(3))

    made = []

    def call():
        made.clear()
        for number in numbers():
            made.append(number)  # noqa: PERF402 - its places are counted

    found = outcomes(call, lambda: True)
    inside = [where for where, _ in found if where.endswith("numbers")]
    assert len(inside) == 3  # it begins, range, iter
