"""Hubs and other publishers of this program, read by a loop."""

from __future__ import annotations

import contextlib
import threading

import anyio
import pytest

from rstream import aio, stages
from rstream.errors import ConfigError

pytestmark = pytest.mark.anyio

LONG_S = 20


async def test_a_hub_is_read_while_other_threads_feed_it():
    hub, queues = stages.merge_hub(), [stages.source_queue(capacity=4) for _ in range(3)]
    for queue in queues:
        queue.subscribe(hub.sink())
    hub.close()

    def feed(queue, first):
        with queue:
            for number in range(first, first + 200):
                queue.send(number, timeout_s=LONG_S)

    threads = [
        threading.Thread(target=feed, args=(queue, 1000 * n), daemon=True)
        for n, queue in enumerate(queues)
    ]
    for thread in threads:
        thread.start()
    with anyio.fail_after(LONG_S):
        got = [item async for item in aio.items(hub, prefetch=3)]
    for n in range(3):
        assert [i for i in got if i // 1000 == n] == list(range(1000 * n, 1000 * n + 200))


async def test_nothing_is_requested_ahead_of_what_the_loop_takes():
    made = []

    def numbers():
        for number in range(100):
            made.append(number)
            yield number

    async with contextlib.aclosing(aio.items(stages.from_iterable(numbers()), prefetch=4)) as items:
        assert await anext(items) == 0
        assert len(made) <= 4 + 1  # from_iterable looks one ahead
        assert await anext(items) == 1
        assert len(made) <= 6 + 1


async def test_an_error_comes_behind_the_elements():
    queue = stages.source_queue()
    queue.send(1)
    queue.fail(ValueError("broken"))
    got = []
    with anyio.fail_after(LONG_S), pytest.raises(ValueError, match="broken"):
        async for item in aio.items(queue):
            got += [item]
    assert got == [1]


async def test_a_loop_that_is_cancelled_leaves_the_hub():
    queue = stages.source_queue()
    hub = stages.broadcast_hub(wait_for=0)
    queue.subscribe(hub)
    with anyio.move_on_after(0.05):
        async with contextlib.aclosing(aio.items(hub)) as items:
            async for _ in items:
                raise AssertionError("nothing was sent")
    queue.send(1, timeout_s=LONG_S)
    queue.close()
    assert [item async for item in aio.items(hub)] == []


@pytest.mark.parametrize(("publisher", "prefetch"), [([1, 2], 1), (stages.from_iterable([1]), 0)])
async def test_what_cannot_be_read_is_refused(publisher, prefetch):
    with pytest.raises(ConfigError):
        async for _ in aio.items(publisher, prefetch=prefetch):
            raise AssertionError("not reached")
