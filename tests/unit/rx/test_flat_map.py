"""flat_map_bounded: how many run, who waits, and whose error ends it."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

pytest.importorskip("reactivex")
import reactivex
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from rstream import rx
from rstream.errors import ConfigError, SlowConsumer
from tests.support import until

from .sources import Collector, Items, ThreadSource


class Works:
    """A mapper whose Observables are driven by hand."""

    def __init__(self):
        self.subjects = {}
        self.disposed = []

    def __call__(self, item):
        self.subjects[item] = subject = Subject()
        return subject.pipe(ops.finally_action(lambda: self.disposed.append(item)))

    def is_running(self, item):
        return item in self.subjects and self.subjects[item].observers

    def finish(self, item):
        until(lambda: self.is_running(item))
        self.subjects[item].on_next(item * 10)
        self.subjects[item].on_completed()


def test_n_run_at_once_and_the_source_waits_for_a_place():
    works, source, taken = Works(), ThreadSource(range(5)), Collector()
    source.observable.pipe(rx.flat_map_bounded(works, 2)).subscribe(taken)
    until(lambda: source.emitted == 3)
    time.sleep(0.02)
    assert source.emitted == 3
    assert set(works.subjects) == {0, 1}, "the mapper was called before there was a place"
    works.finish(1)
    until(lambda: 2 in works.subjects)
    assert source.emitted == 4
    for item in (0, 2, 3, 4):
        works.finish(item)
    assert taken.wait().items == [10, 0, 20, 30, 40]
    assert taken.ends == [None]


def test_memory_stays_flat_with_work_in_other_threads():
    items, taken = Items(), Collector(keep=lambda number: number)
    source = ThreadSource(items.make(number) for number in range(20_000))
    with ThreadPoolExecutor(2) as pool:
        source.observable.pipe(
            rx.flat_map_bounded(lambda item: pool.submit(lambda: item.number), 8)
        ).subscribe(taken)
        assert sorted(taken.wait().items) == list(range(20_000))
    assert items.alive_most <= 8 + 4


@pytest.mark.parametrize("n", [1, 3])
def test_a_source_in_the_trampoline_does_not_wait_for_itself(n):
    """``range`` and ``of`` emit in RxPY's trampoline, which would begin nothing meanwhile."""
    taken = Collector()
    reactivex.range(50).pipe(
        rx.flat_map_bounded(lambda item: reactivex.of(item, item), n)
    ).subscribe(taken)
    assert sorted(taken.wait().items) == sorted([*range(50)] * 2)


def test_items_come_one_at_a_time():
    inside, most = [], []

    def observe(item):
        inside.append(item)
        most.append(len(inside))
        time.sleep(0.0001)
        inside.remove(item)

    done = threading.Event()
    reactivex.range(8).pipe(
        rx.flat_map_bounded(lambda n: ThreadSource(range(n * 50, n * 50 + 50)).observable, 4)
    ).subscribe(observe, on_completed=done.set)
    assert done.wait(20)
    assert len(most) == 400
    assert set(most) == {1}


@pytest.mark.parametrize("where", ["source", "mapper", "inner", "observer"])
def test_the_first_error_ends_all(where):
    works = Works()
    source = ThreadSource(iter([0, 1]), ZeroDivisionError() if where == "source" else None)
    errors, done = [], threading.Event()

    def mapper(item):
        if where == "mapper" and item == 1:
            raise ZeroDivisionError
        return works(item)

    def observe(item):
        raise ZeroDivisionError

    def on_error(error):
        errors.append(error)
        done.set()

    source.observable.pipe(rx.flat_map_bounded(mapper, 2)).subscribe(observe, on_error)
    until(lambda: 0 in works.subjects)
    if where == "inner":
        until(lambda: works.is_running(1))
        works.subjects[1].on_error(ZeroDivisionError())
    if where == "observer":
        until(lambda: works.is_running(0))
        works.subjects[0].on_next(1)  # does not raise here
    assert done.wait(20)
    assert [type(error) for error in errors] == [ZeroDivisionError]
    assert source.raised == []
    until(lambda: 0 in works.disposed)


def test_dispose_lets_a_source_that_waits_go_on():
    works, source, taken = Works(), ThreadSource(range(100)), Collector()
    subscription = source.observable.pipe(rx.flat_map_bounded(works, 2)).subscribe(taken)
    until(lambda: source.emitted == 3)
    subscription.dispose()
    assert source.is_done.wait(20)
    assert source.emitted == 3
    assert sorted(works.disposed) == [0, 1]
    assert (taken.items, taken.ends) == ([], [])


def test_it_completes_at_once_when_there_is_nothing():
    taken = Collector()
    reactivex.empty().pipe(rx.flat_map_bounded(Works(), 2)).subscribe(taken)
    assert taken.ends == [None]


def test_coroutines_run_in_a_loop_while_a_thread_reads():
    running, most = [0], [0]

    async def fetch(number):
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.001)
        running[0] -= 1
        return number

    async def main():
        loop = asyncio.get_running_loop()
        fetched = ThreadSource(range(50)).observable.pipe(
            rx.flat_map_bounded(lambda n: asyncio.run_coroutine_threadsafe(fetch(n), loop), 8)
        )
        return [number async for number in fetched.pipe(rx.to_async_iterable())]

    assert sorted(asyncio.run(asyncio.wait_for(main(), 30))) == list(range(50))
    assert most[0] == 8


def no_wait_in_a_loop(taken):
    async def main():
        subject = Subject()
        subject.pipe(rx.flat_map_bounded(lambda _: Future(), 2)).subscribe(taken)
        for number in range(3):
            subject.on_next(number)

    asyncio.run(main())


def no_wait_in_virtual_time(taken):
    scheduler = TestScheduler()
    reactivex.interval(1.0, scheduler=scheduler).pipe(
        rx.flat_map_bounded(lambda _: reactivex.never(), 2)
    ).subscribe(taken, scheduler=scheduler)
    scheduler.advance_to(10.0)


def no_wait_where_the_virtual_clock_is_not_told(taken):
    scheduler = TestScheduler()
    reactivex.interval(1.0, scheduler=scheduler).pipe(
        rx.flat_map_bounded(lambda _: reactivex.never(), 2)
    ).subscribe(taken)
    scheduler.advance_to(10.0)


def no_wait_in_the_observer(taken):
    subject = Subject()
    observable = subject.pipe(rx.flat_map_bounded(lambda n: Subject() if n else first, 1))
    first = Subject()
    observable.pipe(ops.do_action(subject.on_next)).subscribe(taken)
    subject.on_next(0)
    first.on_next(1)


@pytest.mark.parametrize(
    "emit",
    [
        no_wait_in_a_loop,
        no_wait_in_virtual_time,
        no_wait_where_the_virtual_clock_is_not_told,
        no_wait_in_the_observer,
    ],
)
def test_where_nobody_may_wait_one_more_is_an_error_and_no_hang(emit):
    taken = Collector()
    emit(taken)
    assert isinstance(taken.ends[0], SlowConsumer)
    assert "must not wait" in str(taken.ends[0])


def test_in_virtual_time_up_to_n_run():
    scheduler, taken = TestScheduler(), Collector()
    reactivex.interval(10.0, scheduler=scheduler).pipe(
        ops.take(3),
        rx.flat_map_bounded(lambda n: reactivex.timer(15.0).pipe(ops.map(lambda _: n)), 2),
    ).subscribe(taken, scheduler=scheduler)
    scheduler.advance_to(26.0)
    assert taken.items == [0]
    scheduler.advance_to(100.0)
    assert taken.items == [0, 1, 2]
    assert taken.ends == [None]


def test_what_is_no_observable_is_refused():
    async def fetch(number):
        return number

    taken = Collector()
    ThreadSource([1]).observable.pipe(rx.flat_map_bounded(fetch, 2)).subscribe(taken)
    with pytest.raises(TypeError, match="run_coroutine_threadsafe"):
        raise taken.wait().ends[0]
    with pytest.raises(ConfigError):
        rx.flat_map_bounded(fetch, 0)
