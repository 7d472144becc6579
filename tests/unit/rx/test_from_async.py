"""from_async_iterable in asyncio, in trio, and where no event loop runs."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("reactivex")
pytest.importorskip("anyio")
import anyio
import anyio.lowlevel
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler

from rstream import rx
from rstream.errors import ClosedError, ConfigError
from tests.support import until

from .sources import Collector, Items


class Numbers:
    """An async generator that tells how far it is, and whether it was closed."""

    def __init__(self, count, error=None, make=int):
        self.made = 0
        self.is_closed = threading.Event()
        self.threads = set()
        self._count, self._error, self._make = count, error, make

    async def generate(self):
        try:
            for number in range(self._count):
                self.made += 1
                self.threads.add(threading.get_ident())
                if number % 10 == 0:
                    await anyio.lowlevel.checkpoint()
                yield self._make(number)
            if self._error is not None:
                raise self._error
        finally:
            self.is_closed.set()


@pytest.fixture(params=["asyncio", "trio", "no loop"])
def run(request):
    """Calls a function where an event loop runs, or none, and lets it go on until it is done."""
    if request.param == "trio":
        pytest.importorskip("trio")

    def start(function, done):
        if request.param == "no loop":
            function()
            assert done.wait(20)
            return

        async def main():
            function()
            with anyio.fail_after(20):
                while not done.is_set():
                    await anyio.sleep(0.001)

        anyio.run(main, backend=request.param)

    start.has_loop = request.param != "no loop"
    return start


@pytest.mark.parametrize("error", [None, ValueError("the end")])
@pytest.mark.parametrize("on_scheduler", [False, True])
def test_all_items_then_the_end(run, error, on_scheduler):
    scheduler = EventLoopScheduler() if on_scheduler else None
    numbers, taken = Numbers(1000, error), Collector()
    observable = rx.from_async_iterable(numbers.generate(), scheduler=scheduler, capacity=8)
    run(lambda: observable.subscribe(taken), taken.done)
    assert taken.items == list(range(1000))
    assert taken.ends == [error]
    assert numbers.is_closed.is_set()
    assert (threading.get_ident() in numbers.threads) is run.has_loop
    if scheduler:
        assert taken.threads == {scheduler._thread}
        scheduler.dispose()


def test_a_slow_observer_on_a_scheduler_holds_the_iterable_and_not_the_loop():
    scheduler, numbers, taken = EventLoopScheduler(), Numbers(100), Collector(is_slow=True)

    async def main():
        rx.from_async_iterable(numbers.generate(), scheduler=scheduler, capacity=4).subscribe(taken)
        while numbers.made < 6:  # one in the observer, four that wait, one in the task
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)  # the loop is free
        assert numbers.made == 6
        taken.gate.set()
        while not taken.done.is_set():
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 30))
    assert taken.items == list(range(100))
    scheduler.dispose()


def test_memory_stays_flat_through_a_scheduler():
    items, taken = Items(), Collector(keep=lambda item: item.number)
    scheduler, numbers = EventLoopScheduler(), Numbers(20_000, make=items.make)
    rx.from_async_iterable(numbers.generate(), scheduler=scheduler, capacity=16).subscribe(taken)
    assert taken.wait().items == list(range(20_000))
    assert items.alive_most <= 16 + 4
    scheduler.dispose()


@pytest.mark.parametrize("on_scheduler", [False, True])
def test_take_leaves_the_iterable_and_closes_it(run, on_scheduler):
    scheduler = EventLoopScheduler() if on_scheduler else None
    numbers, taken = Numbers(1_000_000), Collector()
    observable = rx.from_async_iterable(numbers.generate(), scheduler=scheduler, capacity=8)
    run(lambda: observable.pipe(ops.take(3)).subscribe(taken), numbers.is_closed)
    assert (taken.items, taken.ends) == ([0, 1, 2], [None])
    assert numbers.made < 100_000
    if scheduler:
        scheduler.dispose()


def test_dispose_from_another_thread_ends_a_wait(run):
    is_closed, has_begun = threading.Event(), threading.Event()

    async def wait_for_ever():
        try:
            has_begun.set()
            await anyio.sleep_forever()
            yield 1
        finally:
            is_closed.set()

    taken = Collector()

    def begin():
        subscription = rx.from_async_iterable(wait_for_ever()).subscribe(taken)
        threading.Thread(target=lambda: (has_begun.wait(20), subscription.dispose())).start()

    run(begin, is_closed)
    assert (taken.items, taken.ends) == ([], [])


def test_an_observer_that_raises_closes_the_iterable_and_gets_the_error(run):
    numbers, errors = Numbers(1_000_000), []

    def fail(number):
        raise ZeroDivisionError

    run(
        lambda: rx.from_async_iterable(numbers.generate()).subscribe(fail, errors.append),
        numbers.is_closed,
    )
    until(lambda: errors)
    assert isinstance(errors[0], ZeroDivisionError)
    assert numbers.made == 1


def test_a_task_cancelled_from_elsewhere_is_an_error():
    taken = Collector()

    async def wait_for_ever():
        await asyncio.sleep(3600)
        yield 1

    async def main():
        rx.from_async_iterable(wait_for_ever()).subscribe(taken)
        await asyncio.sleep(0.001)

    asyncio.run(main())  # cancels what is left
    assert isinstance(taken.ends[0], ClosedError)


def test_from_an_async_iterable_to_the_next():
    numbers, seen = Numbers(500), []

    async def main():
        observable = rx.from_async_iterable(numbers.generate()).pipe(ops.map(lambda n: n + 1))
        seen.extend([item async for item in observable.pipe(rx.to_async_iterable(4))])

    asyncio.run(asyncio.wait_for(main(), 30))
    assert seen == list(range(1, 501))


def test_no_capacity_is_refused():
    with pytest.raises(ConfigError):
        rx.from_async_iterable(Numbers(1).generate(), capacity=0)
