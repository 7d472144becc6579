"""rstream.aio between processes: a killed driver while the loop sends, a budget that holds it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import anyio
import pytest

from rstream import _core, aio, stream
from rstream._session import _joining, _links
from rstream.config import DriverConfig
from rstream.driver import Driver, ensure_driver
from rstream.errors import BackPressured, DriverLost
from rstream.stream._internal import sending_of
from tests.support import free_port, until_async

pytestmark = pytest.mark.anyio

LONG_S = 30.0


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def shared_dir(driver_dir):
    return ensure_driver(
        driver_dir, config=DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)
    )


async def note_turns(turned_s):
    while True:
        await anyio.sleep(0.001)
        turned_s.append(time.monotonic())


def kill_driver(directory):
    os.kill(_core.driver_info(directory).pid, signal.SIGKILL)


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


async def test_the_loop_goes_on_while_a_lost_driver_is_joined_again(shared_dir, slow_joins):
    """A new driver needs time to start: other tasks run meanwhile, and the possible loss is
    reported.
    """
    turned_s = []
    async with (
        aio.publisher("lost", int, dir=shared_dir, linger_s=0) as pub,
        anyio.create_task_group() as tasks,
    ):
        with stream.subscriber("lost", int, dir=shared_dir, on_lost="event") as sub:
            await pub.send(0)
            await until_async(lambda: sub.poll() == [0])
        tasks.start_soon(note_turns, turned_s)
        first = pub.session_id
        kill_driver(shared_dir)
        await until_async(lambda: not pub.has_session or not sending_of(pub).session.link.is_alive)
        with pytest.raises(DriverLost, match=r"send\(\) or revive\(\)"):
            pub.offer(1)
        with anyio.fail_after(LONG_S):
            await pub.revive()
        assert pub.session_id != first
        assert sum(slow_joins[0] < at_s < slow_joins[0] + 0.2 for at_s in turned_s) > 20
        changes = [event for event in pub.events() if isinstance(event, stream.SessionChanged)]
        assert [(change.old_session_id, change.new_session_id) for change in changes] == [
            (first, pub.session_id)
        ]
        with stream.subscriber("lost", int, dir=shared_dir) as sub:
            await pub.send(1)
            await until_async(lambda: sub.poll() == [1])
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_send_cancelled_during_a_rejoin_still_reports_it(shared_dir, slow_joins):
    """asyncio's cancellation does not stop the thread, and the next send waits for it.

    It finds one new session and one report.
    """
    async with aio.publisher("cancelled", int, dir=shared_dir, linger_s=0) as pub:
        with stream.subscriber("cancelled", int, dir=shared_dir, on_lost="event"):
            await pub.send(0)
        first = pub.session_id
        kill_driver(shared_dir)
        await until_async(lambda: not sending_of(pub).session.link.is_alive)
        sending = asyncio.ensure_future(pub.send(1))
        await until_async(lambda: slow_joins)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert pub.offer(2) < 0  # a thread is still joining
        with stream.subscriber("cancelled", int, dir=shared_dir, on_lost="event") as sub:
            await pub.send(3)
            await until_async(lambda: sub.poll() == [3])
        changes = [event for event in pub.events() if isinstance(event, stream.SessionChanged)]
        assert [(change.old_session_id, change.new_session_id) for change in changes] == [
            (first, pub.session_id)
        ]
        assert pub.statistics()["rejoins"] == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("how", ["close", "cancelled close", "abandon"])
async def test_a_rejoin_that_nobody_waits_for_is_released(shared_dir, slow_joins, how):
    pub = await aio.publisher("left", int, dir=shared_dir, linger_s=0)
    with stream.subscriber("left", int, dir=shared_dir, on_lost="event"):
        await pub.send(0)
    kill_driver(shared_dir)
    await until_async(lambda: not sending_of(pub).session.link.is_alive)
    sending = asyncio.ensure_future(pub.send(1))
    await until_async(lambda: slow_joins)
    sending.cancel()
    await asyncio.wait([sending])
    waiting = asyncio.ensure_future(
        pub.wait_consumed()
    )  # this looks at the thread too, and does not disturb it
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    if how == "abandon":
        pub.abandon()
    else:
        with anyio.move_on_after(0.01 if how == "cancelled close" else LONG_S):
            await pub.close()
    assert pub.is_closed
    await until_async(lambda: len(slow_joins) == 1 and not pub._turns.is_joining)
    await until_async(lambda: sending_of(pub).session.core.is_closed)
    await until_async(
        lambda: not [link for (_, path), link in _links._links.items() if path == shared_dir]
    )


async def test_a_driver_killed_while_a_send_waits_for_room(shared_dir):
    payload = bytes(984)
    async with (
        aio.publisher("waits", bytes, dir=shared_dir, linger_s=0) as pub,
        anyio.create_task_group() as tasks,
    ):
        with stream.subscriber("waits", bytes, dir=shared_dir, on_lost="event") as sub:
            await pub.send(payload)
            while pub.offer(payload) > 0:
                pass
            tasks.start_soon(pub.send, b"the last")
            await anyio.sleep(0.02)
            kill_driver(shared_dir)
            received = []

            def has_last():
                received.extend(sub.poll())
                return received and received[-1] == b"the last"

            await until_async(has_last)
            assert pub.statistics()["rejoins"] == 1
            assert any(isinstance(event, stream.SessionChanged) for event in pub.events())


async def test_a_budget_holds_a_publisher_and_is_reported(tmp_path):
    payload = b"x" * 1000
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    there = DriverConfig(threading="shared", options={"budget": "static", "budget-bytes": "20000"})
    with (
        Driver(dir=str(tmp_path / "here"), config=DriverConfig(threading="shared")) as writes,
        Driver(dir=str(tmp_path / "there"), config=there) as reads,
        # A window that followed the reader would at first be less than the budget.
        stream.subscriber("held", bytes, channel=channel, dir=reads.dir, rcv_wnd="128k") as sub,
    ):
        async with aio.publisher("held", bytes, channel=channel, dir=writes.dir, linger_s=0) as pub:
            await pub.send(payload, timeout_s=LONG_S)
            await until_async(sub.poll)
            sent = 0
            with pytest.raises(
                BackPressured, match="as much is under way as their driver grants"
            ) as held:
                while sent < 100_000:
                    await pub.send(payload, timeout_s=0.5)
                    sent += 1
            assert (held.value.held_by, pub.held_by) == ("budget", "budget")
            received = 0
            with anyio.fail_after(LONG_S):
                while received < sent:
                    received += len(sub.poll())
                    await anyio.sleep(0.001)
            await pub.send(payload, timeout_s=LONG_S)  # there is room again


def test_without_anyio_the_error_names_the_extra():
    code = "import sys; sys.modules['anyio'] = None; import rstream\nrstream.aio"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "rstream.aio needs anyio: pip install " in done.stderr
    assert '".[aio]" in a checkout' in done.stderr
