"""rstream.aio.publisher is cancelled, closed, abandoned, or left by an exception.

No message comes twice, none that was told is lost, and nothing is left behind.
"""

from __future__ import annotations

import asyncio
import threading
import time

import anyio
import anyio.lowlevel
import pytest

import rstream
from rstream import aio, stream
from rstream._session import _links
from rstream.client import Client
from rstream.driver import Driver
from rstream.errors import ClosedError, PublisherLost, RemoteError
from rstream.stream._internal import sending_of
from rstream.stream._sending._waiting import WAIT_SLICE_S
from tests.support import until_async
from tests.unit.aio.publishing import LONG_S, PAYLOAD, fill, read_all

pytestmark = pytest.mark.anyio


async def test_a_cancelled_send_sends_nothing(driver_dir, name, rng):
    """Two tasks send under random deadlines: each message of a completed send arrives once.

    No other message arrives.
    """
    told, received = [], []

    async def send(pub, first):
        for number in range(first, first + 20_000):
            with anyio.move_on_after(rng.choice([0, 0.0005, 0.002, 1])):
                await pub.send(number.to_bytes(4, "big") + PAYLOAD)
                told.append(number)

    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with anyio.create_task_group() as readers:

            async def read():
                while not sub.is_ended:
                    received.extend(
                        int.from_bytes(data[:4], "big") for data in sub.poll(rng.randrange(1, 400))
                    )
                    await anyio.sleep(rng.choice([0, 0, 0.001, 0.003]))

            readers.start_soon(read)
            async with aio.publisher(name, bytes, dir=driver_dir, linger_s=LONG_S) as pub:
                with anyio.move_on_after(3):
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(send, pub, 0)
                        tasks.start_soon(send, pub, 1_000_000)
    assert received == told
    assert len(told) > 100


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_asyncios_own_cancellation_is_as_clean(driver_dir, name, rng):
    told, received = [], []
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:

        async def read():
            while not sub.is_ended:
                received.extend(
                    int.from_bytes(data[:4], "big") for data in sub.poll(rng.randrange(1, 8))
                )
                await asyncio.sleep(rng.choice([0, 0.001, 0.003]))

        async def send(pub, number):
            await pub.send(number.to_bytes(4, "big") + PAYLOAD)
            told.append(number)

        reader = asyncio.ensure_future(read())
        cancelled = 0
        async with aio.publisher(name, bytes, dir=driver_dir, linger_s=LONG_S) as pub:
            await send(pub, 0)
            while pub.offer(bytes(4) + PAYLOAD) > 0:
                told.append(0)
            for number in range(1, 1000):
                task = asyncio.ensure_future(send(pub, number))
                await asyncio.wait([task], timeout=rng.choice([0.0005, 0.001, 1]))
                cancelled += task.cancel()
                await asyncio.wait([task])
        await reader
    assert received == told
    assert cancelled > 0


class Opening:
    """Holds the thread that opens a publisher until it may go on."""

    def __init__(self, monkeypatch):
        self.is_there, self.may_go_on = threading.Event(), threading.Event()
        self._acquire = _links.acquire
        self._before = self.users()
        monkeypatch.setattr(_links, "acquire", self.acquire)

    def acquire(self, *arguments):
        self.is_there.set()
        self.may_go_on.wait(LONG_S)
        return self._acquire(*arguments)

    def users(self):
        return {key: link.users for key, link in _links._links.items()}

    async def wait_undone(self):
        await until_async(lambda: self.users() == self._before)


async def test_a_cancelled_opening_leaves_nothing_behind(driver_dir, name, monkeypatch):
    """A thread cannot be cancelled: the publisher that it opens in vain is closed."""
    opening = Opening(monkeypatch)

    async def open_it():
        async with aio.publisher(name, dir=driver_dir):
            await anyio.lowlevel.checkpoint()
            raise AssertionError("it was cancelled before")

    async def release():
        await anyio.sleep(0.05)
        opening.may_go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(release)
        with anyio.move_on_after(0.01):
            await open_it()
    await opening.wait_undone()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_opening_that_asyncio_cancelled_leaves_nothing_behind(
    driver_dir, name, monkeypatch
):
    opening = Opening(monkeypatch)

    async def open_it():
        await aio.publisher(name, dir=driver_dir)

    task = asyncio.ensure_future(open_it())
    await until_async(opening.is_there.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    opening.may_go_on.set()
    await opening.wait_undone()


async def test_a_close_ends_a_send_that_waits_and_loses_nothing(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        pub = await aio.publisher(name, bytes, dir=driver_dir, linger_s=LONG_S)
        count = await fill(pub)
        errors, items = [], []

        async def send():
            with pytest.raises(ClosedError) as caught:
                await pub.send(b"too late")
            errors.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            tasks.start_soon(send)
            await anyio.sleep(0.02)
            tasks.start_soon(pub.close)
            await until_async(lambda: errors)
            assert not pub.is_closed  # it waits until its readers have read the rest
            tasks.start_soon(read_all, sub, items)
        assert len(errors) == 2
        assert items == [PAYLOAD] * count


async def test_after_a_close_has_begun_nothing_is_sent_and_a_second_close_waits_for_it(
    driver_dir, name
):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        pub = await aio.publisher(name, bytes, dir=driver_dir, linger_s=LONG_S)
        count = await fill(pub)
        items, closed = [], []

        async def close():
            await pub.close()
            closed.append(pub.is_closed)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close)
            tasks.start_soon(close)
            await anyio.sleep(0.02)
            for timeout_s in (None, 0.1):
                with pytest.raises(ClosedError), anyio.fail_after(1):
                    await pub.send(b"too late", timeout_s=timeout_s)
            with pytest.raises(ClosedError):
                pub.offer(b"too late")
            assert not closed
            tasks.start_soon(read_all, sub, items)
        assert closed == [True, True]
        assert items == [PAYLOAD] * count


async def test_a_cancelled_close_still_completes_the_stream_and_does_not_linger(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with anyio.CancelScope() as scope:
            async with aio.publisher(name, dir=driver_dir, linger_s=3600) as pub:
                await pub.send(1)
                scope.deadline = anyio.current_time() + 0.05
        assert pub.is_closed
        items = []
        await read_all(sub, items)
        assert items == [1]
        with anyio.CancelScope() as scope:
            async with aio.publisher(name, dir=driver_dir, linger_s=3600) as pub:
                await pub.send(2)
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        assert pub.is_closed
        await until_async(lambda: sub.poll() == [2])
        with pytest.raises(RemoteError, match="Cancelled"):
            await until_async(lambda: sub.poll())


async def test_an_exception_in_the_block_reaches_the_readers(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with pytest.raises(ZeroDivisionError):
            async with aio.publisher(name, dir=driver_dir, linger_s=0) as pub:
                await pub.send(1)
                raise ZeroDivisionError("no")
        assert sub.poll() == [1]
        with pytest.raises(RemoteError, match="ZeroDivisionError: no"):
            await until_async(lambda: sub.poll())


@pytest.mark.parametrize(("code", "text"), [(0, None), (None, None), (3, "SystemExit: 3")])
async def test_an_exit_in_the_block_does_not_linger(driver_dir, name, code, text):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with anyio.fail_after(LONG_S), pytest.raises(SystemExit):
            async with aio.publisher(name, dir=driver_dir, linger_s=3600) as pub:
                await pub.send(1)
                raise SystemExit(code)
        assert sub.poll() == [1]
        if text is None:
            await until_async(lambda: sub.poll() == [] and sub.is_ended)
        else:
            with pytest.raises(RemoteError, match=text):
                await until_async(lambda: sub.poll())


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_time_out_in_the_block_does_not_linger(driver_dir, name):
    """asyncio.timeout cancels once, so a wait in ``__aexit__`` would not be cancelled again."""
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        with anyio.fail_after(LONG_S), pytest.raises(TimeoutError):
            async with (
                asyncio.timeout(0.05),
                aio.publisher(name, bytes, dir=driver_dir, linger_s=3600) as pub,
            ):
                while True:
                    await pub.send(PAYLOAD)
        assert pub.is_closed
        with pytest.raises(RemoteError, match="CancelledError"):
            await read_all(sub, [])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_time_out_does_not_wait_for_a_driver_that_is_being_started(
    driver_dir, name, monkeypatch
):
    """The thread that joins again goes on alone, and closes the session that it gets."""
    entered, may_go_on = threading.Event(), threading.Event()
    async with asyncio.timeout(LONG_S):
        pub = await aio.publisher(name, bytes, dir=driver_dir, linger_s=3600)
        sending = sending_of(pub)
        join = sending.session.join

        def slow_join(link):
            entered.set()
            may_go_on.wait(LONG_S)
            join(link)

        monkeypatch.setattr(sending.session, "join", slow_join)
        monkeypatch.setattr(sending.offers, "must_join_again", lambda *_: True)
        monkeypatch.setattr(type(sending.session), "has_joined", False)
        monkeypatch.setattr(sending.offers, "offer", lambda *_: rstream.CLOSED)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), pub:
                await pub.send(PAYLOAD)
        assert pub.is_closed
        assert entered.is_set()
        may_go_on.set()
        await until_async(lambda: sending_of(pub).session.core.is_closed)


async def test_abandoned_is_lost(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = await aio.publisher(name, dir=driver_dir)
        await pub.send(1)
        pub.abandon()
        assert sub.poll() == [1]
        with pytest.raises(PublisherLost):
            await until_async(lambda: sub.poll())


async def test_abandoned_while_a_send_waits_for_room(make_driver_dir):
    """The client and the descriptor that the loop watches are closed only after the send has
    returned.
    """
    directory = make_driver_dir()
    with Driver(dir=directory):
        other = Client(directory, start_driver=False)
        reader = other.add_subscription("aeron:ipc", 7)
        channel = "aeron:ipc?term-length=1m"
        pub = await aio.publisher(7, bytes, channel=channel, dir=directory, linger_s=0)
        await fill(pub)
        ended_s = []

        async def send():
            with pytest.raises(ClosedError):
                await pub.send(PAYLOAD)
            ended_s.append(time.monotonic())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await until_async(lambda: pub._turns.room.is_waiting)
            client, began_s = sending_of(pub).session.link.client, time.monotonic()
            pub.abandon()
        assert ended_s[0] - began_s < WAIT_SLICE_S / 2
        assert client.state != _links.CLIENT_OPEN
        reader.close()
        other.close()
