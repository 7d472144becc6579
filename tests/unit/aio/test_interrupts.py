"""A handler raises at each place of a send in an event loop, out of ``run_until_complete``; then
the loop and both ends are used again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from rstream import aio, stream
from rstream.stream import Gap
from tests.interrupts import at_each_place
from tests.support import in_thread, until

COUNT = 5
MARK = b"mark"
LARGE = (1 << 20) + 4096
CHANNEL = "aeron:ipc?term-length=1m"

# An interrupt in a __del__ is printed by Python, and ends nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("face", ["send", "send_many"])
def test_an_interrupted_send_sends_nothing_twice(driver_dir, name, face):
    loop = asyncio.new_event_loop()
    items = [bytes([at]) * 8 for at in range(COUNT)]
    sent = 0

    async def open_both():
        options = {"channel": CHANNEL, "dir": driver_dir}
        sub = await aio.subscriber(name, bytes, **options)
        return await aio.publisher(name, bytes, linger_s=0, **options), sub

    async def send():
        if face == "send_many":
            await pub.send_many(items, timeout_s=5)
        else:
            for item in items:
                await pub.send(item, timeout_s=5)

    async def drain():
        got = []
        await pub.send(MARK, timeout_s=5)
        while not got or got[-1] != MARK:
            got.append(await sub.get(timeout_s=5))
        return got

    def after(where):
        nonlocal sent
        got = loop.run_until_complete(asyncio.wait_for(drain(), 10))
        assert got[:-1] == items[: len(got) - 1], where
        sent += len(got)
        assert pub.statistics()["messages"] == sent, where

    async def close_both():
        await pub.close()
        await sub.close()

    pub, sub = loop.run_until_complete(open_both())
    assert at_each_place(lambda: loop.run_until_complete(send()), after, step=3) >= 10
    loop.run_until_complete(close_both())
    loop.close()


@pytest.mark.parametrize("again", [0, 1, 3], ids=["once", "twice", "twice in the end of it"])
@pytest.mark.parametrize("way", ["segment", "parts"])
def test_an_interrupted_send_of_a_large_message(driver_dir, name, request, way, again):
    """The next send works, and the reader has the message whole, or is told that it ends."""
    if way == "parts":
        request.getfixturevalue("in_parts")
    loop = asyncio.new_event_loop()
    options = {"channel": "aeron:ipc?term-length=4m", "dir": driver_dir}
    items, got, events, sent = [], [], [], 0

    def begin():
        got.clear()
        events.clear()
        items[:] = [sent.to_bytes(4, "big") * (LARGE // 4)]

    async def send():
        await pub.send(items[0], timeout_s=5)

    def after(where):
        nonlocal sent
        for task in asyncio.all_tasks(loop):  # interrupted in a callback, not in the task
            task.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.run_until_complete(asyncio.wait_for(pub.send(MARK, timeout_s=5), 10))
        until(lambda: MARK in got, 5)
        came = got[:-1]
        sent += len(got)
        assert came == items[: len(came)], where
        assert pub.statistics()["messages"] == sent, where
        assert pub.progress is None, where
        for event in events:
            is_right = not isinstance(event, Gap) or ("gave it up" in event.reason and not came)
            assert is_right, (where, event)
        begin()

    def read():
        while not is_over:
            new = sub.poll()
            events.extend(sub.events())  # of what came before them, too
            got.extend(new)
            sub.wait(0.05)

    async def opened():
        return await aio.publisher(name, bytes, linger_s=0, **options)

    with stream.subscriber(name, bytes, **options) as sub:
        pub = loop.run_until_complete(opened())
        begin()
        is_over = []
        reading = in_thread(read)
        try:
            places = at_each_place(
                lambda: loop.run_until_complete(send()), after, step=7, again=again
            )
        finally:
            is_over.append(True)
            reading.join(10)
        print(f"{places} places")
        assert places >= 15
        loop.run_until_complete(pub.close())
    loop.close()
