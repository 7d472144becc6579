"""The hold of a policy's queue, with a second tally for what waits behind its consumer."""

from __future__ import annotations

import threading

import pytest

from rstream.flow.queues import DropOldestQueue, PlainQueue
from rstream.stream._reading._queue_hold import QueueHold
from rstream.stream._tally import QueueMarks, Tally


class Batch:
    """A reader's batch, and the source of its tally."""

    def __init__(self, count, window_bytes=0):
        self.tally = self.number = None
        self.end_number = count
        self.length_bytes = count
        self._window_bytes = window_bytes

    def lend_to(self, tally):
        self.tally = tally
        tally.polled = self.end_number
        tally.add(self)
        return True

    def window_bytes(self):
        return self._window_bytes

    def consume(self, number):
        self.number = number

    def give_back(self):
        pass


class Ends:
    """A queue of 20 with a hold, and a queue behind its consumer."""

    def __init__(self, queue, window_bytes=0):
        self.reader = Batch(20, window_bytes)
        self.queue = queue
        self.hold = QueueHold(threading.Condition(), queue, self.reader, is_dropping=False)
        base = self.hold.begin()
        for number in range(1, 21):
            queue.put(number)
        self.hold.put(base, 20)
        self.behind = Tally(self, lambda: 0, lambda: None)
        self.marks = QueueMarks(threading.Lock(), lambda: None, is_soft=window_bytes > 0)

    def lend_to(self, tally):
        self.hold.lend(tally, 0)
        return True

    def window_bytes(self):
        return 0

    def take(self, count):
        """Take so many, of which each goes into the queue behind the consumer."""
        self.queue.take(count)
        self.hold.taken += count
        for _ in range(count):
            self.behind.place.number += 1
            self.marks.waiting.append(self.marks.note(self.behind.place))

    @property
    def consumed(self):
        self.reader.tally.returned(20)
        return self.reader.number


@pytest.fixture
def ends():
    return Ends(PlainQueue(20))


def test_what_was_taken_and_waits_behind_is_not_consumed(ends):
    ends.take(8)
    ends.behind.returned(8)
    assert not ends.consumed
    ends.marks.take(3)  # the first of them is in hand
    ends.marks.settle()
    assert not ends.consumed
    ends.marks.take(0)
    ends.marks.settle()
    assert ends.consumed == 3


def test_without_a_wait_behind_all_that_returned_is_consumed(ends):
    ends.take(5)
    ends.marks.take(5)
    ends.marks.take(0)
    ends.behind.returned(5)
    assert ends.consumed == 5


def test_the_end_gives_back_what_waits_behind(ends):
    ends.take(8)
    ends.marks.take(2)
    ends.marks.close()
    ends.behind.returned(8)
    ends.behind.close()
    assert ends.hold.close() == 0
    assert ends.consumed == 2


@pytest.mark.parametrize("queue", [PlainQueue, DropOldestQueue])
def test_what_the_reader_lets_go_the_queue_behind_lets_go(queue):
    """Only a queue that drops does: else the numbers of what it passed would pile up."""
    ends = Ends(queue(20), window_bytes=30)
    ends.take(8)
    assert ends.hold.let_go() is None
    ends.reader.tally.begin_poll()  # 20 bytes are on loan, more than half of the window
    assert ends.hold.let_go() == 8
    assert ends.hold.let_go() is None
    ends.behind.let_go = 8
    ends.behind.returned(8)
    assert ends.hold.done == 8
