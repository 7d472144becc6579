"""A handler raises at each place of a send in an event loop, out of ``run_until_complete``; then
the loop and both ends are used again.
"""

from __future__ import annotations

import asyncio

import pytest

from rstream import aio
from tests.interrupts import at_each_place

COUNT = 5
MARK = b"mark"
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
