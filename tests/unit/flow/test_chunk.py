"""The size of a reader's chunk of demand, over a path and a publisher in virtual time.

In the model a publisher makes elements on demand, at most at its own speed. Requests and elements
are half a round trip on their way. A reader polls 256 at a time and needs a time for each.
"""

from __future__ import annotations

import itertools
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rstream.flow.chunk import LEAST, MOST, WAKE_UP_NS, Chunk

MS = 1_000_000
SECOND = 1_000 * MS
POLL = 256


class Pipeline:
    """A publisher, a path and a reader."""

    def __init__(self, chunk, round_trip_ns, make_ns, take_ns):
        self.chunk = chunk
        self.way_ns = round_trip_ns // 2
        self.make_ns, self.take_ns = make_ns, take_ns
        self.made_until_ns = self.now_ns = 1
        self.arriving = deque()  # when each element is here, oldest first
        self.told = self.taken = 0
        self.tell()

    def tell(self):
        chunk = self.chunk
        assert chunk.outstanding == self.told - self.taken >= 0
        if chunk.outstanding > chunk.renew_at:
            return
        count = chunk.request(self.now_ns)
        self.told += count
        assert count >= 1
        assert self.told - self.taken == chunk.outstanding == chunk.size
        at_ns = max(self.made_until_ns, self.now_ns + self.way_ns)
        for _ in range(count):
            at_ns += self.make_ns
            self.arriving.append(at_ns + self.way_ns)
        self.made_until_ns = at_ns

    def poll(self):
        count = 0
        while self.arriving and self.arriving[0] <= self.now_ns and count < POLL:
            self.arriving.popleft()
            count += 1
        if count == 0:
            self.chunk.empty(self.now_ns)
            self.now_ns = self.arriving[0]
            return
        if self.chunk.is_waiting:
            self.chunk.arrived(self.now_ns)
        self.chunk.outstanding -= count
        self.taken += count
        self.tell()
        self.now_ns += count * self.take_ns

    def run(self, for_ns):
        """Elements per second."""
        begin_ns, before = self.now_ns, self.taken
        while self.now_ns < begin_ns + for_ns:
            self.poll()
            assert self.chunk.least <= self.chunk.size <= self.chunk.most
            assert self.told - self.taken <= self.chunk.most
        return (self.taken - before) * SECOND / (self.now_ns - begin_ns)


round_trips = st.integers(0, 100 * MS)
costs = st.integers(20_000, 500_000)


@given(round_trips, costs, costs)
@settings(max_examples=30, deadline=None)
def test_the_chunk_holds_nobody_back_and_is_not_far_too_large(round_trip_ns, make_ns, take_ns):
    pipeline = Pipeline(Chunk(), round_trip_ns, make_ns, take_ns)
    turn_ns = round_trip_ns + WAKE_UP_NS
    pipeline.run(10 * turn_ns + 4 * LEAST * take_ns)
    reached = pipeline.run(10 * turn_ns + 4 * LEAST * take_ns)
    possible = SECOND / max(make_ns, take_ns)
    assert reached >= 0.85 * possible
    # The turn that the reader sees has the making and the handling of a poll in it.
    turn_ns += POLL * (make_ns + take_ns)
    assert pipeline.chunk.size <= max(LEAST, 4 * 2 * possible * turn_ns / SECOND)


def test_it_doubles_with_every_round_trip_that_it_holds_the_reader_back():
    pipeline = Pipeline(Chunk(), 40 * MS, 500, 500)
    grown = [(pipeline.now_ns, LEAST)]
    while pipeline.now_ns < 9 * 41 * MS:
        pipeline.poll()
        if pipeline.chunk.size != grown[-1][1]:
            grown.append((pipeline.now_ns, pipeline.chunk.size))
    assert [size for _, size in grown] == [LEAST << turn for turn in range(8)]
    assert grown[-1][1] == MOST
    for (earlier_ns, _), (later_ns, _) in itertools.pairwise(grown):
        assert later_ns - earlier_ns >= 40 * MS


def test_it_falls_by_quarters_when_the_consumer_slows_down():
    pipeline = Pipeline(Chunk(), 100 * MS, 10_000, 10_000)
    pipeline.run(2 * SECOND)
    before = pipeline.chunk.size
    assert before >= 20_000  # 100 000 a second
    pipeline.take_ns = MS
    sizes = [before]
    while pipeline.now_ns < 300 * SECOND and sizes[-1] > LEAST:
        pipeline.poll()
        sizes.append(pipeline.chunk.size)
    assert sizes[-1] < before / 10
    assert all(later >= earlier - earlier // 4 for earlier, later in itertools.pairwise(sizes))


def test_a_path_that_became_shorter_is_noticed():
    pipeline = Pipeline(Chunk(), 100 * MS, 50_000, 20_000)
    pipeline.run(2 * SECOND)
    before = pipeline.chunk.size
    assert before >= 4_000  # 20 000 a second
    pipeline.way_ns = 1 * MS
    pipeline.run(20 * SECOND)
    assert pipeline.chunk.size < before / 4


def test_a_longer_wait_inside_a_request_is_no_round_trip():
    """A publisher that pauses now and then, whether or not it is asked."""
    chunk = Chunk()
    assert chunk.request(1) == LEAST
    now_ns = 1
    for turn in range(200):
        chunk.empty(now_ns)
        now_ns += 5 * MS
        chunk.arrived(now_ns)
        chunk.outstanding -= 64
        if chunk.outstanding <= chunk.renew_at:
            chunk.request(now_ns)
        assert chunk.size == LEAST, turn
    assert chunk.round_trip_ns == 0


def waited(for_ns, taken_before=LEAST):
    """A chunk whose reader has taken so many, asked again, and waited then."""
    chunk = Chunk()
    chunk.request(MS)
    if taken_before:
        chunk.outstanding -= taken_before
        chunk.request(2 * MS)
    chunk.empty(3 * MS)
    chunk.arrived(3 * MS + for_ns)
    return chunk


def test_the_first_message_of_a_request_after_a_wait_tells_the_round_trip():
    assert waited(39 * MS).round_trip_ns == 40 * MS


def test_another_message_after_a_wait_tells_nothing():
    assert waited(39 * MS, LEAST // 2).round_trip_ns == 0


def test_a_pause_before_the_first_publisher_is_no_round_trip():
    assert waited(500 * MS, 0).round_trip_ns == 0


def test_a_pause_of_seconds_is_no_round_trip():
    assert waited(2 * SECOND).round_trip_ns == 0


def test_messages_that_nobody_asked_for_use_up_no_more_than_there_is():
    chunk = Chunk(10, 10)
    assert chunk.request(1) == 10
    chunk.outstanding -= 25
    assert chunk.request(2) == 10
    assert chunk.outstanding == 10


@given(st.integers(1, MOST), st.lists(st.integers(1, 300), max_size=50))
def test_a_number_that_the_user_gave_is_obeyed(number, polls):
    chunk = Chunk(number, number)
    for now_ns, count in enumerate(polls):
        if chunk.outstanding <= chunk.renew_at:
            chunk.request(now_ns)
        assert number / 2 < chunk.outstanding <= number
        chunk.empty(now_ns)
        chunk.arrived(now_ns + SECOND)
        chunk.outstanding -= count
    assert chunk.size == number


@pytest.mark.parametrize(("least", "most"), [(0, 1), (2, 1), (-1, -1)])
def test_limits_that_make_no_sense_are_refused(least, most):
    with pytest.raises(ValueError, match=f"chunk of {least} to {most}"):
        Chunk(least, most)
