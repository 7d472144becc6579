"""A publisher without readers, and the tools, say that the last reader left, when and why."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import anyio
import pytest

import rstream
from rstream import metrics, stream
from rstream import rx as rrx
from rstream._client_name import default_name
from rstream.cli import _stat
from rstream.errors import CodecError, MessagesLost, NotConnected
from tests.support import free_port, until


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return "aeron:ipc" if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def of(driver_dir, name):
    return next(state for state in metrics.publications(driver_dir) if state.name == name)


def lines_of(driver_dir, name):
    return "\n".join(_stat.publication_lines([of(driver_dir, name)], driver_dir))


def test_no_reader_has_come_yet(driver_dir, name, channel):
    with stream.publisher(name, channel=channel, dir=driver_dir, connect_timeout_s=0.1) as pub:
        assert (of(driver_dir, name).left_ms, of(driver_dir, name).is_alone) == (0, True)
        assert "left" not in lines_of(driver_dir, name)
        with pytest.raises(NotConnected) as raised:
            pub.send(1)
        assert "left" not in str(raised.value)


def test_a_reader_that_closed(driver_dir, name, channel):
    text = r"the last reader \(.+\) left [0-9] s ago"
    options = {"channel": channel, "dir": driver_dir}
    with stream.publisher(name, **options, linger_s=0, connect_timeout_s=0.2) as pub:
        with stream.subscriber(name, **options) as sub:
            pub.send(1)
            assert sub.get(timeout_s=10) == 1
            assert (of(driver_dir, name).left_ms, of(driver_dir, name).is_alone) == (0, False)
            begin_ms = time.time() * 1000
        until(lambda: not pub.is_connected)
        state = of(driver_dir, name)
        assert begin_ms - 2000 <= state.left_ms <= time.time() * 1000
        assert state.left_why == ""
        who = f"{default_name().split('[')[0]}, pid {os.getpid()}"
        assert state.left_who == (who if channel == "aeron:ipc" else channel.partition("=")[2])
        text_of_stat = f"waits: no subscriber any more: the last reader ({state.left_who}) left"
        assert text_of_stat in lines_of(driver_dir, name)
        with pytest.raises(NotConnected, match=text):
            pub.send(2)
            pub.wait_consumed()
        with stream.subscriber(name, **options):
            until(lambda: pub.is_connected)
            assert of(driver_dir, name).left_ms == 0  # another one is there


def test_a_reader_that_failed(driver_dir, name, channel):
    reader = stream.reader(name, channels=[channel], dir=driver_dir, hold=True)
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        pub.send(1)
        until(lambda: reader.poll(1))
        reader.fail(ValueError("no \x1b[1m use"))
        until(lambda: of(driver_dir, name).left_why)
        assert of(driver_dir, name).left_why == "ValueError: no \x1b[1m use"
        assert r": ValueError: no \x1b[1m use" in lines_of(driver_dir, name)


def test_a_reader_that_left_its_block_with_an_error(driver_dir, name, channel):
    options = {"channel": channel, "dir": driver_dir}
    with stream.publisher(name, **options, linger_s=0, connect_timeout_s=0.2) as pub:
        with pytest.raises(CodecError), stream.subscriber(name, int, **options) as sub:
            pub.send("no number")
            next(iter(sub))
        until(lambda: not pub.is_connected)
        until(lambda: of(driver_dir, name).left_why.startswith("CodecError: "), 5)
        assert "ago: CodecError: " in lines_of(driver_dir, name)
        with pytest.raises(
            NotConnected, match=r"the last reader \(.+\) left . s ago: CodecError: "
        ):
            pub.wait_consumed(pub.position + 1)
        with stream.subscriber(name, **options) as sub:
            until(lambda: pub.is_connected)
        until(lambda: not pub.is_connected)
        assert of(driver_dir, name).left_why == ""  # this one said none


def awaited(name, address):
    async def read():
        async with rstream.aio.subscriber(name, **address) as sub:
            async for _ in sub:
                raise ValueError("bad price")

    anyio.run(read)


def queued(name, address):
    with stream.subscriber(name, **address, on_slow=rstream.policy.Buffer(8)) as sub:
        for _ in sub:
            raise ValueError("bad price")


def awaited_and_queued(name, address):
    async def read():
        on_slow = rstream.policy.Buffer(8)
        async with rstream.aio.subscriber(name, **address, on_slow=on_slow) as sub:
            await sub.get(timeout_s=10)
            raise ValueError("bad price")

    anyio.run(read)


@pytest.mark.parametrize("read", [awaited, queued, awaited_and_queued])
def test_each_face_says_with_what_error_it_left(driver_dir, name, channel, read):
    options = {"channel": channel, "dir": driver_dir}
    with stream.publisher(name, **options, linger_s=0) as pub, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, name, options)
        pub.send(1, timeout_s=20)
        with pytest.raises(ValueError, match="bad price"):
            reading.result(30)
        until(lambda: of(driver_dir, name).left_why == "ValueError: bad price", 5)


def test_a_pipeline_says_with_what_error_it_left(driver_dir, name, channel):
    def fail(_):
        raise ValueError("bad price")

    options = {"channel": channel, "dir": driver_dir}
    with stream.publisher(name, **options, linger_s=0) as pub:
        rrx.from_stream(name, **options).subscribe(fail, lambda _: None)
        pub.send(1, timeout_s=20)
        until(lambda: of(driver_dir, name).left_why == "ValueError: bad price", 5)


def work_in_a_block(name, address):
    with rstream.work.subscriber(name, **address) as jobs:
        for _ in jobs:
            raise ValueError("bad price")


def work_awaited(name, address):
    async def read():
        async with rstream.aio.work_subscriber(name, **address) as jobs:
            async for _ in jobs:
                raise ValueError("bad price")

    anyio.run(read)


@pytest.mark.parametrize("read", [work_in_a_block, work_awaited])
def test_a_reader_of_shared_work_says_its_error(driver_dir, name, channel, read, caplog):
    options = {"channel": channel, "dir": driver_dir}
    jobs = rstream.work.publisher(name, **options, linger_s=0, connect_timeout_s=1)
    with suppress(MessagesLost), jobs, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, name, options)
        jobs.send(1, timeout_s=20)
        with pytest.raises(ValueError, match="bad price"):
            reading.result(30)
        with pytest.raises(NotConnected, match="left with message 1 in hand: ValueError: bad pr"):
            jobs.send(2)
    assert "left with message 1 in hand: ValueError: bad price" in caplog.text
