"""Requests in an event loop: many at once, cancellation that reaches the server, streams."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import suppress

import anyio
import anyio.lowlevel
import pytest

import rstream
from rstream import aio, service
from rstream.errors import (
    BackPressured,
    ClosedError,
    DriverNotFound,
    NoServer,
    RemoteError,
    RequestTimeout,
    ServerLost,
)
from tests.support import until, until_async

pytestmark = pytest.mark.anyio


class Slow:
    """An ``async`` function that answers after some seconds, and notes who was cancelled."""

    def __init__(self):
        self.running = 0
        self.cancelled = []

    async def __call__(self, seconds):
        return await self.sleep(seconds)

    async def sleep(self, seconds):
        self.running += 1
        try:
            await anyio.sleep(seconds)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(seconds)
            raise
        finally:
            self.running -= 1
        return seconds


def counting(closed):
    async def numbers(most):
        try:
            for n in range(most):
                await anyio.lowlevel.checkpoint()
                closed.made = n + 1
                yield n
        finally:
            closed.set()

    return numbers


@pytest.fixture
async def closing():
    yield
    await aio.close_requesters()


async def serving(tasks, name, driver_dir, function, **options):
    served = rstream.serve(name, dir=driver_dir, **options)(function)
    tasks.start_soon(aio.serve, served)
    return served


async def test_a_loop_serves_and_asks(driver_dir, name, closing):
    async def double(n):
        await anyio.lowlevel.checkpoint()
        return 2 * n

    async with anyio.create_task_group() as tasks:
        await serving(tasks, name, driver_dir, double)
        assert await aio.request(name, 4, dir=driver_dir) == 8
        with pytest.raises(TypeError, match="unsupported operand"):
            await aio.request(name, None, dir=driver_dir)
        tasks.cancel_scope.cancel()


async def test_many_requests_are_worked_on_at_the_same_time(driver_dir, name):
    slow = Slow()
    got = {}

    async def ask(asks, n):
        got[n] = await asks.request(0.2 + n / 1e5)

    async with anyio.create_task_group() as server, aio.requester(name, dir=driver_dir) as asks:
        await serving(server, name, driver_dir, slow.sleep)
        with anyio.fail_after(15):
            async with anyio.create_task_group() as tasks:
                for n in range(100):
                    tasks.start_soon(ask, asks, n)
        assert got == {n: 0.2 + n / 1e5 for n in range(100)}
        server.cancel_scope.cancel()


async def test_a_cancelled_task_cancels_the_function(driver_dir, name):
    slow = Slow()
    async with anyio.create_task_group() as server, aio.requester(name, dir=driver_dir) as asks:
        served = await serving(server, name, driver_dir, slow.sleep)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: asks.request(60.0, timeout_s=None))
            tasks.start_soon(lambda: asks.request(61.0, timeout_s=None))
            await until_async(lambda: slow.running == 2)
            tasks.cancel_scope.cancel()
        await until_async(lambda: sorted(slow.cancelled) == [60.0, 61.0])
        assert asks.statistics()["outstanding"] == 0
        # Who led the reading was cancelled; requests after it are answered all the same.
        assert await asks.request(0.0) == 0.0
        assert served.statistics()["cancelled"] == 2
        server.cancel_scope.cancel()


async def test_the_task_that_reads_for_others_may_be_cancelled(driver_dir, name):
    slow = Slow()
    got = []

    async def ask(asks, seconds):
        got.append(await asks.request(seconds))

    async with anyio.create_task_group() as server, aio.requester(name, dir=driver_dir) as asks:
        await serving(server, name, driver_dir, slow.sleep)
        async with anyio.create_task_group() as tasks:
            leader = anyio.CancelScope()

            async def lead():
                with leader:
                    await asks.request(60.0)

            tasks.start_soon(lead)
            await until_async(lambda: slow.running == 1)
            tasks.start_soon(ask, asks, 0.1)
            await until_async(lambda: slow.running == 2)
            leader.cancel()
        assert got == [0.1]
        server.cancel_scope.cancel()


@pytest.mark.parametrize("end", ["cancelled", "late"])
async def test_a_task_that_was_to_read_next_may_end_too(driver_dir, name, end):
    """Of five requests one reads for all. It ends together with those that it wakes to go on."""
    slow, got = Slow(), []
    async with anyio.create_task_group() as tasks, aio.requester(name, dir=driver_dir) as asks:
        await serving(tasks, name, driver_dir, slow)

        async def ask(work_s, timeout_s):
            with suppress(RequestTimeout):
                got.append(await asks.request(work_s, timeout_s=timeout_s))

        async with anyio.create_task_group() as askers:
            async with anyio.create_task_group() as leavers:
                for _ in range(3):
                    leavers.start_soon(ask, 60, 60 if end == "cancelled" else 1)
                await until_async(lambda: slow.running == 3)
                askers.start_soon(ask, 0.4, 60)
                askers.start_soon(ask, 0.4, 60)
                if end == "cancelled":
                    await until_async(lambda: asks.statistics()["outstanding"] == 5)
                    leavers.cancel_scope.cancel()
            with anyio.fail_after(30):
                await until_async(lambda: got == [0.4, 0.4])
        tasks.cancel_scope.cancel()


async def test_a_timeout_cancels_the_function(driver_dir, name):
    slow = Slow()
    async with anyio.create_task_group() as server, aio.requester(name, dir=driver_dir) as asks:
        await serving(server, name, driver_dir, slow.sleep)
        assert await asks.request(0.0) == 0.0
        with pytest.raises(RequestTimeout):
            await asks.request(60.0, timeout_s=0.5)
        await until_async(lambda: slow.cancelled == [60.0])
        server.cancel_scope.cancel()


async def test_nobody_serves_and_too_many_ask(driver_dir, name):
    async with aio.requester(name, dir=driver_dir, outstanding=1) as asks:
        with pytest.raises(NoServer):
            await asks.request(1, timeout_s=0.05)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: asks.request(1, timeout_s=None))
            await until_async(lambda: asks.statistics()["outstanding"])
            with pytest.raises(BackPressured):
                await asks.request(2, timeout_s=0.05)
            tasks.cancel_scope.cancel()


async def test_a_closing_requester_ends_what_waits(driver_dir, name):
    slow = Slow()
    asks = aio.requester(name, dir=driver_dir)
    async with anyio.create_task_group() as server:
        await serving(server, name, driver_dir, slow.sleep)
        async with anyio.create_task_group() as tasks:

            async def ask():
                with pytest.raises(ClosedError):
                    await asks.request(60.0)

            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await until_async(lambda: slow.running == 2)
            await asks.close()
        await until_async(lambda: slow.cancelled == [60.0, 60.0])
        with pytest.raises(ClosedError):
            await asks.request(1)
        server.cancel_scope.cancel()


async def test_streams_with_demand(driver_dir, name, closing):
    closed = threading.Event()
    async with anyio.create_task_group() as server:
        served = await serving(server, name, driver_dir, counting(closed))
        got = [n async for n in aio.request_stream(name, 1000, dir=driver_dir)]
        assert got == list(range(1000))
        closed.clear()
        async with aio.request_stream(name, 10**9, prefetch=0, dir=driver_dir) as stream:
            stream.request(3)
            assert [await anext(stream) for _ in range(3)] == [0, 1, 2]
            await anyio.sleep(0.05)
            assert closed.made == 3
        await until_async(closed.is_set)
        closed.clear()
        async for n in aio.request_stream(name, 10**9, dir=driver_dir):
            if n == 5:
                break
        gc.collect()
        await until_async(closed.is_set)
        assert served.statistics()["outstanding"] == 0
        server.cancel_scope.cancel()


async def test_a_cancelled_wait_for_an_answer_closes_the_generator(driver_dir, name, closing):
    closed = threading.Event()

    async def stuck(_):
        try:
            yield 1
            await anyio.sleep(60)
        finally:
            closed.set()

    async with anyio.create_task_group() as server:
        await serving(server, name, driver_dir, stuck)
        stream = aio.request_stream(name, dir=driver_dir)
        assert await anext(stream) == 1
        with anyio.move_on_after(0.05):
            await anext(stream)
        await until_async(closed.is_set)
        server.cancel_scope.cancel()


async def test_large_messages_pass(driver_dir, name, closing):
    async def double(data):
        await anyio.lowlevel.checkpoint()
        return data + data

    async with anyio.create_task_group() as server:
        await serving(server, name, driver_dir, double)
        data = b"x" * 1_000_000
        assert await aio.request(name, data, dir=driver_dir) == data + data
        server.cancel_scope.cancel()


async def test_an_async_function_is_served_by_run_too(driver_dir, name, closing):
    async def double(n):
        await anyio.lowlevel.checkpoint()
        return 2 * n

    with rstream.serve(name, dir=driver_dir)(double):
        assert await aio.request(name, 4, dir=driver_dir) == 8
    with pytest.raises((NoServer, ServerLost)):
        await aio.request(name, 4, dir=driver_dir, timeout_s=0.2)


async def test_threads_and_loops_meet(driver_dir, name):
    """A server in a loop, and a caller in a thread."""
    answers = []

    def ask():
        with service.requester(name, dir=driver_dir) as asks:
            answers.extend(asks.request(n) for n in range(20))

    async with anyio.create_task_group() as server:
        await serving(server, name, driver_dir, lambda n: n + 1)
        await anyio.to_thread.run_sync(ask)
        server.cancel_scope.cancel()
    assert answers == list(range(1, 21))


def test_a_loop_that_has_ended_leaves_nothing_open(driver_dir, name):
    import asyncio

    from rstream._session import _links

    with rstream.serve(name, dir=driver_dir)(lambda n: n) as served:
        assert asyncio.run(aio.request(name, 1, dir=driver_dir)) == 1
        gc.collect()
        until(lambda: served.statistics()["callers"] == 0)
    # A link closes with its last user, which may be a thread that ends a moment later.
    until(lambda: gc.collect() >= 0 and not [key for key in _links._links if key[1] == driver_dir])


class Unusual(BaseException):
    """An error that ``except Exception`` does not see."""


async def cancelled_inside():
    """Meet a cancellation that is not that of the request."""
    try:
        waits = asyncio.get_running_loop().create_future()
    except RuntimeError:  # trio
        raise asyncio.CancelledError from None
    waits.cancel()
    await waits


async def fail_as(query):
    if query == "cancelled":
        await cancelled_inside()
    if query == "exit":
        raise SystemExit(4)
    if query == "driver":
        raise DriverNotFound("no driver in /elsewhere")
    if query == "own":
        raise Unusual("own")
    return query


TOLD = {
    "cancelled": "this request was cancelled at the server",
    "exit": "SystemExit: 4",
    "driver": "DriverNotFound: no driver in /elsewhere",
    "own": "Unusual: own",
}


@pytest.mark.parametrize("query", sorted(TOLD))
async def test_any_error_ends_its_request_and_not_the_service(driver_dir, name, query):
    async def numbers(first):
        yield "first"
        yield await fail_as(first)

    async with anyio.create_task_group() as server, aio.requester(name, dir=driver_dir) as asks:
        await serving(server, name, driver_dir, fail_as)
        await serving(server, f"{name}-stream", driver_dir, numbers)
        with pytest.raises(RemoteError, match=TOLD[query]):
            await asks.request(query, timeout_s=5)
        assert await asks.request("still here", timeout_s=5) == "still here"
        async with aio.requester(f"{name}-stream", dir=driver_dir) as asks_stream:
            async with asks_stream.request_stream(query, timeout_s=5) as answers:
                assert await anext(answers) == "first"
                with pytest.raises(RemoteError, match=TOLD[query]):
                    await anext(answers)
            async with asks_stream.request_stream("second", timeout_s=5) as answers:
                assert [answer async for answer in answers] == ["first", "second"]
        server.cancel_scope.cancel()


@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.003])
async def test_a_server_that_is_cancelled_while_it_opens_leaves_its_place(
    driver_dir, name, after_s
):
    served = rstream.serve(name, dir=driver_dir)(lambda n: n)
    with anyio.move_on_after(after_s):
        await aio.serve(served)
    with (
        rstream.serve(name, dir=driver_dir)(lambda n: n + 1),
        service.requester(name, dir=driver_dir) as asks,
    ):
        assert await anyio.to_thread.run_sync(asks.request, 1) == 2


async def test_a_server_that_is_cancelled_leaves_without_a_word(driver_dir, name, caplog):
    slow = Slow()
    async with aio.requester(name, dir=driver_dir) as asks:
        async with anyio.create_task_group() as server:
            await serving(server, name, driver_dir, slow.sleep)

            async def ask():
                with pytest.raises(ServerLost):
                    await asks.request(60.0)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await until_async(lambda: slow.running == 1)
                server.cancel_scope.cancel()
    assert slow.cancelled == [60.0]
    assert not caplog.messages
