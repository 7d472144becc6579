"""rstream.aio.subscriber: it reads as the plain subscriber does, and never blocks the event loop.

What a loop was given is consumed; test_subscriber_tasks.py has cancelled tasks.
"""

from __future__ import annotations

import gc
import time

import anyio
import anyio.lowlevel
import pytest

from rstream import aio, policy, stream
from rstream.aio import _iterators, _sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.client import Client
from rstream.errors import (
    ClosedError,
    CodecError,
    ConfigError,
    PublisherLost,
    RemoteError,
    StreamEnded,
)
from rstream.flow.chunk import LEAST
from rstream.stream._internal import sending_of
from tests.support import until, until_async

pytestmark = pytest.mark.anyio

LONG_S = 30.0
#: A task that sleeps looks again after ten seconds; it must be woken long before.
WAKE_UP_S = 5.0
COUNT = 200


@pytest.fixture
def sleeps(monkeypatch):
    """The descriptors on which a task slept, one entry for each sleep."""
    real, begun = _sleeper.Sleeper.sleep, []

    async def noted(self, watched, timeout_s):
        begun.append(watched.fileno())
        return await real(self, watched, timeout_s)

    monkeypatch.setattr(_sleeper.Sleeper, "sleep", noted)
    return begun


def work(seconds):
    """What a body does that awaits nothing."""
    time.sleep(seconds)


async def read_the_rest(name, driver_dir):
    """What a reader that comes now gets."""
    async with aio.subscriber(name, dir=driver_dir) as sub:
        await until_async(lambda: sub.is_connected)
        return sub.poll()


# ---- reading ----


@pytest.mark.parametrize("how", ["items", "batches", "get"])
async def test_everything_arrives_in_order_until_the_end(driver_dir, name, how):
    received = []

    async def write():
        async with aio.publisher(name, int, dir=driver_dir) as pub:
            for number in range(3000):
                await pub.send(number)
            await pub.send_many(range(3000, 6000))

    async with (
        aio.subscriber(name, int, dir=driver_dir) as sub,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(write)
        if how == "items":
            async for number in sub:
                received.append(number)  # noqa: PERF401 - as users write it
        elif how == "batches":
            async for numbers in sub.batches():
                assert 1 <= len(numbers) <= sub.prefetch
                received += numbers
        else:
            with pytest.raises(StreamEnded):
                while True:
                    received.append(await sub.get(timeout_s=LONG_S))
        assert sub.is_ended
    assert received == list(range(6000))
    assert sub.is_closed
    with pytest.raises(ClosedError):
        sub.poll()
    with pytest.raises(ClosedError):
        await sub.get()
    assert [item async for item in sub] == []


async def test_one_wake_up_serves_all_that_has_arrived(driver_dir, name, publisher, sleeps):
    """The task sleeps once; 200 messages later it wakes once."""
    async with aio.subscriber(name, dir=driver_dir) as sub, anyio.create_task_group() as tasks:
        received = []

        async def read():
            async for batch in sub.batches():
                received.append(batch)  # noqa: PERF401 - as users write it

        tasks.start_soon(read)
        await until_async(lambda: sub.is_connected)
        await anyio.sleep(0.05)
        before = len(sleeps)
        began_s = time.monotonic()
        publisher.send_many(range(COUNT))
        await until_async(lambda: received)
        assert time.monotonic() - began_s < WAKE_UP_S
        assert received == [list(range(COUNT))]
        assert len(sleeps) - before <= 1
        tasks.cancel_scope.cancel()


async def test_a_reader_that_waits_wakes_the_loop_for_nothing(driver_dir, name, publisher, sleeps):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        await until_async(lambda: sub.is_connected)
        sleeps.clear()
        with anyio.move_on_after(0.4) as scope:
            await anext(aiter(sub))
        assert scope.cancelled_caught
        assert len(sleeps) <= 3


async def test_a_hundred_streams_need_no_thread(driver_dir, name, own_threads):
    received = []

    async def read(sub):
        async for item in sub:
            received.append(item)  # noqa: PERF401 - as users write it

    async with anyio.create_task_group() as tasks:
        subs = [await aio.subscriber(f"{name}-{n}", int, dir=driver_dir) for n in range(100)]
        pubs = [stream.publisher(f"{name}-{n}", int, dir=driver_dir) for n in range(100)]
        for sub in subs:
            tasks.start_soon(read, sub)
        for number, pub in enumerate(pubs):
            pub.send(number)
        await until_async(lambda: len(received) == 100)
        assert not [thread for thread in own_threads() if "rstream" in thread.name]
        for pub in pubs:
            pub.close(linger_s=0)
    assert sorted(received) == list(range(100))
    for sub in subs:
        await sub.close()


async def test_other_tasks_get_turns_while_there_is_always_something(driver_dir, name, publisher):
    """Reading a full window takes about twenty times 0.2 ms, and no wait interrupts it."""
    turns = [0]

    async def count():
        while True:
            await anyio.lowlevel.checkpoint()
            turns[0] += 1

    async with aio.subscriber(name, dir=driver_dir) as sub, anyio.create_task_group() as tasks:
        await until_async(lambda: publisher.is_connected)
        while publisher.offer(bytes(8)) > 0:
            pass
        tasks.start_soon(count)
        await anyio.lowlevel.checkpoint()
        before = turns[0]
        numbers = 0
        async for _ in sub:
            numbers += 1
            if numbers == 50:
                soon = turns[0] - before
            work(0.0003 if numbers <= 50 else 0)
            if numbers == 5000:
                break
        assert soon >= 20  # a slow loop is interrupted after each item
        assert turns[0] - before - soon >= 2
        tasks.cancel_scope.cancel()


# ---- what is consumed ----


@pytest.mark.parametrize("given", [1, 7, COUNT - 1])
async def test_the_next_reader_begins_where_a_loop_was_left(driver_dir, name, publisher, given):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        async for number in sub:
            if number == given - 1:
                break
        assert await ThreadCall(lambda: publisher.wait_consumed(1, timeout_s=LONG_S)).result()
    await until_async(lambda: not publisher.is_connected)
    assert await read_the_rest(name, driver_dir) == list(range(given, COUNT))


async def test_a_batch_counts_when_the_loop_asks_for_more(driver_dir, name, publisher):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        end = publisher.position
        async for batch in sub.batches():
            assert batch == list(range(COUNT))
            assert not publisher.wait_consumed(end, timeout_s=0.01)
            break
        assert await ThreadCall(lambda: publisher.wait_consumed(end, timeout_s=LONG_S)).result()


async def test_an_old_loop_counts_nothing_of_a_later_poll(driver_dir, name, publisher):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        old = [aiter(sub), sub.batches()]
        assert await anext(old[0]) == 0
        assert await anext(old[1]) == list(range(1, COUNT))
        begin = publisher.position
        publisher.send_many(range(COUNT))
        batches = sub.batches()
        assert await anext(batches) == list(range(COUNT))
        old.clear()
        gc.collect()
        assert not publisher.wait_consumed(begin + 1, timeout_s=0.01)
        del batches
        assert await ThreadCall(lambda: publisher.wait_consumed(timeout_s=LONG_S)).result()


async def test_faces_may_alternate_and_close_ends_a_loop(driver_dir, name, publisher):
    async with aio.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        seen = []
        async for number in sub:
            seen.append(number)
            if number == 9:
                break
        seen += [await sub.get(), *sub.poll(5), await anext(aiter(sub))]
        async for numbers in sub.batches():
            seen += numbers
            break
        publisher.send_many(range(COUNT, 2 * COUNT))
        async for number in sub:
            seen.append(number)
            if number == COUNT + 3:
                await sub.close()  # nothing is handed out any more
        assert seen == list(range(COUNT + 4))
    await until_async(lambda: not publisher.is_connected)
    assert await read_the_rest(name, driver_dir) == list(range(COUNT + 4, 2 * COUNT))


@pytest.mark.parametrize("prefetch", ["auto", 16])
async def test_it_tells_the_demand_that_the_plain_loop_tells(driver_dir, name, prefetch):
    """A slow loop over the same messages has the same demand outstanding in both faces."""
    told = []
    for face in ("plain", "awaited"):
        with stream.publisher(f"{name}-{face}", dir=driver_dir, linger_s=0) as pub:
            if face == "plain":
                with stream.subscriber(f"{name}-{face}", dir=driver_dir, prefetch=prefetch) as sub:
                    told.append([sub.statistics()["demand"]])
                    pub.send_many(range(40))
                    for number in sub:
                        told[-1].append(sub.statistics()["demand"])
                        if number == 39:
                            break
                continue
            async with aio.subscriber(f"{name}-{face}", dir=driver_dir, prefetch=prefetch) as sub:
                told.append([sub.statistics()["demand"]])
                pub.send_many(range(40))
                async for number in sub:
                    told[-1].append(sub.statistics()["demand"])
                    if number == 39:
                        break
    assert told[0] == told[1]
    assert told[0][0] == (16 if prefetch == 16 else LEAST)


# ---- ends, errors, policies ----


async def test_a_publisher_that_dies_or_fails_raises_and_others_are_read_on(driver_dir, name):
    async with aio.subscriber(name, int, dir=driver_dir) as sub:
        with stream.publisher(name, int, dir=driver_dir, linger_s=0) as other:
            lost = stream.publisher(name, int, dir=driver_dir, linger_s=0)
            lost.send(1)
            sending_of(lost).session.core.close()  # without its end, as a process that dies
            seen = []
            with pytest.raises(PublisherLost):
                async for number in sub:
                    seen.append(number)  # noqa: PERF401 - kept at the error
            assert seen == [1]
            with pytest.raises(ZeroDivisionError):
                with stream.publisher(name, int, dir=driver_dir, linger_s=0) as failing:
                    failing.send(2)
                    1 / 0
            with pytest.raises(RemoteError, match="ZeroDivisionError"):
                async for number in sub:
                    seen.append(number)  # noqa: PERF401 - kept at the error
            other.send(3)
            assert await sub.get(timeout_s=LONG_S) == 3
            assert seen == [1, 2]
            kinds = [type(event) for event in sub.events()]
            assert kinds.count(stream.Available) == 3
        lost.close(linger_s=0)
        assert [number async for number in sub] == []


async def test_a_message_that_cannot_be_decoded_is_skipped(driver_dir, name, publisher):
    async with aio.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many([1, "no number", 2])
        seen = []
        with pytest.raises(CodecError):
            async for number in sub:
                seen.append(number)  # noqa: PERF401 - kept at the error
        assert seen == [1]
        assert await sub.get(timeout_s=LONG_S) == 2


@pytest.mark.parametrize(
    ("on_slow", "expected"),
    [
        (policy.Buffer(1000), list(range(COUNT))),
        (policy.Latest(), [COUNT - 1]),
        (policy.DropOldest(10), list(range(COUNT - 10, COUNT))),
        (policy.Evict(after_s=30.0), list(range(COUNT))),
    ],
    ids=["buffer", "latest", "drop oldest", "evict"],
)
async def test_policies_for_a_slow_consumer(driver_dir, name, publisher, on_slow, expected):
    """A queue fills while the loop is busy, and wakes a loop that waits."""
    async with aio.subscriber(name, dir=driver_dir, on_slow=on_slow) as sub:
        await until_async(lambda: publisher.is_connected)
        waiting = sub.get(timeout_s=LONG_S)
        async with anyio.create_task_group() as tasks:

            async def send_late():
                await until_async(lambda: sub._feed.sleeper.is_sleeping)
                publisher.send("first")

            tasks.start_soon(send_late)
            began_s = time.monotonic()
            assert await waiting == "first"
            assert time.monotonic() - began_s < WAKE_UP_S
        publisher.send_many(range(COUNT))
        if not isinstance(on_slow, policy.Evict):
            until(lambda: sub.statistics()["messages"] == 1 + COUNT)  # the loop stands still
        seen = []
        while seen[-1:] != expected[-1:]:
            seen.append(await sub.get(timeout_s=LONG_S))
        assert seen == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prefetch": 0}, "prefetch=0"),
        ({"on_gap": "skip"}, "on_gap="),
        ({"on_lost": "skip"}, "on_lost="),
        ({"on_slow": policy.Buffer(0)}, "on_slow="),
        ({"codec": "no such"}, "no such"),
        ({"client": 1}, "client=1"),
    ],
)
async def test_wrong_arguments_are_refused_at_once(driver_dir, name, options, text):
    with pytest.raises(ConfigError, match=text):
        aio.subscriber(name, dir=driver_dir, **options)


async def test_an_unknown_option_names_the_nearest(driver_dir, name):
    with pytest.raises(TypeError, match="prefetch"):
        aio.subscriber(name, dir=driver_dir, prefech=16)


async def test_with_a_client_of_ones_own(driver_dir, name):
    with Client(dir=driver_dir) as client:
        async with aio.subscriber(name, client=client) as sub:
            with stream.publisher(name, client=client) as pub:
                pub.send(1)
                assert await sub.get(timeout_s=LONG_S) == 1


def test_a_loop_is_an_object_and_no_generator():
    """A generator would lose the rest of a batch when it is closed, and it would close late."""
    assert not hasattr(_iterators.Items, "aclose")
    assert not hasattr(_iterators.Batches, "aclose")


async def test_a_large_message_arrives_between_small_ones(driver_dir, name):
    """It travels in parts, and both ends are in this loop, so neither may wait without a turn."""
    large = bytes(range(256)) * 12_000
    received = []

    async def write():
        async with aio.publisher(name, bytes, dir=driver_dir) as pub:
            await pub.send(b"before")
            await pub.send(large)
            await pub.send(b"behind")

    with anyio.fail_after(LONG_S):
        async with (
            aio.subscriber(name, bytes, dir=driver_dir) as sub,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(write)
            async for message in sub:
                received.append(message)  # noqa: PERF401 - as users write it
    assert received == [b"before", large, b"behind"]
