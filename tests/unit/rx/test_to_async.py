"""to_async_iterable under asyncio and trio: all items, the end, cancellation, back-pressure."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import aclosing

import pytest

pytest.importorskip("reactivex")
pytest.importorskip("anyio")
import anyio
import anyio.lowlevel
import reactivex
from reactivex import operators as ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.subject import Subject

from rstream import rx
from rstream.errors import ConcurrentUseError, ConfigError, SlowConsumer
from tests.support import until

from .sources import Items, ThreadSource


@pytest.fixture(params=["asyncio", "trio"])
def run(request):
    """Runs a coroutine function under the event loop."""
    pytest.importorskip(request.param)

    def start(main):
        async def limited():
            with anyio.fail_after(30):
                return await main()

        return anyio.run(limited, backend=request.param)

    return start


def test_the_complaint_no_async_iteration_of_an_observable(run):
    source = ThreadSource(range(1000))

    async def main():
        return [item async for item in source.observable.pipe(rx.to_async_iterable(16))]

    assert run(main) == list(range(1000))


def test_memory_stays_flat(run):
    items = Items()
    source = ThreadSource(items.make(number) for number in range(20_000))

    async def main():
        count = 0
        async for item in source.observable.pipe(rx.to_async_iterable(16)):
            assert item.number == count
            count += 1
            del item
        return count

    assert run(main) == 20_000
    assert items.alive_most <= 16 + 4


@pytest.mark.parametrize("in_loop", [False, True])
def test_a_source_that_emits_inside_subscribe(run, in_loop):
    async def main():
        observable = reactivex.range(10)
        return [item async for item in observable.pipe(rx.to_async_iterable(10, in_loop=in_loop))]

    assert run(main) == list(range(10))


def test_a_full_queue_in_the_thread_of_the_loop_is_an_error_and_no_hang(run):
    seen = []

    async def main():
        async for item in reactivex.range(11).pipe(rx.to_async_iterable(10, in_loop=True)):
            seen.append(item)  # noqa: PERF401

    with pytest.raises(SlowConsumer, match="would never end"):
        run(main)
    assert seen == list(range(10))


def test_an_observable_of_the_loop():
    async def main():
        scheduler = AsyncIOScheduler(asyncio.get_running_loop())
        ticks = reactivex.interval(0.001, scheduler=scheduler).pipe(ops.take(5))
        return [item async for item in ticks.pipe(rx.to_async_iterable(in_loop=True))]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_an_error_is_raised_behind_the_items_and_once(run):
    source = ThreadSource(range(3), ValueError("the source failed"))
    seen = []

    async def main():
        items = aiter(source.observable.pipe(rx.to_async_iterable()))
        with pytest.raises(ValueError, match="the source failed"):
            async for item in items:
                seen.append(item)  # noqa: PERF401
        assert [item async for item in items] == []

    run(main)
    assert seen == [0, 1, 2]


def test_a_hot_source_loses_nothing_behind_aiter(run):
    subject = Subject()

    async def main():
        items = aiter(subject.pipe(rx.to_async_iterable()))
        for number in range(5):
            subject.on_next(number)
        subject.on_completed()
        return [item async for item in items]

    assert run(main) == list(range(5))


def test_a_slow_loop_holds_the_source_and_not_the_event_loop(run):
    source = ThreadSource(range(100))

    async def main():
        turns = 0
        items = aiter(source.observable.pipe(rx.to_async_iterable(4)))
        assert await anext(items) == 0
        while source.emitted < 6:  # one taken, four that wait, one in the source
            await anyio.sleep(0.001)
            turns += 1
        await anyio.sleep(0.02)
        assert source.emitted == 6
        assert items.statistics()["waiting"] == 4
        await items.aclose()

    run(main)
    assert source.is_done.wait(20)


def test_leaving_the_iteration_disposes(run):
    source = ThreadSource(range(1_000_000))

    async def main():
        async for item in source.observable.pipe(rx.to_async_iterable()):
            if item == 3:
                break
        assert source.is_done.wait(20)

    run(main)
    assert source.emitted < 1_000_000
    again = ThreadSource(range(1_000_000))

    async def fail():
        async with aclosing(aiter(again.observable.pipe(rx.to_async_iterable()))) as items:
            async for _ in items:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(fail)
    assert again.is_done.wait(20)
    assert again.raised == []  # the consumer's exception stays with the consumer


def test_a_cancelled_wait_loses_no_item(run):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    pauses = threading.Event()

    def numbers():
        for number in range(2000):
            if number % 20 == 0:
                pauses.wait(0.0005)
            yield number

    source = ThreadSource(numbers())

    async def main():
        seen, cancelled = [], 0
        items = aiter(source.observable.pipe(rx.to_async_iterable(8)))
        while True:
            with anyio.move_on_after(chance.random() * 0.0006) as scope:
                async for item in items:
                    seen.append(item)  # noqa: PERF401
                break
            cancelled += scope.cancelled_caught
        return seen, cancelled

    seen, cancelled = run(main)
    assert seen == list(range(2000))
    assert cancelled > 3


def test_the_event_loop_has_its_turns_while_items_are_there(run):
    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        async with anyio.create_task_group() as group:
            group.start_soon(count)
            items = aiter(reactivex.range(1000).pipe(rx.to_async_iterable(1000)))
            until(lambda: items.statistics()["waiting"] == 1000)
            async for _ in items:
                pass
            group.cancel_scope.cancel()
        return turns

    assert run(main) > 10


def test_one_wake_up_serves_all_items_that_came_meanwhile():
    subject = Subject()

    async def main():
        loop = asyncio.get_running_loop()
        woken = []
        loop_call = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *args: (woken.append(1), loop_call(*args))
        items = aiter(subject.pipe(rx.to_async_iterable()))
        first = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)
        for number in range(50):
            subject.on_next(number)
        subject.on_completed()
        assert await first == 0
        count = len(woken)
        assert [item async for item in items] == list(range(1, 50))
        return count

    assert asyncio.run(main()) == 1


def test_two_tasks_in_one_iteration_are_refused(run):
    subject = Subject()

    async def main():
        items = aiter(subject.pipe(rx.to_async_iterable()))
        got = []

        async def first():
            got.append(await anext(items))

        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await anyio.sleep(0.001)
            with pytest.raises(ConcurrentUseError):
                await anext(items)
            subject.on_next(1)
        return got

    assert run(main) == [1]


def test_without_an_event_loop_it_is_refused_and_no_capacity_too():
    with pytest.raises(RuntimeError):
        aiter(reactivex.range(3).pipe(rx.to_async_iterable()))
    with pytest.raises(ConfigError):
        rx.to_async_iterable(0)
