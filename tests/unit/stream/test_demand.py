"""Demand crosses a stream: the sink requests from its upstream what the readers requested."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from rstream import _core, abc, stream
from rstream.flow.chunk import Chunk
from rstream.stream._reactive import _sink_loop, _watch
from tests.support import free_port, until


class Numbers(abc.Subscription):
    """An upstream that emits as many numbers as were requested, in a thread of its own."""

    def __init__(self, sink, end=None):
        self.sink = sink
        self.end = end
        self.requested = self.made = 0
        self.is_cancelled = False
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self):
        self.sink.on_subscribe(self)
        self._thread.start()
        return self

    def request(self, n):
        assert n > 0
        with self._more:
            self.requested += n
            self._more.notify()

    def cancel(self):
        with self._more:
            self.is_cancelled = True
            self._more.notify()

    def _run(self):
        while self.end is None or self.made < self.end:
            with self._more:
                self._more.wait_for(lambda: self.made < self.requested or self.is_cancelled)
                if self.is_cancelled:
                    return
            number, self.made = self.made, self.made + 1
            self.sink.on_next(number)
        self.sink.on_complete()


class Reader(abc.Subscriber):
    """Records its items; requests when told to."""

    def __init__(self, first=0, per_element=0):
        self.items = []
        self.subscription = None
        self.first, self.per_element = first, per_element
        self.ended = threading.Event()

    def on_subscribe(self, subscription):
        self.subscription = subscription
        if self.first:
            subscription.request(self.first)

    def on_next(self, item):
        self.items.append(item)
        if self.per_element:
            self.subscription.request(self.per_element)

    def on_error(self, error):
        self.ended.set()

    def on_complete(self):
        self.ended.set()


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return None if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def test_nothing_is_produced_before_it_is_requested(driver_dir, name, channel):
    reader = Reader()
    sink = stream.sink(name, dir=driver_dir, channel=channel, linger_s=0)
    source = Numbers(sink).begin()
    stream.source(name, dir=driver_dir, channel=channel).subscribe(reader)
    until(lambda: sink.publisher.is_connected)
    time.sleep(0.1)
    assert source.requested == 0
    reader.subscription.request(3)
    until(lambda: len(reader.items) == 3)
    time.sleep(0.05)
    assert (source.requested, source.made) == (3, 3)
    reader.subscription.request(2)
    until(lambda: len(reader.items) == 5)
    assert source.requested == 5
    reader.subscription.cancel()
    sink.cancel()
    assert source.is_cancelled


@pytest.mark.parametrize("window", [1, 5, 256])
def test_no_element_is_produced_beyond_the_requested(driver_dir, name, channel, window):
    reader = Reader()
    sink = stream.sink(name, dir=driver_dir, channel=channel, window=window, linger_s=0)
    source = Numbers(sink).begin()
    stream.source(name, dir=driver_dir, channel=channel).subscribe(reader)
    asked = 0
    for n in (1, 1, 7, 300, 2, 1):
        reader.subscription.request(n)
        asked += n
        until(lambda asked=asked: len(reader.items) == asked)
        assert source.requested == source.made == asked
        assert source.requested - len(reader.items) <= window
    assert reader.items == list(range(asked))
    reader.subscription.cancel()
    sink.cancel()


def test_one_at_a_time_goes_on_to_the_end(driver_dir, name, channel):
    reader = Reader(first=1, per_element=1)
    sink = stream.sink(name, dir=driver_dir, channel=channel)
    stream.source(name, dir=driver_dir, channel=channel).subscribe(reader)
    Numbers(sink, end=500).begin()
    assert reader.ended.wait(30)
    assert reader.items == list(range(500))


def test_a_chain_of_hops_produces_what_its_end_requests(driver_dir, name):
    """source -> a -> doubler -> b -> doubler -> c -> reader."""
    names = [f"{name}-{hop}" for hop in "abc"]
    sinks = [stream.sink(hop, dir=driver_dir, linger_s=0) for hop in names]
    reader = Reader()
    stream.source(names[2], dir=driver_dir).subscribe(reader)
    for upstream, downstream in ((0, 1), (1, 2)):
        doubler = stream.processor(lambda n: 2 * n)
        doubler.subscribe(sinks[downstream])
        stream.source(names[upstream], dir=driver_dir).subscribe(doubler)
    source = Numbers(sinks[0]).begin()
    asked = 0
    for n in (1, 4, 50):
        reader.subscription.request(n)
        asked += n
        until(lambda asked=asked: len(reader.items) == asked)
        time.sleep(0.02)
        assert source.made == asked
    assert reader.items == [4 * n for n in range(asked)]
    reader.subscription.cancel()
    for sink in sinks:
        sink.cancel()


def test_a_reader_without_demand_is_limited_by_the_window(driver_dir, name, channel):
    with stream.subscriber(name, dir=driver_dir, channel=channel) as reader:
        sink = stream.sink(name, dir=driver_dir, channel=channel, window=16)
        source = Numbers(sink, end=200).begin()
        assert list(reader) == list(range(200))
        assert source.requested - source.made <= 16


def test_of_two_readers_the_smaller_demand_counts(driver_dir, name):
    readers = [Reader(), Reader()]
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    for reader in readers:
        stream.source(name, dir=driver_dir).subscribe(reader)
    until(lambda: (sink.publisher.demand() or (0, 0, 0))[2] == 2)
    source = Numbers(sink).begin()
    readers[0].subscription.request(10)
    readers[1].subscription.request(4)
    until(lambda: all(len(reader.items) == 4 for reader in readers))
    time.sleep(0.05)
    assert source.made == 4
    readers[1].subscription.cancel()  # then only the other reader counts
    until(lambda: len(readers[0].items) == 10)
    readers[0].subscription.cancel()
    sink.cancel()


def test_without_a_reader_nothing_is_requested_and_a_notice_says_so(
    driver_dir, name, caplog, monkeypatch
):
    monkeypatch.setattr(_sink_loop, "NOTICE_AFTER_S", 0.01)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    source = Numbers(sink).begin()
    until(lambda: "asks its upstream for nothing" in caplog.text)
    assert source.requested == 0
    with stream.subscriber(name, dir=driver_dir) as reader:
        assert next(iter(reader)) == 0
        sink.cancel()


def test_cancelling_ends_a_send_that_waits_for_room(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir, prefetch=65_536) as reader:  # more than the log
        sink = stream.sink(name, dir=driver_dir, window=100_000, linger_s=0)
        source = Numbers(sink).begin()
        assert reader.wait(10)
        until(lambda: sink.publisher.statistics()["waits"])  # nobody reads: the log is full
        began_s = time.monotonic()
        sink.cancel()
        assert time.monotonic() - began_s < 5
        assert source.is_cancelled


def test_the_next_reader_starts_with_its_own_demand(driver_dir, name, channel):
    sink = stream.sink(name, dir=driver_dir, channel=channel, linger_s=0)
    source = Numbers(sink).begin()
    first = Reader(first=5)
    stream.source(name, dir=driver_dir, channel=channel).subscribe(first)
    until(lambda: len(first.items) == 5)
    first.subscription.cancel()
    until(lambda: not sink.publisher.is_connected, 30)
    second = Reader(first=2)
    stream.source(name, dir=driver_dir, channel=channel).subscribe(second)
    until(lambda: len(second.items) == 2)
    time.sleep(0.05)
    assert source.made == 7
    second.subscription.cancel()
    sink.cancel()


def test_a_lost_driver_is_joined_again_while_nothing_is_sent(make_driver_dir, name):
    """The sink sleeps without demand; its driver is killed; the next request still gets through."""
    directory = make_driver_dir()
    reader = Reader(first=2)
    sink = stream.sink(name, dir=directory, linger_s=0)
    source = Numbers(sink).begin()
    stream.source(name, dir=directory).subscribe(reader)
    until(lambda: len(reader.items) == 2)
    os.kill(_core.driver_info(directory).pid, signal.SIGKILL)
    until(lambda: sink.publisher.is_connected and sink.publisher.statistics()["rejoins"], 30)
    reader.subscription.request(3)
    until(lambda: len(reader.items) == 5, 30)
    assert source.made == 5
    reader.subscription.cancel()
    sink.cancel()


class Witness(Numbers):
    """Records which threads called request."""

    def __init__(self, sink, end=None):
        super().__init__(sink, end)
        self.askers = []

    def request(self, n):
        self.askers.append(threading.current_thread())
        super().request(n)

    @property
    def own_share(self):
        return sum(thread is self._thread for thread in self.askers) / len(self.askers)


def test_the_producing_thread_waits_for_the_next_request(driver_dir, name, monkeypatch):
    monkeypatch.setattr(_watch, "PATIENCE_S", 5.0)
    reader = Reader(first=1, per_element=1)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    source = Witness(sink).begin()
    stream.source(name, dir=driver_dir).subscribe(reader)
    until(lambda: len(reader.items) >= 200)
    assert (
        source.own_share > 0.5
    )  # otherwise the share would be 0: the next request comes after on_next has returned
    reader.subscription.cancel()
    sink.cancel()


def test_a_request_by_the_loop_wakes_the_producing_thread(driver_dir, name, monkeypatch):
    """Both the loop and on_next look for demand; on_next stops waiting when the loop finds it."""
    monkeypatch.setattr(_watch, "PATIENCE_S", 3600.0)
    monkeypatch.setattr(_sink_loop, "LEAVE_S", 0.0)  # the loop leaves nothing to on_next
    reader = Reader(first=1, per_element=1)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    source = Witness(sink).begin()
    stream.source(name, dir=driver_dir).subscribe(reader)
    until(lambda: len(reader.items) >= 500, 30)
    assert source.own_share < 1.0, "the loop never found demand first: no evidence"
    reader.subscription.cancel()
    sink.cancel()


def test_progress_of_the_slower_of_two_readers_raises_demand(driver_dir, name):
    """Progress of the slower reader changes the joint demand though no reader requests more.

    The joint demand is the lowest position and the smallest request.
    """
    executor = stream.CallerExecutor()
    fast, slow = Reader(first=5), Reader(first=15)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    stream.source(name, dir=driver_dir).subscribe(fast)
    stream.source(name, dir=driver_dir, executor=executor).subscribe(slow)
    source = Numbers(sink).begin()
    until(lambda: len(fast.items) == 5)
    fast.subscription.request(10)
    until(lambda: len(fast.items) == 10)
    time.sleep(0.05)
    assert source.made == 10  # the slow reader has read none, and the fast reader wants five more
    until(lambda: executor.run_pending() and len(slow.items) == len(fast.items) == 15)
    assert source.made == 15
    for reader in (fast, slow):
        reader.subscription.cancel()
    sink.cancel()
    executor.run_pending()


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_reader_that_replaces_another_unseen_is_served(driver_dir, name, overlaps):
    """It requests as many as the previous reader: the sum is the same, its own demand is new."""
    mine, theirs = stream.CallerExecutor(), stream.CallerExecutor()
    sink = stream.sink(name, dir=driver_dir, executor=mine, linger_s=0)
    first, second = Reader(first=5), Reader(first=5)
    stream.source(name, dir=driver_dir, executor=theirs).subscribe(first)
    source = Numbers(sink).begin()
    until(lambda: (mine.run_pending(), theirs.run_pending()) and len(first.items) == 5)
    if not overlaps:
        first.subscription.cancel()
        until(lambda: not theirs.run_pending())
    stream.source(name, dir=driver_dir, executor=theirs).subscribe(second)
    first.subscription.cancel()
    until(lambda: (mine.run_pending(), theirs.run_pending()) and len(second.items) == 5, 30)
    assert (
        source.made == 10 or overlaps
    )  # a reader that overlaps may receive items that the previous reader had not consumed
    second.subscription.cancel()
    sink.cancel()
    mine.run_pending()
    theirs.run_pending()


def test_reading_the_demand_does_not_consume_it(driver_dir, name):
    reader = Reader(first=1, per_element=1)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    Numbers(sink).begin()
    stream.source(name, dir=driver_dir).subscribe(reader)
    count = 0
    while len(reader.items) < 300:
        sink.publisher.demand()
        count += 1
        time.sleep(0.0002)
        assert count < 50_000, f"only {len(reader.items)} elements"
    reader.subscription.cancel()
    sink.cancel()


def test_a_thread_that_runs_everything_does_not_wait(driver_dir, name, monkeypatch):
    monkeypatch.setattr(_watch, "PATIENCE_S", 3600.0)
    executor = stream.CallerExecutor()
    reader = Reader(first=1)
    sink = stream.sink(name, dir=driver_dir, executor=executor, linger_s=0)
    stream.source(name, dir=driver_dir, executor=executor).subscribe(reader)

    class Now(abc.Subscription):
        def request(self, n):
            for number in range(n):
                sink.on_next(number)

        def cancel(self):
            pass

    sink.on_subscribe(Now())
    until(lambda: executor.run_pending() and len(reader.items) == 1)
    reader.subscription.cancel()
    sink.cancel()
    executor.run_pending()


def test_a_handler_may_close_the_reader_inside_a_request(driver_dir, name, monkeypatch):
    """The close counts what was handed out, and so tells demand once more."""
    judge, closed = Chunk._judge, []

    def closing(chunk, taken, now_ns):
        judge(chunk, taken, now_ns)
        if taken > 0 and not closed:
            closed.append(chunk)
            sub.close()  # as a signal handler would

    monkeypatch.setattr(Chunk, "_judge", closing)
    got = []
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, dir=driver_dir) as sub:
            pub.send_many(range(600), timeout_s=5)
            got += sub
    assert closed
    assert got == list(range(len(got)))
