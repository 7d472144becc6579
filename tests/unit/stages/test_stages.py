"""Each stage alone: what it holds, what it asks for, and what it does at its limit.

Sources and sinks are driven by hand, and the time is virtual: nothing here waits.
"""

from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace

import pytest

from rstream import abc, stages, stream
from rstream.abc import UNBOUNDED
from rstream.errors import ConfigError, ReadTimeout, SlowConsumer
from rstream.testing import TestPublisher

from .ends import Sink, Source, joined


class TestBuffer:
    def test_asks_for_its_capacity_and_gives_what_is_requested(self):
        source, sink = joined(stages.buffer(4))
        assert source.demand == 4
        source.send(1, 2, 3, 4)
        assert sink.items == []
        assert source.demand == 0  # full: nothing more is asked for
        sink.request(2)
        assert sink.take() == [1, 2]
        assert source.demand == 2

    def test_drops_the_newest_and_counts(self):
        source = Source()
        buffered = stages.buffer(2, overflow="drop_newest")(source)
        sink = Sink()
        buffered.subscribe(sink)
        assert source.demand == UNBOUNDED
        source.send(1, 2, 3, 4)
        sink.request(10)
        assert sink.items == [1, 2]
        assert buffered.dropped == 2

    def test_drops_the_oldest_and_counts(self):
        source = Source()
        buffered = stages.buffer(2, overflow="drop_oldest")(source)
        sink = Sink()
        buffered.subscribe(sink)
        source.send(1, 2, 3, 4)
        sink.request(10)
        assert sink.items == [3, 4]
        assert buffered.dropped == 2

    def test_fails_behind_what_waits(self):
        source, sink = joined(stages.buffer(2, overflow="fail"))
        source.send(1, 2, 3)
        assert source.is_cancelled
        assert sink.ends == []
        sink.request(2)
        assert sink.items == [1, 2]
        (error,) = sink.ends
        assert isinstance(error, SlowConsumer)
        assert "in stage buffer" in error.__notes__

    @pytest.mark.parametrize("capacity", [0, -1, 1.5, True])
    def test_refuses_a_capacity(self, capacity):
        with pytest.raises(ConfigError, match="capacity"):
            stages.buffer(capacity)

    def test_refuses_an_overflow(self):
        with pytest.raises(ConfigError, match="drop_oldest"):
            stages.buffer(1, overflow="drop")


class TestConflate:
    def test_merges_what_comes_meanwhile(self):
        source, sink = joined(stages.conflate(lambda old, new: old + new))
        source.send(1, 2, 3)
        sink.request(1)
        assert sink.take() == [6]
        sink.request(1)
        source.send(4)
        assert sink.take() == [4]

    def test_a_merge_that_raises_ends_the_stream(self):
        source, sink = joined(stages.conflate(lambda old, new: 1 / 0))
        source.send(1, 2)
        assert source.is_cancelled
        sink.request(1)
        assert sink.items == [1]
        assert "in stage conflate" in sink.ends[0].__notes__


class TestBatch:
    def test_at_once_with_what_has_come_meanwhile(self):
        source, sink = joined(stages.batch(3), first=1)
        source.send(1)
        assert sink.take() == [[1]]
        source.send(2, 3, 4)
        assert source.demand == 0  # three are held, that is all it may hold
        sink.request(2)
        assert sink.take() == [[2, 3, 4]]
        assert source.demand == 3

    def test_only_full_lists_and_the_rest_at_the_end(self):
        source, sink = joined(stages.batch(2, within_s=None), first=UNBOUNDED)
        source.send(1, 2, 3)
        assert sink.take() == [[1, 2]]
        source.complete()
        assert sink.items == [[3]]
        assert sink.ends == ["complete"]

    def test_by_time_after_the_first_element_of_a_list(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.batch(10, within_s=1.0, clock=clock), first=UNBOUNDED)
        source.send("a")
        clock.advance(0.6)
        source.send("b")
        clock.advance(0.3)
        assert sink.items == []
        clock.advance(0.1)
        assert sink.take() == [["a", "b"]]
        clock.advance(5)
        source.send("c")
        clock.advance(0.9)
        assert sink.items == []
        clock.advance(0.1)
        assert sink.take() == [["c"]]

    def test_a_full_list_does_not_wait_for_the_time(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.batch(2, within_s=1.0, clock=clock), first=UNBOUNDED)
        source.send(1, 2)
        assert sink.items == [[1, 2]]

    def test_waits_for_demand_when_the_time_is_over(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.batch(2, within_s=1.0, clock=clock))
        source.send(1)
        clock.advance(2)
        assert sink.items == []
        sink.request(1)
        assert sink.items == [[1]]

    def test_by_real_time(self):
        source, done = Source(), threading.Event()

        class Waiting(Sink):
            def on_next(self, item):
                super().on_next(item)
                done.set()

        sink = Waiting(first=1)
        stages.batch(100, within_s=0.02)(source).subscribe(sink)
        source.send(1, 2)
        assert done.wait(10)
        assert sink.items == [[1, 2]]

    def test_an_error_comes_behind_what_is_held(self):
        source, sink = joined(stages.batch(3, within_s=None), first=1)
        source.send(1)
        source.fail(OSError("gone"))
        assert sink.items == [[1]]
        assert isinstance(sink.ends[0], OSError)


class TestBatchWeighted:
    def test_a_list_is_never_heavier_unless_one_element_is(self):
        source, sink = joined(stages.batch_weighted(10, lambda n: n, within_s=None), UNBOUNDED)
        source.send(4, 5, 2, 11, 3, 3, 4, 1)
        assert sink.items == [[4, 5], [2], [11], [3, 3, 4]]
        source.complete()
        assert sink.items[-1] == [1]

    def test_holds_count_max_elements_whatever_they_weigh(self):
        source, sink = joined(stages.batch_weighted(1000, lambda n: n, count_max=3))
        source.send(1, 1, 1)
        assert source.demand == 0
        sink.request(1)
        assert sink.items == [[1, 1, 1]]

    def test_what_waits_behind_a_full_list_makes_the_next_one(self):
        source, sink = joined(stages.batch_weighted(4, lambda n: n))
        source.send(3, 3, 1, 1, 4)
        sink.request(10)
        assert sink.items == [[3], [3, 1], [1], [4]]

    @pytest.mark.parametrize("bad", [0, -1, float("nan"), None, "x"])
    def test_a_limit_that_is_no_weight_is_refused(self, bad):
        with pytest.raises(ConfigError, match=f"weight_max={bad!r}: must be a number above 0"):
            stages.batch_weighted(bad, len)

    @pytest.mark.parametrize("bad", [-1, float("nan")])
    def test_a_weight_that_is_none_ends_the_stream(self, bad):
        source, sink = joined(stages.batch_weighted(4, lambda n: bad), UNBOUNDED)
        source.send(1)
        assert source.is_cancelled
        assert isinstance(sink.ends[0], ValueError)


class TestThrottle:
    def test_spreads_elements_over_time(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.throttle(10, clock=clock), first=UNBOUNDED)
        source.send("a")
        assert sink.take() == ["a"]
        source.send("b")
        assert source.demand == 0
        clock.advance(0.09)
        assert sink.items == []
        clock.advance(0.01)
        assert sink.take() == ["b"]
        assert source.demand == 1

    def test_a_burst_after_a_pause(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.throttle(10, burst=3, clock=clock), first=UNBOUNDED)
        source.send(1, 2, 3, 4)
        assert sink.take() == [1, 2, 3]
        clock.advance(0.1)
        assert sink.take() == [4]
        clock.advance(10)
        source.send(5, 6, 7, 8)
        assert sink.take() == [5, 6, 7]

    def test_the_end_comes_behind_what_waits(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.throttle(1, clock=clock), first=UNBOUNDED)
        source.send(1)
        source.send(2)
        source.complete()
        assert sink.ends == []
        clock.advance(1)
        assert sink.items == [1, 2]
        assert sink.ends == ["complete"]

    def test_a_million_elements_leave_no_calls_behind(self):
        clock = stages.VirtualClock()
        source, sink = joined(stages.throttle(1e9, clock=clock), first=UNBOUNDED)
        for _ in range(1000):
            source.send(0)
            clock.advance(1e-9)
        assert len(sink.items) == 1000
        assert len(clock._calls) <= 1


def test_checkpoint_marks_an_error_once_and_changes_nothing_else():
    source, sink = Source(), Sink(first=2)
    stages.pipe(source, stages.checkpoint("read"), stages.checkpoint("parsed")).subscribe(sink)
    assert source.requests == [2]
    source.send(1)
    error = OSError("gone")
    source.fail(error)
    assert sink.items == [1]
    assert sink.ends == [error]
    assert error.__notes__ == ["passed checkpoint 'read'", "passed checkpoint 'parsed'"]
    again, other = Source(), Sink()
    stages.checkpoint("read")(again).subscribe(other)
    again.fail(error)
    assert error.__notes__.count("passed checkpoint 'read'") == 1


def test_pipe_puts_steps_in_a_row():
    got = []
    piped = stages.pipe(
        stages.from_iterable(range(7)), stages.buffer(2), stages.batch(3, within_s=None)
    )
    assert stages.for_each(piped, got.append) == 3
    assert got == [[0, 1, 2], [3, 4, 5], [6]]


class TestForEach:
    def test_raises_the_error_of_the_source(self):
        def failing():
            yield 1
            raise OSError("gone")

        got = []
        with pytest.raises(OSError, match="gone"):
            stages.for_each(stages.from_iterable(failing()), got.append)
        assert got == [1]

    def test_an_error_of_the_function_cancels_the_source(self):
        source = Source()
        threading.Timer(0.05, lambda: source.send(1)).start()
        with pytest.raises(ZeroDivisionError):
            stages.for_each(source, lambda n: 1 / 0)
        assert source.is_cancelled

    def test_a_silent_source_is_a_timeout(self):
        source = Source()
        with pytest.raises(ReadTimeout):
            stages.for_each(source, print, timeout_s=0.01)
        assert source.is_cancelled

    def test_never_requests_more_than_prefetch_ahead(self):
        most = 0
        handled = 0

        def numbers():
            nonlocal most
            for n in range(200):
                most = max(most, n - handled)
                yield n

        def handle(n):
            nonlocal handled
            handled += 1

        stages.for_each(stages.from_iterable(numbers()), handle, prefetch=8)
        assert most <= 9  # and the one that is fetched ahead of the demand


STAGES = {
    "buffer": lambda: stages.buffer(4),
    "conflate": lambda: stages.conflate(lambda old, new: new),
    "batch": lambda: stages.batch(4),
    "batch_weighted": lambda: stages.batch_weighted(4, lambda n: 1),
    "throttle": lambda: stages.throttle(1, clock=stages.VirtualClock()),
    "checkpoint": lambda: stages.checkpoint("here"),
}


class Held:
    """Something whose life can be watched."""


@pytest.mark.parametrize("name", STAGES)
def test_cancelling_frees_what_was_held(name):
    source, sink = joined(STAGES[name]())
    if name == "checkpoint":
        sink.request(1)
    held = Held()
    watched = weakref.ref(held), weakref.ref(sink)
    source.send(held)
    sink.subscription.cancel()
    assert source.is_cancelled
    sink.items.clear()
    del held, sink
    source.subscriber = None
    gc.collect()
    assert [reference() for reference in watched] == [None, None]


@pytest.mark.parametrize("name", [name for name in STAGES if name != "checkpoint"])
def test_a_subscriber_that_raises_is_cancelled(name, caplog):
    class Raising(Sink):
        def on_next(self, item):
            raise OSError("no")

    source = Source()
    STAGES[name]()(source).subscribe(Raising(first=1))
    source.send(1)
    assert source.is_cancelled
    assert "on_next raised" in caplog.text


@pytest.mark.parametrize("name", [name for name in STAGES if name != "checkpoint"])
def test_request_of_nothing_is_an_error(name):
    source, sink = joined(STAGES[name]())
    sink.request(0)
    assert "3.9" in str(sink.ends[0])
    assert source.is_cancelled


@pytest.mark.parametrize("name", [name for name in STAGES if name != "checkpoint"])
def test_a_second_upstream_is_cancelled(name):
    source, _ = joined(STAGES[name]())
    second = Source()
    source.subscriber.on_subscribe(second)
    assert second.is_cancelled
    assert not source.is_cancelled


def test_signals_are_serial_with_many_threads():
    """Two threads signal at random: nothing is lost or reordered, and never two at once."""

    class Checked(Sink):
        inside = 0

        def on_next(self, item):
            self.inside += 1
            assert self.inside == 1
            super().on_next(item)
            self.inside -= 1

    source, sink = Source(), Checked()
    lock = threading.Lock()  # ``demand`` is written by both threads
    count = 3000

    def add(n):
        with lock:
            source.demand += n

    source.request = add
    stages.pipe(source, stages.buffer(8), stages.buffer(3)).subscribe(sink)

    def send_locked():
        sent = 0
        while sent < count:
            with lock:
                is_wanted = source.demand > 0
                source.demand -= is_wanted
            if is_wanted:
                source.subscriber.on_next(sent)
                sent += 1

    thread = threading.Thread(target=send_locked)
    thread.start()
    while len(sink.items) < count:
        sink.request(7)
    thread.join(10)
    assert sink.items == list(range(count))


@pytest.mark.parametrize(
    "make",
    [
        lambda: stages.from_iterable([1]),
        lambda: stages.pipe(stages.from_iterable([1]), stages.buffer(2)),
        lambda: stages.pipe(stages.from_iterable([1]), stages.checkpoint("here")),
        stages.merge_hub,
        stages.broadcast_hub,
        stages.partition_hub,
        lambda: stream.source("never opened"),
        lambda: stream.processor(str),
        TestPublisher,
    ],
)
def test_what_is_no_subscriber_is_refused_in_the_call(make):
    for refused, text in (
        (None, "§1.9"),
        (5, r"subscribe\(5\): not a subscriber, it has no on_subscribe, .*abc\.Subscriber"),
        (Sink, r"a class; give an object: Sink\(\)"),
        (stages.merge_hub(), r"for a merge_hub: \.subscribe\(hub\.sink\(\)\)"),
        (rx_observer(), "it has no on_subscribe, on_complete;"),
    ):
        with pytest.raises(TypeError, match=text):
            make().subscribe(refused)


class Wrong(abc.Publisher):
    """Calls ``on_subscribe`` with what is no subscription."""

    def subscribe(self, subscriber):
        subscriber.on_subscribe(5)


@pytest.mark.parametrize(
    "use",
    [
        lambda: stages.pipe(Wrong(), stages.buffer(2)).subscribe(Sink()),
        lambda: Wrong().subscribe(stages.merge_hub().sink()),
        lambda: Wrong().subscribe(stages.broadcast_hub()),
        lambda: Wrong().subscribe(stages.partition_hub()),
        lambda: stages.for_each(Wrong(), print),
    ],
)
def test_what_is_no_subscription_is_refused_in_the_call(use):
    with pytest.raises(TypeError, match=r"on_subscribe\(5\): not a subscription"):
        use()


def rx_observer():
    """An object that has two of the four signals, under their names."""
    return SimpleNamespace(on_next=print, on_error=print, on_completed=print)


@pytest.mark.parametrize("n", [0, -3])
def test_a_request_that_is_refused_is_named_as_it_came(n):
    sink = Sink()
    stages.from_iterable([1]).subscribe(sink)
    sink.request(n)
    assert f"request({n})" in str(sink.ends[0])
    assert sink.items == []
