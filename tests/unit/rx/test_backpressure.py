"""on_backpressure_…: what is kept while the observer holds the first item, and what is told."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("reactivex")
from reactivex.scheduler import EventLoopScheduler

from rstream import rx
from rstream.errors import SlowConsumer
from tests.support import until

from .sources import Collector, ThreadSource


def gated():
    """Numbers 0 to 9; the source pauses behind 0 until the observer holds it."""
    is_held = threading.Event()

    def numbers():
        yield 0
        assert is_held.wait(20)
        yield from range(1, 10)

    return ThreadSource(numbers()), is_held


def run_slowly(operator):
    """The observer, after it held the first item until the source was through."""
    source, is_held = gated()
    taken = Collector(is_slow=True)
    source.observable.pipe(operator).subscribe(taken)
    assert taken.is_in.wait(20)
    is_held.set()
    assert source.is_done.wait(20), "the source waited"
    taken.gate.set()
    assert source.raised == []
    return taken.wait()


@pytest.mark.parametrize(
    ("make", "kept", "lost"),
    [
        (lambda tell: rx.on_backpressure_drop(on_lost=tell), [1], 8),
        (lambda tell: rx.on_backpressure_drop(3, on_lost=tell), [1, 2, 3], 6),
        (lambda tell: rx.on_backpressure_latest(on_lost=tell), [9], 8),
        (
            lambda tell: rx.on_backpressure_latest(key=lambda n: n % 2, on_lost=tell),
            [9, 8],
            7,
        ),
        (
            lambda tell: rx.on_backpressure_buffer(3, overflow="drop_oldest", on_lost=tell),
            [7, 8, 9],
            6,
        ),
        (
            lambda tell: rx.on_backpressure_buffer(3, overflow="drop_newest", on_lost=tell),
            [1, 2, 3],
            6,
        ),
        (lambda tell: rx.on_backpressure_buffer(9, on_lost=tell), list(range(1, 10)), 0),
    ],
)
def test_what_is_kept_and_how_many_are_lost(make, kept, lost):
    counts = []
    taken = run_slowly(make(counts.append))
    assert taken.items == [0, *kept]
    assert taken.ends == [None]
    assert (counts[-1] if counts else 0) == lost


@pytest.mark.parametrize(
    "operator",
    [rx.on_backpressure_error(2), rx.on_backpressure_buffer(2, overflow="fail")],
    ids=["error", "buffer"],
)
def test_a_failing_queue_delivers_what_waits_then_the_error(operator):
    taken = run_slowly(operator)
    assert taken.items == [0, 1, 2]
    assert isinstance(taken.ends[0], SlowConsumer)


def test_a_failing_queue_leaves_its_source():
    source, is_held = gated()
    taken = Collector(is_slow=True)
    source.observable.pipe(rx.on_backpressure_error()).subscribe(taken)
    assert taken.is_in.wait(20)
    is_held.set()
    assert source.is_disposed.wait(20)
    assert source.is_done.wait(20)
    assert source.emitted == 3
    taken.gate.set()
    taken.wait()


def test_a_blocking_buffer_holds_its_source():
    source, is_held = gated()
    taken = Collector(is_slow=True)
    source.observable.pipe(rx.on_backpressure_buffer(3)).subscribe(taken)
    assert taken.is_in.wait(20)
    is_held.set()
    until(lambda: source.emitted == 5)
    assert not source.is_done.wait(0.02)
    taken.gate.set()
    assert taken.wait().items == list(range(10))


@pytest.mark.parametrize("where", ["key", "on_lost"])
def test_a_function_of_the_user_that_raises_ends_it(where):
    def fail(_):
        raise ZeroDivisionError

    source = ThreadSource(range(1000))
    taken = Collector()
    operator = (
        rx.on_backpressure_latest(key=fail)
        if where == "key"
        else rx.on_backpressure_drop(on_lost=fail)
    )
    source.observable.pipe(operator).subscribe(taken)
    taken.wait()
    assert isinstance(taken.ends[0], ZeroDivisionError)
    assert source.is_done.wait(20)
    assert source.raised == []


def test_a_scheduler_of_the_users_own_delivers():
    scheduler, taken = EventLoopScheduler(), Collector()
    ThreadSource(range(10)).observable.pipe(
        rx.on_backpressure_buffer(2, scheduler=scheduler)
    ).subscribe(taken)
    assert taken.wait().items == list(range(10))
    assert taken.threads == {scheduler._thread}
    scheduler.dispose()
