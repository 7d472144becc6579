"""Endpoints and handles in an event loop: no thread reads, and everything else is as on one."""

from __future__ import annotations

import asyncio
import time

import anyio
import pytest

import rstream
from rstream import policy
from rstream.aio._thread_call import ThreadCall
from rstream.errors import ConfigError, RemoteError
from rstream.ray import reader
from rstream.stream import Lost
from tests.support import until_async

pytestmark = pytest.mark.anyio

LONG_S = 30.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def end(driver_dir, name):
    made = reader(name, dir=driver_dir)
    yield made
    made.close()


async def test_it_reads_without_a_thread_until_finish(end, name, own_threads):
    """Writers come and go, and the loop waits for the next one; finish() ends it."""
    received = []

    async def read():
        async with end.aio_subscriber() as items:
            async for item in items:
                received.append(item)  # noqa: PERF401 - as users write it

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for number in range(3):
            async with end.handle.aio_publisher() as pub:
                await pub.send(number)
        await until_async(lambda: received == [0, 1, 2])
        assert not [thread for thread in own_threads() if name in thread.name]
        end.finish()
    assert end.source.is_closed


async def test_a_block_that_sent_all_before_a_bug_ends_with_it(end):
    async def read():
        async with end.aio_subscriber() as items:
            async for item in items:
                await anyio.sleep(0.01)
                if item == 5:
                    raise ValueError("a bug at five")

    async def write():
        with pytest.raises(RemoteError, match="ValueError: a bug at five"):
            async with end.handle.aio_publisher() as pub:
                await pub.send_many(range(8))

    with anyio.fail_after(LONG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            with pytest.raises(ValueError, match="a bug at five"):
                await read()


@pytest.mark.parametrize("backlog", [0, 500])
async def test_finish_reads_all_that_has_arrived(driver_dir, name, backlog):
    end = reader(name, dir=driver_dir, udp=False, on_slow=policy.Buffer(1000))
    async with end.aio_subscriber() as items, end.handle.aio_publisher(linger_s=0) as pub:
        await pub.send_many(range(backlog))
        end.finish()
        with anyio.fail_after(LONG_S):
            assert [item async for item in items] == list(range(backlog))


async def test_it_may_be_started_once(end):
    sub = end.aio_subscriber()
    for start in (end.aio_subscriber, lambda: end.start(print)):
        with pytest.raises(ConfigError, match="already started"):
            start()
    await sub.close()


async def test_an_exception_in_the_block_is_told_to_the_writers(end):
    pub = await end.handle.aio_publisher(linger_s=0)
    with pytest.raises(ZeroDivisionError):
        async with end.aio_subscriber() as items:
            await pub.send(0)
            async for item in items:
                1 / item
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        with anyio.fail_after(LONG_S):
            await pub.wait_consumed()
    await pub.close()
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        with anyio.fail_after(5):
            async with end.handle.aio_publisher() as later:
                await later.send(1)


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_close_and_cancellation_are_no_errors_for_the_writers(end, driver_dir, name, how):
    """What was not read goes to the next reader of the handle; the writer hears of no error."""
    received = []

    async def read(scope):
        with scope:
            async with end.aio_subscriber() as items:
                async for item in items:
                    received.append(item)  # noqa: PERF401 - as users write it

    async with (
        end.handle.aio_publisher(linger_s=0, connect_timeout_s=None) as pub,
        anyio.create_task_group() as tasks,
    ):
        scope = anyio.CancelScope()
        tasks.start_soon(read, scope)
        await pub.send(0)
        await until_async(lambda: received)
        if how == "close":
            end.close()
        else:
            scope.cancel()
        await until_async(lambda: not pub.is_connected)
        with anyio.move_on_after(0.1):
            await pub.send(1)  # waits for the next reader
    assert end.source.is_closed


async def test_the_death_of_a_writer_is_an_event(end):
    async with end.aio_subscriber() as items:
        async with end.handle.aio_publisher() as other:
            pub = await end.handle.aio_publisher()
            await pub.send(1)
            assert await items.get(timeout_s=LONG_S) == 1
            pub.abandon()
            await other.send(2)
            assert await items.get(timeout_s=LONG_S) == 2
            events = []
            await until_async(
                lambda: (
                    items.poll() == []
                    and (
                        events.extend(end.events()) or any(isinstance(one, Lost) for one in events)
                    )
                )
            )


async def test_the_handle_is_that_of_the_plain_publisher(end, driver_dir, make_driver_dir):
    """On the reader's host it is shared memory, elsewhere UDP; without an address it is refused."""
    async with end.aio_subscriber() as items:
        with rstream.Driver(dir=make_driver_dir()) as far:
            async with end.handle.aio_publisher(driver_dir=far.dir, linger_s=0) as pub:
                assert pub.channel.startswith("aeron:udp")
                await pub.send(1)
                assert await items.get(timeout_s=LONG_S) == 1
        async with end.handle.aio_publisher(linger_s=0) as pub:
            assert pub.channel.startswith("aeron:ipc")
            await pub.send(2)
            assert await items.get(timeout_s=LONG_S) == 2
    alone = reader("alone", dir=driver_dir, udp=False)
    try:
        with pytest.raises(ConfigError, match="no UDP address"):
            alone.handle.aio_publisher(driver_dir="/dev/shm/elsewhere")
    finally:
        alone.close()


@pytest.mark.parametrize("begins_s", [0.0, 0.3])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_exit_still_tells_the_writers(end, begins_s, monkeypatch):
    """Also when the thread that tells them has not begun by then."""
    run = ThreadCall._run

    def begin_later(call):
        time.sleep(begins_s)
        run(call)

    monkeypatch.setattr(ThreadCall, "_run", begin_later)
    pub = await end.handle.aio_publisher(linger_s=0)

    async def fail():
        async with end.aio_subscriber() as items:
            await items.get()
            raise ValueError("a bug")

    failing = asyncio.ensure_future(fail())
    await pub.send(0)
    await until_async(lambda: end._awaited.is_closed)
    failing.cancel()
    await asyncio.wait([failing])
    with pytest.raises(RemoteError, match="a bug"):
        with anyio.fail_after(LONG_S):
            await pub.wait_consumed()
    await pub.close()


async def test_async_with_and_async_for(driver_dir):
    async with reader(dir=driver_dir, udp=False, stays=False) as end:
        async with end.handle.aio_publisher(linger_s=0) as pub:
            await pub.send_many(range(10))
        with anyio.fail_after(LONG_S):
            assert [item async for item in end] == list(range(10))
    assert end.source.is_closed


async def test_async_with_tells_the_writers_an_exception(driver_dir):
    end = reader(dir=driver_dir, udp=False)
    pub = await end.handle.aio_publisher(linger_s=0)
    with pytest.raises(ZeroDivisionError):
        async with end:
            await pub.send(0)
            async for item in end:
                1 / item
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        with anyio.fail_after(LONG_S):
            await pub.wait_consumed()
    await pub.close()
