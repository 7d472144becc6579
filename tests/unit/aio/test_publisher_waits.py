"""What rstream.aio.publisher waits for: a subscriber, room, its rate; and for how long."""

from __future__ import annotations

import asyncio
import logging
import time

import anyio
import anyio.lowlevel
import pytest

import rstream
from rstream import aio, policy, rate, stream
from rstream.aio import _publisher as aio_publisher
from rstream.errors import BackPressured, NotConnected, NotSupported, RemoteError
from rstream.flow.pacing import TokenBucket
from rstream.stream._internal import sending_of
from tests.support import until_async
from tests.unit.aio.publishing import LONG_S, PAYLOAD, fill

pytestmark = pytest.mark.anyio


async def test_no_subscriber(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._sending._waiting.NOTICE_AFTER_S", 0.05)
    with caplog.at_level(logging.WARNING, "rstream"):
        async with aio.publisher(name, dir=driver_dir, connect_timeout_s=0.3, linger_s=0) as pub:
            assert pub.offer(1) == rstream.NOT_CONNECTED
            assert pub.held_by == "subscriber"
            with pytest.raises(NotConnected, match="no subscriber for"):
                await pub.send(1)
            with pytest.raises(NotConnected):
                await pub.send(1, timeout_s=0.01)
    assert f"stream '{name}'" in caplog.text
    assert "waits for a subscriber" in caplog.text


async def test_it_waits_for_the_first_subscriber(driver_dir, name):
    received = []

    async def read_later():
        await anyio.sleep(0.1)
        with stream.subscriber(name, dir=driver_dir) as sub:
            while not received:
                received.extend(sub.poll())
                await anyio.sleep(0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_later)
        async with aio.publisher(name, dir=driver_dir) as pub:
            await pub.send("hello")
            await pub.wait_consumed(timeout_s=LONG_S)
    assert received == ["hello"]


async def test_a_blocked_publisher_reports_what_holds_it(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        async with aio.publisher(
            name, bytes, dir=driver_dir, rate=rate.Fixed(1000), linger_s=0
        ) as pub:
            await fill(pub, bytes(20_000))
            assert (pub.offer(PAYLOAD), pub.held_by, pub.is_rate_limited) == (
                rstream.RATE_LIMITED,
                "rate",
                True,
            )
            with pytest.raises(BackPressured, match="rate") as caught:
                await pub.send(PAYLOAD, timeout_s=0.01)
            assert caught.value.held_by == "rate"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pub.send, b"goes on")
                await anyio.sleep(0.05)
                messages = pub.statistics()["messages"]
                await pub.set_rate(rate.Unlimited())  # this also applies to the task that waits
                await until_async(lambda: pub.statistics()["messages"] == messages + 1)
            await fill(pub)
            assert (pub.held_by, pub.is_rate_limited) == ("window", False)
            with pytest.raises(BackPressured, match="readers") as caught:
                await pub.send(PAYLOAD, timeout_s=0.01)
            assert caught.value.held_by == "window"
            with anyio.fail_after(LONG_S):
                while (reader := await pub.slowest_reader()) is None:
                    await anyio.sleep(0.01)
            assert reader.position == 0


async def test_beside_aerons_driver_the_publisher_keeps_its_rate(driver_dir, name, monkeypatch):
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", True)
    with stream.subscriber(name, bytes, dir=driver_dir, on_slow=policy.DropNewest(1)):
        async with aio.publisher(
            name, bytes, dir=driver_dir, rate=rate.Fixed(1), linger_s=0
        ) as pub:
            await pub.send(b"x")
            while sending_of(pub).state.bucket.delay_ns(time.monotonic_ns()) == 0:
                sending_of(pub).state.bucket.spend(1000)
            assert (pub.offer(PAYLOAD), pub.held_by) == (rstream.RATE_LIMITED, "rate")
            with pytest.raises(BackPressured) as caught:
                await pub.send(PAYLOAD, timeout_s=0.0)
            assert caught.value.held_by == "rate"
            with pytest.raises(NotSupported, match="nak"):
                await pub.set_rate(rate.Nak())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pub.send, b"waits")
                await anyio.sleep(0.02)
                messages = pub.statistics()["messages"]
                await pub.set_rate(rate.Fixed(1_000_000))
                await until_async(lambda: pub.statistics()["messages"] == messages + 1)
            assert await pub.send_many([b"x"] * 3) == 3
            await pub.set_rate(rate.Unlimited())
            assert pub.held_by is None


@pytest.mark.parametrize("how", ["send", "send_many"])
async def test_a_timeout_includes_the_wait_behind_other_tasks(driver_dir, name, how):
    with stream.subscriber(name, bytes, dir=driver_dir):
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            await fill(pub)
            tasks.start_soon(pub.send, PAYLOAD)
            await anyio.sleep(0.01)
            with anyio.fail_after(LONG_S), pytest.raises(BackPressured) as caught:
                if how == "send":
                    await pub.send(PAYLOAD, timeout_s=0.02)
                else:
                    await pub.send_many([PAYLOAD] * 3, timeout_s=0.02)
            assert caught.value.held_by == "window"
            tasks.cancel_scope.cancel()


async def test_a_timeout_of_zero_sends_if_there_is_room(driver_dir, name):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        rate = rstream.rate.Unlimited()  # a law gives a reader that stands still room by and by
        async with aio.publisher(name, int, dir=driver_dir, linger_s=0, rate=rate) as pub:
            await pub.send(0)
            for number in range(1, 200):  # with a checkpoint of the loop now and then
                await pub.send(number, timeout_s=0)
                assert await pub.send_many([], timeout_s=0) == 0
            assert await pub.send_many(range(200, 500), timeout_s=0) == 300
            items = []
            await until_async(lambda: items.extend(sub.poll()) or len(items) == 500)
            assert items == list(range(500))
            with pytest.raises(BackPressured, match="no room"), anyio.fail_after(LONG_S):
                while True:  # the driver may see what was read a little later
                    await pub.send(1, timeout_s=0)


async def test_beside_aerons_driver_a_message_not_sent_takes_no_tokens(
    driver_dir, name, monkeypatch
):
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", True)
    with stream.subscriber(name, bytes, dir=driver_dir):
        async with aio.publisher(
            name, bytes, dir=driver_dir, rate=rate.Fixed("1GB/s"), linger_s=0
        ) as pub:
            await pub.send(PAYLOAD)
            while pub.offer(PAYLOAD) != rstream.BACK_PRESSURED:
                await anyio.lowlevel.checkpoint()
            await until_async(
                lambda: sending_of(pub).state.bucket.delay_ns(time.monotonic_ns()) == 0
            )
            spent = []
            monkeypatch.setattr(
                TokenBucket, "spend", lambda bucket, length_bytes: spent.append(length_bytes)
            )
            with pytest.raises(BackPressured):
                await pub.send(PAYLOAD, timeout_s=0.01)
            with anyio.move_on_after(0.01):
                await pub.send(PAYLOAD)
            assert spent == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_last_rate_counts_after_a_cancelled_one(driver_dir, name, monkeypatch):
    """asyncio's own cancellation does not stop the thread, which still sets the cancelled rate."""
    running, most = [], []

    class Slow(aio_publisher.ThreadCall):
        def __init__(self, function):
            super().__init__(lambda: self.slowly(function))

        def slowly(self, function):
            running.append(self)
            most.append(len(running))
            time.sleep(0.1)
            function()
            running.remove(self)

    async with aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
        monkeypatch.setattr(aio_publisher, "ThreadCall", Slow)
        first = asyncio.ensure_future(pub.set_rate(rate.Fixed(1_000_000)))
        await until_async(lambda: running)
        first.cancel()
        await asyncio.wait([first])
        await pub.set_rate(rate.Fixed(2_000_000))
        assert max(most) == 1
        assert "r:2000000" in pub.channel
        last = asyncio.ensure_future(pub.set_rate(rate.Fixed(3_000_000)))
        await until_async(lambda: running)
        last.cancel()
        await asyncio.wait([last])
    assert running == []  # the block waited for the thread


async def test_a_reader_that_fails_ends_the_waits_for_it(driver_dir, name):
    """A send that waits for room, and a wait for consumption, raise the reader's error at once."""
    reader = stream.reader(name, bytes, dir=driver_dir, hold=True)
    raised = []

    async def expect(wait):
        try:
            await wait()
        except RemoteError as error:
            raised.append(str(error))

    async with aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
        await fill(pub)
        async with anyio.create_task_group() as tasks:
            with anyio.fail_after(LONG_S):
                tasks.start_soon(expect, lambda: pub.send(PAYLOAD))
                tasks.start_soon(expect, pub.wait_consumed)
                await until_async(lambda: pub.statistics()["waits"] > 0)
                await anyio.to_thread.run_sync(reader.fail, ValueError("broken"))
                await until_async(lambda: len(raised) == 2)
        assert all("ValueError: broken" in text for text in raised)
        assert any(isinstance(event, stream.Rejected) for event in pub.events())
