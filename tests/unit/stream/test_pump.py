"""The read loop, over a source that is a script."""

from __future__ import annotations

import pytest

from rstream.stream._pump import PART_FIRST, PART_MOST, PART_S, batches, items
from rstream.stream._reading._reading import Reading


class Script(Reading):
    """Each poll returns, or raises, the next entry."""

    def __init__(self, *polls):
        super().__init__(256)
        self.is_closed = False
        self.polls = list(polls)
        self.limits = []
        self.waits = []
        self.consumed = []

    def poll(self, limit=None):
        self.limits.append(limit)
        entry = self.polls.pop(0) if self.polls else []
        if isinstance(entry, Exception):
            raise entry
        return entry

    def consume(self, count):
        self.consumed.append(count)

    @property
    def is_ended(self):
        return not self.polls

    def wait(self, timeout_s=None):
        self.waits.append(timeout_s)

    def close(self):
        self.is_closed = True

    def __del__(self):
        pass  # it holds nothing that must be closed

    is_connected = True
    poll_demanded = poll
    wake = events = statistics = watched = is_ready = close


def test_it_waits_only_when_nothing_is_there_and_ends_with_the_source():
    source = Script([1, 2], [], [3], [])
    assert list(batches(source, lambda: False, wait_s=0.5)) == [[1, 2], [3]]
    assert source.waits == [0.5]
    assert source.limits == [None] * 4


def test_the_caller_may_say_how_much_and_when_it_ends():
    source = Script([], [1], [])
    limits = iter((3, 2, 1))
    ends = iter((False, True))
    assert list(
        batches(source, lambda: False, limit=lambda: next(limits), is_ended=lambda: next(ends))
    ) == [[1]]
    assert source.limits == [3, 2, 1]
    assert source.waits == [None]


def test_a_stopped_loop_polls_no_more():
    source = Script([1], [2])
    stops = iter((False, True))
    assert list(batches(source, lambda: next(stops))) == [[1]]
    assert source.polls == [[2]]


def test_after_an_error_a_new_iteration_goes_on():
    source = Script([1], ValueError("once"), [2], [])
    seen = []
    with pytest.raises(ValueError, match="once"):
        seen.extend(batches(source, lambda: False))
    seen.extend(batches(source, lambda: False))
    assert seen == [[1], [2]]


def test_a_batch_counts_when_the_next_one_is_asked_for():
    source = Script([1, 2], [3])
    reading = batches(source, lambda: False)
    assert next(reading) == [1, 2]
    assert source.consumed == []
    assert next(reading) == [3]
    assert source.consumed == [2]
    reading.close()  # the loop is left: it was given the whole batch
    assert source.consumed == [2, 1]


def taken_by(reading, count, clock, item_s):
    """The next items of a loop that works on each for a time."""
    taken = []
    for _ in range(count):
        taken.append(next(reading))
        clock[0] += item_s
    return taken


@pytest.fixture
def clock(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr("rstream.stream._pump.monotonic", lambda: now_s[0])
    return now_s


def test_a_slow_loop_counts_each_item(clock):
    source = Script(list(range(200)), list(range(3)))
    reading = items(source, lambda: False)
    taken_by(reading, 203, clock, PART_S)
    first = PART_FIRST  # how slow it is shows behind the first part
    assert source.consumed == [*range(first, 201), 1, 2]


def test_a_fast_loop_counts_when_its_poll_is_used_up(clock):
    source = Script(*([list(range(PART_MOST))] * 3), [1])
    reading = items(source, lambda: False)
    taken_by(reading, 3 * PART_MOST + 1, clock, 0.0)
    grown = PART_FIRST * 5  # 32, then 4 * 32, then the rest
    assert source.consumed == [PART_FIRST, grown, PART_MOST, PART_MOST, PART_MOST]


def test_a_loop_that_becomes_slow_is_seen_within_a_poll(clock):
    source = Script(*([list(range(PART_MOST))] * 4))
    reading = items(source, lambda: False)
    taken_by(reading, 3 * PART_MOST, clock, 0.0)
    source.consumed.clear()
    taken_by(reading, PART_MOST, clock, PART_S)
    assert next(reading, None) is None
    assert source.consumed == [PART_MOST, PART_MOST]
    source.polls = [[1, 2, 3]]
    reading = items(source, lambda: False)
    taken_by(reading, 3, clock, PART_S)
    assert source.consumed[2:] == [1, 2]


@pytest.mark.parametrize(("length", "part"), [(1, 1), (3, 1), (8, 2), (40, 10)])
def test_the_first_part_is_a_quarter_of_a_short_poll(clock, length, part):
    source = Script(list(range(length)))
    reading = items(source, lambda: False)
    assert taken_by(reading, length, clock, 1.0) == list(range(length))
    assert list(reading) == []
    assert source.consumed == list(range(part, length + 1))


@pytest.mark.parametrize("in_hand", [0, 1])
def test_a_loop_that_is_left_keeps_what_it_was_not_given(in_hand):
    source = Script([1, 2, 3, 4, 5], [6])
    source.rest.in_hand = in_hand
    for item in items(source, lambda: False):
        if item == 3:
            break
    assert source.consumed[-1] == 3 - in_hand
    assert list(items(source, lambda: False)) == [4, 5, 6]
    assert source.consumed[-2:] == [5, 1]


def test_a_stopped_loop_hands_out_no_more_parts(clock):
    source = Script(list(range(PART_MOST * 10)))
    taken = []
    for item in items(source, lambda: len(taken) > 5):
        taken.append(item)
        clock[0] += 1.0
    assert taken == list(range(PART_FIRST))
