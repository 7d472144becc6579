"""A writer that closes does not wait for readers that have all its data, and they get its end.

The readers take the data and then do nothing until some time after the writers' processes have
ended.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time

import pytest

from rstream import aio, stream
from rstream.driver import Driver, ensure_driver
from tests.support import free_port

ROUNDS = 200
AT_ONCE = 20
#: How long readers stay away after the writers have ended.
IDLE_S = 0.3
#: Much less than a close waits for the end where it does.
QUICK_S = 0.05


def channel_of(medium):
    return None if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def read_after_the_end(names, channel, reader_dir, **task):
    """The seconds that each writer's close took, and what each reader found afterwards."""
    with contextlib.ExitStack() as stack:
        readers = [
            stack.enter_context(stream.subscriber(one, int, channel=channel, dir=reader_dir))
            for one in names
        ]
        task |= {"names": names, "channel": channel}
        command = [sys.executable, "-m", "tests.system.end_worker", json.dumps(task)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writers:
            assert [reader.get(timeout_s=30.0) for reader in readers] == [1] * len(names)
            output, _ = writers.communicate(timeout=60)
        assert writers.returncode == 0
        time.sleep(IDLE_S)
        return [float(line) for line in output.split()], [list(one) for one in readers]


@pytest.mark.ci
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_close_is_quick_and_its_end_arrives_after_the_process(driver_dir, name, medium):
    ensure_driver(driver_dir)
    channel, took_s = channel_of(medium), []
    for start in range(0, ROUNDS, AT_ONCE):
        names = [f"{name}-{number}" for number in range(start, start + AT_ONCE)]
        times_s, found = read_after_the_end(
            names, channel, driver_dir, dir=driver_dir, driver=False
        )
        took_s += times_s
        assert found == [[]] * AT_ONCE  # an end that is missing raises PublisherLost
    assert len(took_s) == ROUNDS
    assert statistics.median(took_s) < QUICK_S


def test_the_end_arrives_when_the_writer_has_a_driver_of_its_own(make_driver_dir, name):
    """It goes with the process, so that the close gives the end a moment to arrive."""
    reader_dir = ensure_driver(make_driver_dir())
    for number in range(3):
        _, found = read_after_the_end(
            [f"{name}-{number}"],
            channel_of("udp"),
            reader_dir,
            dir=str(make_driver_dir()),
            driver=True,
        )
        assert found == [[]]


def close_blocking(name, **address):
    with stream.subscriber(name, int, **address) as reader:
        writer = stream.publisher(name, int, **address)
        writer.send(1)
        assert reader.get(timeout_s=30.0) == 1
        assert writer.wait_consumed(timeout_s=30.0)
        begin_s = time.monotonic()
        writer.close()
        took_s = time.monotonic() - begin_s
        assert list(reader) == []
    return took_s


def close_awaited(name, **address):
    import anyio

    async def run():
        async with aio.subscriber(name, int, **address) as reader:
            writer = await aio.publisher(name, int, **address)
            await writer.send(1)
            assert await reader.get(timeout_s=30.0) == 1
            assert await writer.wait_consumed(timeout_s=30.0)
            begin_s = time.monotonic()
            await writer.close()
            took_s = time.monotonic() - begin_s
            assert [item async for item in reader] == []
        return took_s

    return anyio.run(run)


@pytest.mark.parametrize("close", [close_blocking, close_awaited])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_close_by_a_shared_driver_does_not_wait_for_the_end_to_be_seen(
    driver_dir, name, close, medium
):
    address = {"channel": channel_of(medium), "dir": ensure_driver(driver_dir)}
    assert statistics.median(close(f"{name}-{n}", **address) for n in range(5)) < QUICK_S


def test_a_close_by_a_driver_of_this_process_waits_for_the_end_to_be_seen(driver_dir, name):
    with Driver(driver_dir):
        assert close_blocking(name, dir=driver_dir) > QUICK_S
