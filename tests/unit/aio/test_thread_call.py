"""A call in a thread is made once.

When its task is cancelled, at any time, its result is either delivered or undone.
"""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from rstream.aio._thread_call import ThreadCall

pytestmark = pytest.mark.anyio


async def test_the_caller_gets_its_result_and_its_error():
    assert await ThreadCall(lambda: 7).result() == 7
    with pytest.raises(ZeroDivisionError):
        await ThreadCall(lambda: 1 / 0).result()


async def test_it_does_not_wait_for_the_threads_of_anyio():
    may_end = threading.Event()
    async with anyio.create_task_group() as tasks:
        for _ in range(60):  # anyio lends 40 threads at most
            tasks.start_soon(anyio.to_thread.run_sync, may_end.wait)
        await anyio.sleep(0.05)
        with anyio.fail_after(20):
            assert await ThreadCall(lambda: 7).result() == 7
        may_end.set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_thread_that_cannot_start_is_told(monkeypatch):
    def fail(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    call = ThreadCall(lambda: 7)
    with anyio.fail_after(20), pytest.raises(RuntimeError, match="can't start"):
        await call.result()
    assert not call.is_running


def test_the_main_thread_starts_no_thread(monkeypatch):
    """A signal handler may raise inside Thread.start, and break the thread and its caller."""
    starters = []
    start = threading.Thread.start

    def note(thread):
        starters.append(threading.get_ident())
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)

    async def call():
        assert await ThreadCall(lambda: 7).result() == 7

    asyncio.run(call())
    assert len(starters) == 1
    assert threading.get_ident() not in starters


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_at_any_moment_leaves_nothing_behind(rng):
    """asyncio's own cancellation does not wait for the thread."""
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
