"""An awaited `send_many` of large messages is cancelled at each place where its loop may do so.

Three tasks send; one of them is cancelled at the n-th callback of the loop, for each n. The others
go on, each message came whole or not at all, and a gap is told before what was sent later.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import anyio
import pytest

from rstream import aio, stream
from rstream.stream import Gap
from tests.support import free_port, in_thread, until_async

LENGTHS = (200_000, 1000, 200_000)  # of the messages of each task; long ones: parts, or a segment
COUNT = 3
MARK = b"mark"
IPC = "aeron:ipc?term-length=1m"
PLACES_MOST = 2000


class Loop(asyncio.SelectorEventLoop):
    """Calls a function at the n-th ``call_soon``."""

    left, function = 0, None

    def call_soon(self, callback, *args, context=None):
        handle = super().call_soon(callback, *args, context=context)
        self.left -= 1
        if self.left == 0 and self.function is not None:
            super().call_soon(self.function)
        return handle


class Sends:
    """Three tasks that send, and a reader in a thread. ``how`` cancels: by anyio or by asyncio."""

    def __init__(self, pub, sub, how):
        self.pub, self.sub, self.how = pub, sub, how
        self.got, self.events, self.is_over = [], [], False
        self._number = 0

    def read(self):
        while not self.is_over:
            new = self.sub.poll()
            self.events.extend(self.sub.events())
            self.got.extend(new)
            self.sub.wait(0.02)

    async def round(self, place):
        """False: all was sent before that place."""
        self.got.clear()
        self.events.clear()
        items = [[self._body(length) for _ in range(COUNT)] for length in LENGTHS]
        scope, has_sent = anyio.CancelScope(), [False] * len(items)

        async def send(at):
            with scope if at == place % len(items) and self.how == "scope" else nullcontext():
                await self.pub.send_many(items[at])
                has_sent[at] = True

        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(send(at)) for at in range(len(items))]
        one = tasks[place % len(items)]
        loop.left, loop.function = place, scope.cancel if self.how == "scope" else one.cancel
        _, waiting = await asyncio.wait(tasks, timeout=20)
        is_cancelled, loop.function = loop.left <= 0, None
        assert not waiting, place
        assert all(task.cancelled() or task.exception() is None for task in tasks), place
        await asyncio.wait_for(self.pub.send(MARK), 20)
        await until_async(lambda: MARK in self.got, 20)
        self._check(place, items, has_sent)
        return is_cancelled

    def _body(self, length):
        self._number += 1
        return self._number.to_bytes(4, "big") * (length // 4)

    def _check(self, place, items, has_sent):
        came = [[item for item in self.got if item in sent] for sent in items]
        assert sum(map(len, came)) + 1 == len(self.got), place
        for at, sent in enumerate(items):
            assert came[at] == (sent if has_sent[at] else sent[: len(came[at])]), (place, at)
        gaps = [event for event in self.events if isinstance(event, Gap)]
        assert len(gaps) <= (not all(has_sent)), (place, gaps)
        assert all("gave it up" in gap.reason for gap in gaps), (place, gaps)
        assert self.pub.progress is None, place


@pytest.mark.parametrize("how", ["scope", "task"])
@pytest.mark.parametrize("way", ["segment", "parts", "udp"])
def test_send_many_may_be_cancelled_at_any_place(driver_dir, name, request, way, how):
    if way == "parts":
        request.getfixturevalue("in_parts")
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=1m"
    options = {"channel": udp if way == "udp" else IPC, "dir": driver_dir}

    async def search():
        with stream.subscriber(name, bytes, **options) as sub:
            async with aio.publisher(name, bytes, linger_s=0, **options) as pub:
                await until_async(lambda: pub.is_connected)
                sends = Sends(pub, sub, how)
                reading = in_thread(sends.read)
                try:
                    for place in range(1, PLACES_MOST):
                        if not await sends.round(place):
                            return place
                finally:
                    sends.is_over = True
                    await asyncio.to_thread(reading.join, 10)
        raise AssertionError("the sends never came to their end")

    loop = Loop()
    try:
        places = loop.run_until_complete(asyncio.wait_for(search(), 120))
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    print(f"{places} places")
    assert places >= 5
