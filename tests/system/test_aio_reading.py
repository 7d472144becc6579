"""rstream.aio.subscriber between processes: a killed driver, Ctrl-C, UDP with loss, an eviction."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import anyio
import pytest

from rstream import _core, aio, policy, stream
from rstream._session import _joining, _links
from rstream.config import DriverConfig
from rstream.driver import Driver, ensure_driver
from tests.support import free_port, until_async

pytestmark = pytest.mark.anyio

LONG_S = 30.0
EXIT_S = 5.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def shared_dir(driver_dir):
    return ensure_driver(
        driver_dir, config=DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)
    )


@pytest.fixture
def slow_joins(monkeypatch):
    """Make each rejoin take a fifth of a second longer; return the times at which they began."""
    real, begun_s = _joining.exchange, []

    def slow(link):
        begun_s.append(time.monotonic())
        time.sleep(0.2)
        return real(link)

    monkeypatch.setattr(_joining, "exchange", slow)
    return begun_s


def kill_driver(directory):
    os.kill(_core.driver_info(directory).pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["items", "poll"])
async def test_a_killed_driver_is_joined_again_beside_the_loop(shared_dir, slow_joins, how):
    """The task that waits wakes, a thread joins again, other tasks run, and reading goes on."""
    turned_s, events = [], []

    async def note_turns():
        while True:
            await anyio.sleep(0.001)
            turned_s.append(time.monotonic())

    async def read():
        if how == "items":
            async for number in sub:
                return number
        while not (items := sub.poll()):
            events.extend(sub.events())
            await sub.wait()
        return items[0]

    async def write_again():
        async with aio.publisher("lost", int, dir=shared_dir, linger_s=5) as pub:
            await pub.send(1)

    with anyio.fail_after(LONG_S):
        async with (
            aio.subscriber("lost", int, dir=shared_dir, on_lost="event", on_gap="resume") as sub,
            anyio.create_task_group() as tasks,
        ):
            pub = await aio.publisher("lost", int, dir=shared_dir, linger_s=0)
            await pub.send(0)
            assert await sub.get() == 0
            pub.abandon()  # nobody has completed the stream
            tasks.start_soon(note_turns)
            kill_driver(shared_dir)
            await until_async(lambda: not sub._source.inputs.link.is_alive)
            tasks.start_soon(write_again)
            assert await read() == 1
            begun_s = slow_joins[0]
            assert any(begun_s < at_s < begun_s + 0.2 for at_s in turned_s)
            assert sub.statistics()["rejoins"] == 1
            kinds = [type(event) for event in events + sub.events()]
            assert kinds.count(stream.SessionChanged) == 1
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("how", ["read on", "close", "abandon"])
async def test_a_read_cancelled_during_a_rejoin(shared_dir, slow_joins, how):
    """asyncio's cancellation does not stop the thread: the next read waits for it, and close
    leaves what it has joined.
    """
    sub = await aio.subscriber("cancelled", int, dir=shared_dir, on_lost="event")
    with anyio.move_on_after(0.01):
        await sub.get()
    kill_driver(shared_dir)
    await until_async(lambda: not sub._source.inputs.link.is_alive)
    reading = asyncio.ensure_future(sub.get())
    await until_async(lambda: slow_joins)
    reading.cancel()
    await asyncio.wait([reading])
    assert sub._feed.join_call.is_running
    if how == "read on":
        async with aio.publisher("cancelled", int, dir=shared_dir) as pub:
            await pub.send(1)
            assert await sub.get(timeout_s=LONG_S) == 1
        assert sub.statistics()["rejoins"] == 1
    if how == "abandon":
        sub.abandon()
        await until_async(lambda: sub._feed.has_left)
    else:
        await sub.close()
    assert sub._source.is_closed
    await until_async(lambda: not sub._feed.join_call.is_running)
    await until_async(
        lambda: not [link for (_, path), link in _links._links.items() if path == shared_dir]
    )


async def test_an_evicted_reader_joins_again_beside_the_loop(tmp_path):
    """It stands still while another reader goes on. The gap is told, and reading goes on."""
    on_slow = policy.Evict(after_s=0.2, rejoin=True)
    with (
        Driver(dir=str(tmp_path / "driver"), config=DriverConfig(timer_interval_s=0.05)) as driver,
        stream.publisher("evicts", int, dir=driver.dir, linger_s=0) as pub,
        stream.subscriber("evicts", int, dir=driver.dir, on_lost="event") as other,
        anyio.fail_after(LONG_S),
    ):
        async with aio.subscriber("evicts", int, dir=driver.dir, on_slow=on_slow) as sub:
            sent = received = 0

            def go_on():
                nonlocal sent, received
                for _ in range(20_000):  # the other reader keeps up: there may be room for ever
                    if pub.offer(sent) <= 0:
                        break
                    sent += 1
                    received += len(other.poll())
                received += len(other.poll())

            await until_async(lambda: pub.is_connected)
            go_on()
            assert await sub.get() == 0
            while received < 20_000:  # many windows: it no longer holds the stream
                go_on()
                await anyio.sleep(0.001)
            expected, gap = 1, 0
            with anyio.move_on_after(LONG_S) as going_on:
                async with anyio.create_task_group() as tasks:

                    async def keep_going():
                        while True:
                            go_on()
                            await anyio.sleep(0.001)

                    tasks.start_soon(keep_going)
                    async for number in sub:
                        if number != expected:
                            gap = number - expected
                            break
                        expected += 1
                    going_on.cancel()
            assert gap > 0
            assert sub._feed.join_call is not None  # a thread did it
            assert sub.statistics()["evicted"] == 1
            kinds = [type(event) for event in sub.events()]
            assert kinds.count(stream.Evicted) == kinds.count(stream.Gap) == 1


async def test_udp_with_loss_arrives_whole_and_in_order(make_driver_dir):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    lossy = DriverConfig(options={"fault-receive-data-loss": "0.02", "fault-seed": "7"})
    received = []

    async def write():
        async with aio.publisher("lossy", int, channel=channel, dir=writes.dir) as pub:
            for number in range(5000):
                await pub.send(number)

    with (
        Driver(dir=make_driver_dir()) as writes,
        Driver(dir=make_driver_dir(), config=lossy) as reads,
        anyio.fail_after(LONG_S),
    ):
        async with (
            aio.subscriber("lossy", int, channel=channel, dir=reads.dir) as sub,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(write)
            async for number in sub:
                received.append(number)  # noqa: PERF401 - as users write it
    assert received == list(range(5000))


WAITS = """
import sys
import anyio
from rstream import aio
async def main():
    writing = aio.publisher("alone", connect_timeout_s=None)
    async with aio.subscriber("waits") as sub, writing as pub:
        print("waits", flush=True)
        if sys.argv[1] == "send":
            await pub.send(1)
        else:
            async for item in sub:
                pass
anyio.run(main, backend=sys.argv[2])
"""


@pytest.mark.parametrize("how", ["items", "send"])
async def test_ctrl_c_ends_every_wait(shared_dir, how, anyio_backend):
    process = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [sys.executable, "-c", WAITS, how, anyio_backend],
        env={**os.environ, "RSTREAM_DIR": shared_dir},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "waits\n"
        await anyio.sleep(0.05)
        began_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG_S)
        assert time.monotonic() - began_s < EXIT_S
        assert "KeyboardInterrupt" in errors
    finally:
        process.kill()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_asyncio_timeout_ends_any_wait(shared_dir):
    async with (
        aio.subscriber("idle", dir=shared_dir) as sub,
        aio.publisher("alone", dir=shared_dir, linger_s=0) as pub,
    ):
        for wait in (
            lambda: anext(aiter(sub)),
            lambda: anext(sub.batches()),
            sub.get,
            sub.wait,
            lambda: pub.send(1),
            lambda: pub.wait_consumed(1 << 40),
        ):
            began_s = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await wait()
            assert 0.1 <= time.monotonic() - began_s < 2.0
