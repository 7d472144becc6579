"""Tasks that read by rstream.aio.subscriber are cancelled, time out, close and meet each other.

No element is lost or given twice, whatever is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

import anyio
import anyio.lowlevel
import pytest

from rstream import aio, policy, stream
from rstream._session import _links
from rstream.errors import (
    ConcurrentUseError,
    ConfigError,
    ReadTimeout,
    StreamEnded,
)
from rstream.stream._internal import BufferedReading
from tests.support import until_async

pytestmark = pytest.mark.anyio

LONG_S = 30.0


# ---- cancellation ----


@pytest.mark.parametrize("how", ["items", "batches", "get", "wait"])
async def test_no_cancellation_loses_or_repeats_an_element(driver_dir, name, how, rng):
    """Cancelled hundreds of times, at every await there is: all arrives once and in order."""
    received, cancelled = [], 0

    async def write():
        async with aio.publisher(name, int, dir=driver_dir) as pub:
            for number in range(4000):
                await pub.send(number)
                if rng.random() < 0.05:
                    await anyio.sleep(rng.random() * 0.0005)

    async def read():
        if how == "items":
            async for number in sub:
                received.append(number)
                if rng.random() < 0.02:
                    await anyio.lowlevel.checkpoint()
        elif how == "batches":
            async for numbers in sub.batches():
                received.extend(numbers)
        elif how == "get":
            received.append(await sub.get())
        else:
            received.extend(sub.poll(7))
            if not sub.is_ended:
                await sub.wait()

    async with (
        aio.subscriber(name, int, dir=driver_dir) as sub,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(write)
        with anyio.fail_after(LONG_S):
            while not sub.is_ended:
                with anyio.move_on_after(rng.random() * 0.001) as scope:
                    try:
                        await read()
                    except StreamEnded:
                        break
                cancelled += scope.cancelled_caught
    assert received == list(range(4000))
    assert cancelled > 20


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_cancellation_of_a_task_of_asyncio_loses_nothing(driver_dir, name, rng):
    """Cancelled in the very turn in which the message wakes it, too."""
    received = []
    with stream.publisher(name, int, dir=driver_dir, linger_s=0) as pub:
        async with aio.subscriber(name, int, dir=driver_dir) as sub:
            await until_async(lambda: pub.is_connected)
            for number in range(300):
                reading = asyncio.ensure_future(sub.get())
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
                pub.send(number)
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    received.append(await reading)
            while items := sub.poll(300):
                received += items
    assert received == list(range(300))


@pytest.mark.parametrize("how", ["items", "batches", "get", "wait"])
async def test_a_timeout_ends_any_wait(driver_dir, name, how):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        waits = {
            "items": lambda: anext(aiter(sub)),
            "batches": lambda: anext(sub.batches()),
            "get": sub.get,
            "wait": sub.wait,
        }
        began_s = time.monotonic()
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.05):
                await waits[how]()
        assert 0.05 <= time.monotonic() - began_s < 2.0


async def test_its_own_timeouts(driver_dir, name, publisher):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        await until_async(lambda: publisher.is_connected)
        assert sub.poll() == []  # the publisher's coming is something, too
        assert not await sub.wait(0.01)
        with pytest.raises(ReadTimeout, match=rf"^stream '{name}' on aeron:ipc\S*: no message wit"):
            await sub.get(timeout_s=0.01)
        with pytest.raises(ReadTimeout):
            await sub.get(timeout_s=0)
        publisher.send(1)
        assert await sub.wait(LONG_S)
        assert await sub.get(timeout_s=0) == 1
        for wrong in ("1", float("nan")):
            with pytest.raises(ConfigError, match="timeout_s"):
                await sub.get(timeout_s=wrong)
            with pytest.raises(ConfigError, match="timeout_s"):
                await sub.wait(wrong)


# ---- tasks ----


async def test_a_second_task_is_refused_while_one_reads(driver_dir, name, publisher):
    async with aio.subscriber(name, dir=driver_dir) as sub, anyio.create_task_group() as tasks:
        tasks.start_soon(sub.get)
        await until_async(lambda: sub._feed.is_reading)
        with pytest.raises(ConcurrentUseError, match="another task is reading"):
            sub.poll()
        for reading in (sub.get(), sub.wait(), anext(aiter(sub)), anext(sub.batches())):
            with pytest.raises(ConcurrentUseError):
                await reading
        publisher.send(1)  # the first one goes on undisturbed


@pytest.mark.parametrize("how", ["close", "abandon", "cancelled close"])
async def test_close_ends_the_loop_of_another_task(driver_dir, name, publisher, how):
    left = []

    async def read(sub):
        async for _ in sub:
            pass
        left.append(sub.is_closed)

    async with anyio.create_task_group() as tasks:
        sub = await aio.subscriber(name, dir=driver_dir)
        tasks.start_soon(read, sub)
        await until_async(lambda: sub._feed.sleeper.is_sleeping)
        if how == "abandon":
            sub.abandon()
        else:
            with anyio.CancelScope() as scope:
                if how == "cancelled close":
                    scope.cancel()
                await sub.close()
        await until_async(lambda: left)
        await sub.close()
    assert left == [True]
    assert sub._source.is_closed
    await until_async(lambda: not publisher.is_connected)


@pytest.mark.parametrize("how", ["close", "abandon"])
async def test_the_thread_of_a_queue_ends_beside_the_loop(driver_dir, name, monkeypatch, how):
    """It may be joining a lost driver again, which takes seconds."""
    real, begun_s = BufferedReading.close, []

    def slow(self):
        begun_s.append(time.monotonic())
        time.sleep(0.2)
        real(self)

    monkeypatch.setattr(BufferedReading, "close", slow)
    turned_s = []

    async def note_turns():
        while True:
            await anyio.sleep(0.001)
            turned_s.append(time.monotonic())

    async with anyio.create_task_group() as tasks:
        sub = await aio.subscriber(name, dir=driver_dir, on_slow=policy.Latest())
        tasks.start_soon(note_turns)
        await until_async(lambda: turned_s)
        if how == "close":
            await sub.close()
        else:
            sub.abandon()
            await until_async(lambda: sub._feed.has_left)
        assert sub._source.is_closed
        assert any(begun_s[0] < at_s < begun_s[0] + 0.2 for at_s in turned_s)
        tasks.cancel_scope.cancel()
    assert len(begun_s) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_opening_leaves_nothing(driver_dir, name, monkeypatch):
    real, begun = _links.acquire, []

    def slow(directory, client=None):
        begun.append(directory)
        time.sleep(0.1)
        return real(directory, client)

    monkeypatch.setattr(_links, "acquire", slow)

    async def open_it():
        async with aio.subscriber(name, dir=driver_dir):
            raise AssertionError("it was cancelled before")

    opening = asyncio.ensure_future(open_it())
    await until_async(lambda: begun)
    opening.cancel()
    await asyncio.wait([opening])
    await until_async(
        lambda: not [link for (_, path), link in _links._links.items() if path == driver_dir]
    )


async def test_one_that_was_never_closed_warns_with_its_place(driver_dir, name):
    sub = await aio.subscriber(name, dir=driver_dir)
    source = sub._source
    with pytest.warns(ResourceWarning, match=r"not closed; made at .*test_subscriber_tasks.py"):
        del sub
        source.__del__()
    source.close()
