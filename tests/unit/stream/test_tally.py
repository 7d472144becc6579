"""What a tally does when a signal handler raises at each place inside it."""

from __future__ import annotations

import threading

from rstream.stream._tally import Holder, Tally
from tests.interrupts import at_each_place


class Source:
    def lend_to(self, tally):
        return True

    def window_bytes(self):
        return 0


class Queue(Holder):
    """Holds the first object until it is told to let go."""

    __slots__ = ("holds",)

    def __init__(self):
        super().__init__(threading.Lock(), lambda: None, 0)
        self.holds = True

    def oldest(self, tally):
        return 1 if self.holds else None


def test_an_interrupted_count_closes_the_reader_the_next_time():
    closed = []

    def waiting():
        """A tally whose reader will be closed when its queue lets go."""
        tally, queue = Tally(Source(), lambda: 0, lambda: None), Queue()
        assert tally.register(queue)
        tally.finish(lambda: closed.append(tally))
        assert not closed
        queue.holds = False
        return tally

    tally = waiting()

    def check(where):
        nonlocal tally
        tally.settle()
        assert closed, where
        assert not tally.finish_now(), where
        closed.clear()
        tally = waiting()

    assert at_each_place(lambda: tally.settle(), check) >= 4
    assert closed == [tally]
