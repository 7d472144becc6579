"""Shared work in event loops: one reader for each message, and no cancellation loses one."""

from __future__ import annotations

import gc
import time

import anyio
import pytest

from rstream import aio, work
from rstream.errors import (
    BackPressured,
    ClosedError,
    ConcurrentUseError,
    ConfigError,
    MessagesLost,
    NotConnected,
    ReadTimeout,
    StreamEnded,
)
from tests.support import until_async

pytestmark = pytest.mark.anyio

LONG_S = 20.0


async def take_all(name, driver_dir, taken, **options):
    async with aio.work_subscriber(name, dir=driver_dir, **options) as jobs:
        async for job in jobs:
            taken.append(job.item)
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("prefetch", [1, 16])
async def test_each_message_goes_to_one_reader_and_the_loops_end(driver_dir, name, prefetch):
    taken = [[], [], []]
    async with anyio.create_task_group() as tasks:
        for one in taken:
            tasks.start_soon(lambda one=one: take_all(name, driver_dir, one, prefetch=prefetch))
        async with aio.work_publisher(name, int, dir=driver_dir) as jobs:
            await until_async(lambda: jobs.readers == 3)
            assert await jobs.send_many(range(150)) == 150
    assert sorted(number for one in taken for number in one) == list(range(150))
    assert all(taken)
    assert jobs.statistics()["acknowledged"] == 150
    assert jobs.events() == []


async def test_many_tasks_send_and_an_async_iterable_does(driver_dir, name):
    taken = []

    async def numbers(first):
        for number in range(first, first + 50):
            yield number

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take_all, name, driver_dir, taken)
        async with aio.work_publisher(name, dir=driver_dir) as jobs:
            async with anyio.create_task_group() as senders:
                for first in (0, 50, 100):
                    senders.start_soon(jobs.send_many, numbers(first))
            assert await jobs.wait_acknowledged(timeout_s=LONG_S)
    assert sorted(taken) == list(range(150))


async def test_a_send_that_waits_blocks_no_other_task_and_sends_nothing_when_cancelled(
    driver_dir, name
):
    with work.subscriber(name, dir=driver_dir) as reader:
        async with aio.work_publisher(name, linger_s=0, dir=driver_dir) as jobs:
            assert await jobs.send("first") == 1
            turns, begun_s = 0, time.monotonic()
            with anyio.move_on_after(0.2) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(jobs.send, "never")
                    while True:
                        turns += 1
                        await anyio.sleep(0.005)
            assert scope.cancelled_caught
            assert turns > 10
            assert time.monotonic() - begun_s < 1.0
            with pytest.raises(BackPressured, match="1 readers have 1 messages"):
                await jobs.send("late", timeout_s=0.05)
            assert not jobs.offer("now")
            assert not await jobs.wait_acknowledged(timeout_s=0.05)
            assert reader.get(timeout_s=LONG_S).item == "first"
            assert reader._taking.poll() is None  # acknowledges the first one
            assert await jobs.send("second", timeout_s=LONG_S) == 2
            assert reader.get(timeout_s=LONG_S).item == "second"


async def test_a_cancelled_wait_for_a_job_has_taken_none(driver_dir, name):
    async with (
        aio.work_subscriber(name, dir=driver_dir) as reader,
        aio.work_publisher(name, dir=driver_dir) as jobs,
    ):
        with anyio.move_on_after(0.05):
            await reader.get()
        with pytest.raises(ReadTimeout):
            await reader.get(timeout_s=0.02)
        await jobs.send("one")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await reader.get()
        job = await reader.get(timeout_s=LONG_S)
        assert (job.item, job.delivery) == ("one", 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 0)
            with pytest.raises(ReadTimeout):
                await reader.get(timeout_s=0.01)  # acknowledges it
        assert await jobs.wait_acknowledged(timeout_s=LONG_S)


async def test_a_block_that_fails_leaves_its_job_to_another_reader(driver_dir, name):
    async with aio.work_publisher(name, dir=driver_dir) as jobs:
        with pytest.raises(ZeroDivisionError):
            async with aio.work_subscriber(name, dir=driver_dir) as reader:
                await jobs.send("hard")
                async for _job in reader:
                    raise ZeroDivisionError
        async with aio.work_subscriber(name, dir=driver_dir) as reader:
            job = await reader.get(timeout_s=LONG_S)
            assert (job.item, job.delivery) == ("hard", 2)
    assert jobs.events() == []
    assert reader.is_closed


async def test_explicit_acknowledgements(driver_dir, name):
    async with (
        aio.work_subscriber(name, prefetch=2, acknowledge="explicit", dir=driver_dir) as reader,
        aio.work_publisher(name, dir=driver_dir) as jobs,
    ):
        await jobs.send_many("ab")
        first, second = [await reader.get(timeout_s=LONG_S) for _ in range(2)]
        second.ack()
        first.give_back()
        again = await reader.get(timeout_s=LONG_S)
        assert (again.item, again.delivery) == ("a", 2)
        again.ack()
        assert await jobs.wait_acknowledged(timeout_s=LONG_S)


async def test_closing_waits_for_acknowledgements_and_tells_what_is_left(driver_dir, name):
    async with aio.work_subscriber(name, dir=driver_dir) as reader:
        jobs = await aio.work_publisher(name, dir=driver_dir)
        await jobs.send("slow")
        job = await reader.get(timeout_s=LONG_S)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(jobs.close)
            await anyio.sleep(0.05)
            assert jobs.statistics()["unacknowledged"] == 1
            job.ack()
        await jobs.close()
        with pytest.raises(ClosedError):
            await jobs.send("more")
        with pytest.raises(StreamEnded):
            await reader.get(timeout_s=LONG_S)
    async with aio.work_subscriber(name, dir=driver_dir) as reader:
        jobs = await aio.work_publisher(name, dir=driver_dir)
        await jobs.send("lost")
        begun_s = time.monotonic()
        with anyio.move_on_after(0.05):
            await jobs.close()  # 60 s
        assert time.monotonic() - begun_s < 5
        (event,) = jobs.events()
        assert "closed before it was acknowledged" in event.reason
    with pytest.raises(ClosedError):
        await reader.get()


async def test_a_block_does_not_end_as_if_all_were_done(driver_dir, name):
    async with aio.work_subscriber(name, dir=driver_dir):
        with pytest.raises(MessagesLost, match="1 of 1 messages were not acknowledged"):
            async with aio.work_publisher(name, linger_s=0.05, dir=driver_dir) as jobs:
                await jobs.send("slow")
        (event,) = jobs.events()
        assert event.item == "slow"


async def test_one_task_at_a_time_takes_jobs(driver_dir, name):
    async with aio.work_subscriber(name, dir=driver_dir) as reader:
        async with anyio.create_task_group() as tasks:

            async def wait():
                with pytest.raises(ReadTimeout):
                    await reader.get(timeout_s=0.2)

            tasks.start_soon(wait)
            await anyio.sleep(0.05)
            with pytest.raises(ConcurrentUseError):
                await reader.get(timeout_s=0.2)


async def test_without_a_reader_it_says_so(driver_dir, name):
    with pytest.raises(NotConnected, match=r"rstream\.work\.subscriber"):
        async with aio.work_publisher(name, connect_timeout_s=0.1, dir=driver_dir) as jobs:
            await jobs.send(1)


async def test_what_cannot_be_used_is_refused_at_once(driver_dir, name):
    with pytest.raises(ConfigError, match="prefetch=0"):
        aio.work_subscriber(name, prefetch=0)
    with pytest.raises(TypeError, match=r"work_publisher\(\) got .*: did you mean 'linger_s'"):
        aio.work_publisher(name, linger=1)
    with pytest.raises(AttributeError, match=r"`jobs = await rstream\.aio\.work_publisher\(\.\.\."):
        aio.work_publisher(name, dir=driver_dir).send(1)


async def test_an_end_that_is_not_closed_says_where_it_was_made(driver_dir, name):
    with pytest.warns(ResourceWarning, match=r"was not closed; made at .*test_work\.py"):
        jobs = await aio.work_publisher(name, dir=driver_dir)
        del jobs
        gc.collect()
    with pytest.warns(ResourceWarning, match=r"was not closed; made at .*test_work\.py"):
        reader = await aio.work_subscriber(name, dir=driver_dir)
        del reader
        gc.collect()
