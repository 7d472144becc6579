"""The bound of unread messages in segments, against readers in virtual time."""

from __future__ import annotations

from collections import deque

import pytest

from rstream.flow.unread import KEPT_NS, STILL_NS, UnreadLimit

MIB = 1 << 20
MS = 1_000_000
TARGET_NS = 10 * MS
LOOK_NS = 2 * MS  # between two looks of a held publisher


class Line:
    """A publisher that always has a message, and a reader that needs some time for each.

    The reader takes ``burst`` messages, and consumes all of them when it has worked on the last.
    """

    def __init__(self, length: int, work_ns: int, *, burst: int = 1, write_ns: int = MS) -> None:
        self.limit = UnreadLimit(TARGET_NS)
        self.length, self.work_ns, self.burst, self.write_ns = length, work_ns, burst, write_ns
        self.now_ns = 0
        self.sent = self.consumed = self.taken = 0
        self.next_ns = 0  # the next message is written
        self.done_ns: int | None = None
        self.queues: deque[int] = deque(maxlen=100_000)
        self.idle_ns = 0

    def run(self, until_ns: int, step_ns: int = MS // 4) -> None:
        while self.now_ns < until_ns:
            self.now_ns += step_ns
            self._read(step_ns)
            if self.now_ns >= self.next_ns:
                self._send()
            self.queues.append(self.sent - self.consumed)

    def _send(self) -> None:
        if self.limit.may_send(self.length, self.consumed * self.length, self.now_ns):
            self.sent += 1
            self.limit.note_sent(self.sent * self.length, self.length, self.now_ns)
            self.next_ns = self.now_ns + self.write_ns
        else:
            self.next_ns = self.now_ns + LOOK_NS

    def _read(self, step_ns: int) -> None:
        if self.done_ns is not None and self.now_ns >= self.done_ns:
            self.taken += 1
            self.done_ns = None
            if self.taken % self.burst == 0:
                self.consumed = self.taken
        if self.done_ns is None:
            if self.taken < self.sent:
                self.done_ns = self.now_ns + self.work_ns
            else:
                self.idle_ns += step_ns


def test_a_slow_reader_has_one_message_in_work_and_one_that_waits() -> None:
    line = Line(8 * MIB, 100 * MS)
    line.run(5_000 * MS)
    assert max(line.queues) == 2
    assert line.idle_ns < 0.02 * line.now_ns
    assert line.limit.is_held


def test_a_fast_reader_of_small_messages_has_the_target_delay() -> None:
    """1 MiB in half a millisecond: 20 messages take 10 ms."""
    line = Line(MIB, MS // 2, write_ns=MS // 4)
    line.run(2_000 * MS, MS // 8)
    late = list(line.queues)[-4000:]
    assert 12 <= max(late) <= 40
    assert line.idle_ns < 0.05 * line.now_ns


def test_a_reader_that_consumes_in_bursts_is_not_starved() -> None:
    """It takes eight messages before it consumes them, as a training loop with batches does."""
    line = Line(8 * MIB, 10 * MS, burst=8)
    line.run(10_000 * MS)
    settled_ns, idle_ns = line.now_ns, line.idle_ns
    line.run(20_000 * MS)
    assert line.idle_ns - idle_ns < 0.05 * (line.now_ns - settled_ns)
    assert max(line.queues) <= 3 * 8


def test_a_reader_that_keeps_views_goes_on() -> None:
    """It always keeps the last eight messages, so nothing is consumed before the ninth comes."""

    class Keeper(Line):
        def _read(self, step_ns: int) -> None:
            super()._read(step_ns)
            self.consumed = max(0, self.taken - 8)

    line = Keeper(8 * MIB, 10 * MS)
    line.run(10_000 * MS)
    settled_ns, taken = line.now_ns, line.taken
    line.run(100_000 * MS)
    assert line.taken - taken > 0.95 * (line.now_ns - settled_ns) / (10 * MS)
    assert max(line.queues) <= 14


def test_after_fast_times_a_slow_reader_gets_a_short_queue_again() -> None:
    line = Line(MIB, MS // 2, write_ns=MS // 4)
    line.run(1_000 * MS, MS // 8)
    line.work_ns = 100 * MS
    line.run(8_000 * MS)
    line.queues.clear()
    line.run(10_000 * MS)
    assert max(line.queues) <= 3


def test_a_reader_that_stands_still_gets_more_at_times() -> None:
    limit = UnreadLimit(TARGET_NS)
    sent = 0
    for now_ns in range(0, 10 * STILL_NS, LOOK_NS):
        if limit.may_send(MIB, 0, now_ns):
            sent += 1
            limit.note_sent(sent * MIB, MIB, now_ns)
    assert sent == 2 + 1 + 1 + 2 + 3 + 4 + 6 + 9 + 14 + 21  # each time half as many again
    assert limit.unread == sent * MIB


def test_what_a_still_reader_got_is_forgotten() -> None:
    limit = UnreadLimit(TARGET_NS)
    for number in range(1, 3):
        assert limit.may_send(MIB, 0, 0)
        limit.note_sent(number * MIB, MIB, 0)
    assert not limit.may_send(MIB, 0, 0)
    assert limit.may_send(MIB, 0, STILL_NS)
    assert limit.limit(MIB, STILL_NS) == 3 * MIB
    assert limit.limit(MIB, STILL_NS + KEPT_NS) == 2 * MIB


@pytest.mark.parametrize("length", [1, MIB, 64 * MIB])
def test_a_message_of_any_length_may_be_sent_when_nothing_waits(length: int) -> None:
    limit = UnreadLimit(1)
    assert limit.may_send(length, 0, 0)
    limit.note_sent(64, length, 0)
    assert limit.may_send(length, 64, 10)
    assert limit.unread == 0
