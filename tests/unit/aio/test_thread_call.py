"""A call in a thread is made once, and what it made is taken or undone, whenever its task is cancelled."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from rstream.aio._thread_call import ThreadCall

pytestmark = pytest.mark.anyio


async def test_its_result_and_its_error_are_the_callers():
    assert await ThreadCall(lambda: 7).result() == 7
    with pytest.raises(ZeroDivisionError):
        await ThreadCall(lambda: 1 / 0).result()


async def test_it_is_not_kept_waiting_by_threads_of_others():
    may_end = threading.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(60):  # of 40 that anyio lends
            tasks.start_soon(anyio.to_thread.run_sync, may_end.wait)
        await anyio.sleep(0.05)
        with anyio.fail_after(20):
            assert await ThreadCall(lambda: 7).result() == 7
        may_end.set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_at_any_moment_nothing_stays(rng):
    """asyncio's own cancellation, which leaves the thread behind."""
    made, undone, taken = [], [], []
    naps = threading.Event()

    def make(number):
        naps.wait(rng.choice([0, 0.0002, 0.001]))
        made.append(number)
        return number

    async def take(call):
        taken.append(await call.result())

    for number in range(300):
        call = ThreadCall(lambda number=number: make(number), undone.append)
        task = asyncio.ensure_future(take(call))
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        await asyncio.sleep(rng.choice([0, 0.0002, 0.001]))
        after = []
        is_left = call.when_done(lambda after=after: after.append(True))
        task.cancel()
        await asyncio.wait([task])
        await call.wait_done()
        with anyio.fail_after(20):
            while after != [True] * is_left:
                await asyncio.sleep(0.001)
    with anyio.fail_after(20):
        while sorted(undone + taken) != sorted(made):
            await asyncio.sleep(0.001)
    assert undone
    assert taken
