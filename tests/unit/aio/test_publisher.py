"""rstream.aio.publisher: awaiting it never blocks the event loop.

A message is sent once or not at all. Readers are polled by tasks of the same loop, so a call that
blocked the loop would never return.
"""

from __future__ import annotations

import gc
import time

import anyio
import anyio.lowlevel
import pytest

import rstream
from rstream import aio, policy, rate, stream
from rstream.errors import ClosedError, CodecError, ConfigError, MessageTooLarge
from tests.support import until, until_async
from tests.unit.aio.publishing import LONG_S, PAYLOAD, fill, read_all

pytestmark = pytest.mark.anyio


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
