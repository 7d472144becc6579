"""observe_on_bounded, limit_rate: bounds, order, ends, and where the two threads are one."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("reactivex")
import reactivex
from reactivex import operators as ops
from reactivex.scheduler import (
    CurrentThreadScheduler,
    EventLoopScheduler,
    ImmediateScheduler,
    NewThreadScheduler,
    ThreadPoolScheduler,
)
from reactivex.scheduler.eventloop import AsyncIOScheduler, AsyncIOThreadSafeScheduler
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from rstream import rx, stages
from rstream.errors import ConfigError, SlowConsumer
from tests.support import until

from .sources import Collector, Items, ThreadSource


@pytest.fixture
def loop_scheduler():
    scheduler = EventLoopScheduler()
    yield scheduler
    scheduler.dispose()


def memory_through(operator, count):
    """Most items alive at once, of which 16 may wait."""
    items, taken = Items(), Collector(keep=lambda item: item.number)
    source = ThreadSource(items.make(number) for number in range(count))
    source.observable.pipe(operator).subscribe(taken)
    assert taken.wait().items == list(range(count))
    assert taken.ends == [None]
    return items.alive_most


def test_the_complaint_unbounded_observe_on(loop_scheduler):
    """RxPY keeps every item that a slow observer has not taken; ours 16, and one in each hand."""
    assert memory_through(rx.observe_on_bounded(loop_scheduler, 16), 100_000) <= 16 + 4


@pytest.mark.parametrize(
    "make",
    [
        lambda scheduler: rx.limit_rate(16, 4, scheduler=scheduler),
        lambda scheduler: rx.on_backpressure_buffer(16, scheduler=scheduler),
        lambda _: rx.on_backpressure_buffer(16),
    ],
    ids=["limit_rate", "on_backpressure_buffer", "own thread"],
)
def test_memory_stays_flat(loop_scheduler, make):
    assert memory_through(make(loop_scheduler), 20_000) <= 16 + 4


@pytest.mark.parametrize("error", [None, ValueError("the end")])
def test_the_end_comes_behind_the_items(loop_scheduler, error):
    taken = Collector(is_slow=True)
    source = ThreadSource(range(10), error)
    source.observable.pipe(rx.observe_on_bounded(loop_scheduler, 3)).subscribe(taken)
    assert taken.is_in.wait(20)
    until(lambda: source.emitted == 5)  # one in the observer, three that wait, one in the source
    time.sleep(0.02)
    assert source.emitted == 5
    taken.gate.set()
    assert taken.wait().items == list(range(10))
    assert taken.ends == [error]
    assert taken.threads == {loop_scheduler._thread}


def test_limit_rate_lets_the_source_go_on_at_the_lower_mark(loop_scheduler):
    steps, is_in = threading.Semaphore(0), threading.Event()
    seen = []

    def step(item):
        is_in.set()
        steps.acquire(timeout=20)
        seen.append(item)

    def numbers():
        yield 0
        assert is_in.wait(20)
        yield from range(1, 100)

    source = ThreadSource(numbers())
    subscription = source.observable.pipe(rx.limit_rate(8, 2, scheduler=loop_scheduler)).subscribe(
        step
    )
    until(lambda: source.emitted == 10)  # one in the observer, eight that wait, one in the source
    for taken in range(1, 6):
        steps.release()
        until(lambda taken=taken: len(seen) == taken)
        time.sleep(0.005)
        assert source.emitted == 10, "it went on above the lower mark"
    steps.release()  # two are left now
    until(lambda: source.emitted == 16)
    subscription.dispose()
    steps.release(100)


SCHEDULERS = {
    "new thread": NewThreadScheduler,
    "pool": lambda: ThreadPoolScheduler(2),
    "pool of one": lambda: ThreadPoolScheduler(1),
    "immediate": ImmediateScheduler,
    "current thread": CurrentThreadScheduler,
}


@pytest.mark.parametrize("kind", SCHEDULERS)
def test_every_scheduler_delivers_all_in_order(kind):
    scheduler, taken = SCHEDULERS[kind](), Collector()
    source = ThreadSource(range(1000))
    source.observable.pipe(rx.observe_on_bounded(scheduler, 4)).subscribe(taken)
    assert taken.wait().items == list(range(1000))
    if isinstance(scheduler, ThreadPoolScheduler):
        scheduler.executor.shutdown()


@pytest.mark.parametrize("make", [CurrentThreadScheduler, ImmediateScheduler])
def test_a_source_in_the_trampoline_does_not_wait_for_itself(make):
    taken = Collector()
    reactivex.range(100).pipe(rx.observe_on_bounded(make(), 4)).subscribe(taken)
    assert taken.items == list(range(100))
    assert taken.ends == [None]


def test_a_source_in_the_thread_of_the_scheduler_does_not_wait_for_itself(loop_scheduler):
    taken = Collector()
    reactivex.from_iterable(range(100), scheduler=loop_scheduler).pipe(
        rx.observe_on_bounded(loop_scheduler, 4)
    ).subscribe(taken)
    assert taken.wait().items == list(range(100))
    assert taken.threads == {loop_scheduler._thread}


@pytest.mark.parametrize("make", [AsyncIOScheduler, AsyncIOThreadSafeScheduler])
def test_a_source_on_the_loop_of_the_scheduler_does_not_wait_for_itself(make):
    taken = Collector()

    async def main():
        scheduler = make(asyncio.get_running_loop())
        reactivex.range(100).pipe(rx.observe_on_bounded(scheduler, 4)).subscribe(taken)
        while not taken.done.is_set():
            await asyncio.sleep(0.001)

    asyncio.run(main())
    assert taken.items == list(range(100))


def test_in_virtual_time_items_come_when_the_clock_runs():
    scheduler, taken = TestScheduler(), Collector()
    subject = Subject()
    subject.pipe(rx.observe_on_bounded(scheduler, 4)).subscribe(taken)
    for number in range(6):
        subject.on_next(number)
    assert taken.items == [0, 1]  # there was no room, and the clock stands
    scheduler.start()
    assert taken.items == list(range(6))
    subject.on_completed()
    scheduler.start()
    assert taken.ends == [None]


def test_an_observer_that_feeds_its_own_full_source_gets_an_error_and_does_not_hang(
    loop_scheduler,
):
    subject, errors, done = Subject(), [], threading.Event()

    def feed(number):
        subject.on_next(number + 1)
        subject.on_next(number + 1)

    def on_error(error):
        errors.append(error)
        done.set()

    subject.pipe(rx.observe_on_bounded(loop_scheduler, 4)).subscribe(feed, on_error)
    subject.on_next(0)
    assert done.wait(20)
    assert isinstance(errors[0], SlowConsumer)
    assert "in the thread that should take them" in str(errors[0])


@pytest.mark.parametrize("capacity", [1, 1000])
def test_the_complaint_a_consumers_exception_thrown_into_the_producer(loop_scheduler, capacity):
    """The source is disposed, the observer gets the error, and the emitting thread gets nothing."""
    errors, done = [], threading.Event()

    def fail(item):
        raise ZeroDivisionError(item)

    def on_error(error):
        errors.append(error)
        done.set()

    source = ThreadSource(range(1_000_000))
    source.observable.pipe(rx.observe_on_bounded(loop_scheduler, capacity)).subscribe(
        fail, on_error
    )
    assert done.wait(20)
    assert source.is_done.wait(20)
    assert source.is_disposed.is_set()
    assert [type(error) for error in errors] == [ZeroDivisionError]
    assert source.raised == []
    # The scheduler still serves others.
    ran = threading.Event()
    loop_scheduler.schedule(lambda *_: ran.set())
    assert ran.wait(20)


def test_dispose_lets_a_source_that_waits_go_on(loop_scheduler):
    taken = Collector(is_slow=True)
    source = ThreadSource(range(1000))
    subscription = source.observable.pipe(rx.observe_on_bounded(loop_scheduler, 2)).subscribe(taken)
    until(lambda: source.emitted == 4)
    subscription.dispose()
    assert source.is_done.wait(20)
    assert source.emitted == 4
    taken.gate.set()
    ran = threading.Event()
    loop_scheduler.schedule(lambda *_: ran.set())
    assert ran.wait(20)
    assert (taken.items, taken.ends) == ([0], [])


def test_take_leaves_the_source(loop_scheduler):
    taken = Collector()
    source = ThreadSource(range(1000))
    source.observable.pipe(rx.observe_on_bounded(loop_scheduler, 2), ops.take(3)).subscribe(taken)
    assert taken.wait().items == [0, 1, 2]
    assert source.is_done.wait(20)
    assert source.emitted < 1000


def test_a_scheduler_that_was_shut_down_is_an_error():
    scheduler = EventLoopScheduler()
    scheduler.dispose()
    taken = Collector()
    source = ThreadSource(range(10))
    source.observable.pipe(rx.observe_on_bounded(scheduler, 2)).subscribe(taken)
    assert taken.wait().items == []
    assert taken.ends[0] is not None
    assert source.raised == []


def test_a_scheduler_that_never_runs_is_told(monkeypatch, caplog):
    monkeypatch.setattr("rstream.rx._queue.NOTICE_AFTER_S", 0.02)
    pool = ThreadPoolScheduler(1)
    release = threading.Event()
    pool.executor.submit(release.wait)
    taken = Collector()
    source = ThreadSource(range(10))
    with caplog.at_level(logging.WARNING, "rstream"):
        source.observable.pipe(rx.observe_on_bounded(pool, 2)).subscribe(taken)
        until(lambda: "has it a free thread" in caplog.text)
    release.set()
    assert taken.wait().items == list(range(10))
    pool.executor.shutdown()


AT_EXIT = """
import sys, threading, time
import reactivex
from reactivex.scheduler import EventLoopScheduler, NewThreadScheduler
from reactivex import operators as ops
from rstream import rx

def show(item):
    time.sleep(0.02)
    print(item, flush=True)

crossing = {
    "loop": lambda: rx.observe_on_bounded(EventLoopScheduler(), 9),
    "new thread": lambda: rx.observe_on_bounded(NewThreadScheduler(), 9),
    "own thread": lambda: rx.on_backpressure_buffer(9),
}[sys.argv[1]]()
reactivex.range(9).pipe(crossing).subscribe(show, on_completed=lambda: print("done", flush=True))
"""


@pytest.mark.parametrize("kind", ["loop", "new thread", "own thread"])
def test_what_waits_when_the_program_ends_is_delivered(kind):
    """The threads of RxPY's schedulers are daemons, which would end with the program."""
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT, kind],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [*map(str, range(9)), "done"]


def test_the_program_does_not_wait_for_a_scheduler_that_has_stopped(
    monkeypatch, caplog, own_threads
):
    monkeypatch.setattr("rstream.rx._drain.NOTICE_AFTER_S", 0.02)
    scheduler, taken = EventLoopScheduler(), Collector(is_slow=True)
    scheduler.schedule(lambda *_: (taken.is_in.set(), taken.gate.wait(20)))
    assert taken.is_in.wait(20)
    with caplog.at_level(logging.WARNING, "rstream"):
        reactivex.range(3).pipe(rx.observe_on_bounded(scheduler, 9)).subscribe(taken)
        scheduler.dispose()
        until(lambda: "3 items wait, and nobody takes them" in caplog.text)
    taken.gate.set()
    until(lambda: not any(t.name == "rstream-rx-keep-alive" for t in own_threads()))


def test_an_own_thread_ends_when_it_is_idle_and_begins_again(monkeypatch, own_threads):
    monkeypatch.setattr("rstream.rx._schedulers.IDLE_S", 0.02)
    subject, taken = Subject(), Collector()
    subject.pipe(rx.limit_rate(4)).subscribe(taken)

    for number in range(3):
        subject.on_next(number)
        until(lambda number=number: len(taken.items) == number + 1)
        until(lambda: not own_threads())
    subject.on_completed()
    assert taken.wait().items == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rx.observe_on_bounded(ImmediateScheduler(), 0), "capacity=0"),
        (lambda: rx.observe_on_bounded(ImmediateScheduler(), 2.5), "capacity=2.5"),
        (lambda: rx.limit_rate(4, 4), "low=4"),
        (lambda: rx.limit_rate(4, -1), "low=-1"),
        (lambda: rx.on_backpressure_buffer(4, overflow="explode"), "overflow must be"),
        (lambda: rx.on_backpressure_latest(key=3), "key must be"),
    ],
)
def test_bad_arguments_are_refused_where_they_are_written(make, text):
    with pytest.raises(ConfigError, match=text):
        make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rx.observe_on_bounded(None, 4), "scheduler=None: must be a scheduler"),
        (lambda: rx.observe_on_bounded(ImmediateScheduler, 4), "must be a scheduler of RxPY"),
        (lambda: rx.limit_rate(4, scheduler="pool"), "scheduler='pool': must be a scheduler"),
        (lambda: rx.flat_map_bounded(3, 3), "flat_map_bounded: mapper=3: must be a function"),
        (lambda: rx.from_publisher(range(3)), r"range\(0, 3\)\): not a publisher"),
        (lambda: stages.pipe(range(3), stages.buffer(2)), r"range\(0, 3\)\): not a publisher"),
        (lambda: stages.pipe(stages.from_iterable([1]), 3), "pipe: step 1=3: must be a function"),
        (
            lambda: rx.from_publisher(reactivex.of(1)),
            r"an Observable of RxPY .*to_publisher\(256\)",
        ),
        (lambda: stages.for_each(reactivex.of(1), print), "for_each: an Observable of RxPY"),
        (lambda: stages.for_each(5, print), r"for_each\(5\): not a publisher"),
        (lambda: stages.for_each(stages.from_iterable([1]), 5), "for_each: function=5"),
        (lambda: rx.tee_stream(5.5), r"tee_stream\(5.5\): must be a stream's name"),
        (lambda: rx.from_reader("x"), r"from_reader\('x'\): must be an open reader"),
        (lambda: rx.from_stream("x", scheduler=5), "from_stream: scheduler=5: must be a scheduler"),
    ],
)
def test_what_is_of_another_kind_is_refused_where_it_is_written(make, text):
    with pytest.raises(TypeError, match=text):
        make()
