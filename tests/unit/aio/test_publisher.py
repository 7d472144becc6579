"""rstream.aio.publisher: awaiting it never blocks the event loop.

A message is sent once or not at all, and the publisher reports what it waits for.

Readers are polled by tasks of the same loop, so a call that blocked the loop would never return.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time

import anyio
import anyio.lowlevel
import pytest

import rstream
from rstream import aio, policy, rate, stream
from rstream.aio import _publisher as aio_publisher
from rstream.client import Client
from rstream.driver import Driver
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ConfigError,
    MessageTooLarge,
    NotConnected,
    NotSupported,
    PublisherLost,
    RemoteError,
)
from rstream.flow.pacing import TokenBucket
from rstream.stream import _sender, _session
from tests.support import until, until_async

pytestmark = pytest.mark.anyio

PAYLOAD = bytes(984)
LONG_S = 30.0


async def read_all(sub, items, pause_s=0.0):
    """Read until the stream ends, a little at a time."""
    while not sub.is_ended:
        items += sub.poll(16)
        await anyio.sleep(pause_s)


async def fill(pub, data=PAYLOAD):
    """Send until there is no room."""
    await pub.send(data)
    count = 1
    while (reason := pub.offer(data)) > 0:
        count += 1
    assert reason in (rstream.BACK_PRESSURED, rstream.RATE_LIMITED)
    return count


async def test_what_is_sent_arrives_in_order_and_the_end_ends_the_reader(driver_dir, name):
    items = []
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_all, sub, items)
            async with aio.publisher(name, int, dir=driver_dir) as pub:
                for number in range(3000):
                    assert await pub.send(number) > 0
                assert await pub.send_many(range(3000, 6000)) == 3000
                assert await pub.wait_consumed(timeout_s=LONG_S)
                assert pub.statistics()["messages"] == 6000
                assert [type(event) for event in pub.events()] == [stream.Connected]
            assert pub.is_closed
    assert items == list(range(6000))


async def test_it_may_be_awaited_and_closed_by_hand(driver_dir, name):
    pub = await aio.publisher(name, dir=driver_dir, linger_s=0)
    with stream.subscriber(name, dir=driver_dir) as sub:
        await pub.send({"px": 1.0})
        await pub.close()
        await pub.close()
        assert sub.poll() == [{"px": 1.0}]
        await until_async(lambda: sub.poll() == [] and sub.is_ended)
    for closed in (
        pub.send(1),
        pub.send_many([1]),
        pub.wait_consumed(),
        pub.set_rate(rate.Unlimited()),
    ):
        with pytest.raises(ClosedError):
            await closed
    with pytest.raises(ClosedError):
        pub.offer(1)
    assert pub.held_by is None
    await pub.revive()


async def test_send_many_sends_what_came_before_an_exception(driver_dir, name):
    def broken(count):
        yield from range(count)
        raise KeyError("broken")

    with stream.subscriber(name, dir=driver_dir) as sub:
        async with aio.publisher(name, dir=driver_dir, linger_s=0) as pub:
            with pytest.raises(KeyError, match="broken"):
                await pub.send_many(broken(100))
            with pytest.raises(CodecError):
                await pub.send_many([*range(100, 200), object()])
            received = []
            await until_async(lambda: received.extend(sub.poll()) or len(received) == 200)
            assert received == list(range(200))


async def test_send_many_holds_no_object_of_a_generator_back(driver_dir, name):
    received = []
    with stream.subscriber(name, dir=driver_dir) as sub:

        def slow():
            for number in range(3):
                yield number
                until(lambda number=number: received.extend(sub.poll()) or number in received)

        async with aio.publisher(name, dir=driver_dir, linger_s=0) as pub:
            assert await pub.send_many(slow()) == 3
    assert received == [0, 1, 2]


async def test_other_tasks_run_while_it_waits_for_room(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            await fill(pub)
            assert pub.held_by == "window"
            is_sent = []

            async def send():
                is_sent.append(await pub.send(b"last"))

            tasks.start_soon(send)
            for _ in range(100):
                await anyio.sleep(0.001)
            assert not is_sent
            received = []
            while not is_sent or not received or received[-1] != b"last":
                received += sub.poll()
                await anyio.lowlevel.checkpoint()
            assert pub.statistics()["waits"] >= 1
            assert 0.05 < pub.statistics()["waited_s"] < LONG_S


async def test_other_tasks_run_though_there_is_always_room(driver_dir, name):
    turns = 0

    async def count():
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    with stream.subscriber(name, bytes, dir=driver_dir, on_slow=policy.DropNewest(1)):
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            await pub.send(b"")
            tasks.start_soon(count)
            await anyio.lowlevel.checkpoint()
            for call, times in (
                (lambda: pub.send(b"x"), 6400),
                (lambda: pub.send(bytes(100_000)), 64),
                (lambda: pub.send_many([b"x"] * 64), 200),
                (lambda: pub.send_many([bytes(100_000)] * 64), 8),
                (pub.wait_consumed, 8),
                (pub.revive, 8),
            ):
                before, began_s = turns, time.thread_time()
                for _ in range(times):
                    await call()
                # On average at least once in a millisecond of work; trio may run either task first.
                assert turns - before >= 1000 * (time.thread_time() - began_s) // 2
                assert turns > before
            tasks.cancel_scope.cancel()


async def test_no_subscriber(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._sender.NOTICE_AFTER_S", 0.05)
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
            while pub._bucket.delay_ns(time.monotonic_ns()) == 0:
                pub._bucket.spend(1000)
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


async def test_tasks_send_in_the_order_in_which_they_came(driver_dir, name):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        async with aio.publisher(name, int, dir=driver_dir, linger_s=0) as pub:
            await pub.send(-1)
            while pub.offer(-1) > 0:
                pass
            ready = []
            async with anyio.create_task_group() as tasks:

                async def send(number):
                    ready.append(number)
                    await pub.send(number)

                for number in range(50):
                    tasks.start_soon(send, number)
                    await until_async(lambda number=number: number in ready)
                assert pub.offer(99) == rstream.BACK_PRESSURED
                received = sub.poll()
                assert received == [-1] * len(received)
                await anyio.lowlevel.checkpoint()
                assert pub.offer(99) < 0 or 49 in received  # it does not overtake a waiting send
                while 49 not in received:
                    received += sub.poll()
                    await anyio.sleep(0.001)
            assert [number for number in received if number >= 0] == list(range(50))


async def test_a_timeout_includes_the_wait_behind_other_tasks(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            await fill(pub)
            tasks.start_soon(pub.send, PAYLOAD)
            await anyio.sleep(0.01)
            with pytest.raises(BackPressured) as caught:
                await pub.send(PAYLOAD, timeout_s=0.02)
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


async def test_the_timeout_of_send_many_includes_the_wait_behind_other_tasks(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            await fill(pub)
            tasks.start_soon(pub.send, PAYLOAD)
            await anyio.sleep(0.01)
            with anyio.fail_after(LONG_S), pytest.raises(BackPressured):
                await pub.send_many([PAYLOAD] * 3, timeout_s=0.02)
            tasks.cancel_scope.cancel()


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
            await until_async(lambda: pub._bucket.delay_ns(time.monotonic_ns()) == 0)
            spent = []
            monkeypatch.setattr(
                TokenBucket, "spend", lambda bucket, length_bytes: spent.append(length_bytes)
            )
            with pytest.raises(BackPressured):
                await pub.send(PAYLOAD, timeout_s=0.01)
            with anyio.move_on_after(0.01):
                await pub.send(PAYLOAD)
            assert spent == []


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
    import asyncio

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


async def test_an_async_iterable_is_asked_for_no_more_than_is_sent(driver_dir, name):
    made = 0

    async def numbers():
        nonlocal made
        while True:
            made += 1
            yield made.to_bytes(4, "big") + PAYLOAD

    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with (
            aio.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
            anyio.create_task_group() as tasks,
        ):
            source = numbers()
            tasks.start_soon(pub.send_many, source)
            await until_async(lambda: made > 100 and pub.held_by == "window")
            for _ in range(20):
                await anyio.sleep(0.001)
            assert made == pub.statistics()["messages"] + 1
            before, taken = made, len(sub.poll(256))
            while taken < before:
                taken += len(sub.poll(256))
                await anyio.sleep(0.001)
            await until_async(lambda: made > before)
            tasks.cancel_scope.cancel()
        await source.aclose()


# The second one would go whole.
@pytest.mark.parametrize("most", [200_000, 1000])
async def test_an_error_of_a_send_names_the_cause(driver_dir, name, most):
    with pytest.raises(ConfigError, match="linger_s"):
        aio.publisher(name, dir=driver_dir, linger_s=-1)
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        async with aio.publisher(
            name, bytes, dir=driver_dir, linger_s=0, max_message_length=most
        ) as pub:
            for call in (pub.send, pub.offer):
                with pytest.raises(MessageTooLarge, match="at most"):
                    result = call(bytes(pub.max_message_length + 1))
                    assert hasattr(result, "send"), "offer accepted it"
                    await result
            await pub.send(b"fine")
        assert sub.poll() == [b"fine"]
    async with aio.publisher(name, dir=driver_dir, linger_s=0) as pub:
        with pytest.raises(CodecError):
            await pub.send(object())


async def test_an_unclosed_publisher_warns_where_it_was_made(driver_dir, name):
    with pytest.warns(ResourceWarning, match="test_publisher.py"):
        pub = await aio.publisher(name, dir=driver_dir)
        del pub
        gc.collect()


async def test_a_cancelled_opening_leaves_nothing_behind(driver_dir, name, monkeypatch):
    """A thread cannot be cancelled: the publisher that it opens in vain is closed."""
    import threading

    from rstream.stream import _session

    before = {key: link.users for key, link in _session._links.items()}
    may_go_on, real = threading.Event(), _session.acquire

    def slow(*arguments):
        may_go_on.wait(LONG_S)
        return real(*arguments)

    monkeypatch.setattr(_session, "acquire", slow)

    async def open_it():
        async with aio.publisher(name, dir=driver_dir):
            await anyio.lowlevel.checkpoint()
            raise AssertionError("it was cancelled before")

    async def release():
        await anyio.sleep(0.05)
        may_go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(release)
        with anyio.move_on_after(0.01):
            await open_it()
    await until_async(lambda: {key: link.users for key, link in _session._links.items()} == before)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_opening_that_asyncio_cancelled_leaves_nothing_behind(
    driver_dir, name, monkeypatch
):
    import asyncio
    import threading

    from rstream.stream import _session

    before = {key: link.users for key, link in _session._links.items()}
    may_go_on, is_there, real = threading.Event(), threading.Event(), _session.acquire

    def slow(*arguments):
        is_there.set()
        may_go_on.wait(LONG_S)
        return real(*arguments)

    monkeypatch.setattr(_session, "acquire", slow)

    async def open_it():
        await aio.publisher(name, dir=driver_dir)

    task = asyncio.ensure_future(open_it())
    await until_async(is_there.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_go_on.set()
    await until_async(lambda: {key: link.users for key, link in _session._links.items()} == before)


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
            await until_async(lambda: pub._room.is_waiting)
            client, began_s = pub._link.client, time.monotonic()
            pub.abandon()
        assert ended_s[0] - began_s < _sender.WAIT_SLICE_S / 2
        assert client.state != _session.CLIENT_OPEN
        reader.close()
        other.close()


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
        join_again = pub._join_again

        def slow_join():
            entered.set()
            may_go_on.wait(LONG_S)
            join_again()

        monkeypatch.setattr(pub, "_join_again", slow_join)
        monkeypatch.setattr(pub, "_must_join_again", lambda *_: True)
        monkeypatch.setattr(type(pub), "_has_joined", False)
        monkeypatch.setattr(pub, "_offer_data", lambda *_: rstream.CLOSED)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), pub:
                await pub.send(PAYLOAD)
        assert pub.is_closed
        assert entered.is_set()
        may_go_on.set()
        await until_async(lambda: pub._core.is_closed)


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
