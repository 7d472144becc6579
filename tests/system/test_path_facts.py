"""A stream that follows the path (``cc=path``), over loopback: what its tools tell of the path, and
what waits before its reader.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

import rstream
from rstream import metrics
from rstream.prometheus._families import families, look_at
from tests.support import free_port
from tests.system.test_cli import run

if TYPE_CHECKING:
    from collections.abc import Iterator


def paths(directory: str) -> Iterator[metrics.PathState | None]:
    return (state.path for state in metrics.publications(directory))


def known_path(directory: str, seconds: float = 30.0) -> metrics.PathState:
    """What is known once all has arrived: it changes no more."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for path in paths(directory):
            is_known = path is not None and path.least_rtt_ns and path.bandwidth_bytes_per_s
            if path is not None and is_known and path.under_way_bytes == 0:
                return path
        time.sleep(0.01)
    raise AssertionError(f"nothing is known of the path after {seconds} s: {[*paths(directory)]}")


def test_tools_tell_what_a_stream_knows_of_its_path(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Driver(dir=driver_dir),
        rstream.subscriber("followed", channel=channel, dir=driver_dir) as sub,
        rstream.publisher("followed", channel=f"{channel}|cc=path", dir=driver_dir) as pub,
    ):
        items = iter(sub)
        for _ in range(50):
            for _ in range(100):
                pub.send(bytes(1000))
            assert len([*islice(items, 100)]) == 100
        path = known_path(driver_dir)
        assert path.bandwidth_bytes_per_s is not None
        assert path.bandwidth_bytes_per_s > 10_000
        assert path.least_rtt_ns is not None
        assert path.least_rtt_ns < 10_000_000_000
        assert 0 <= path.loss_ratio <= 1
        text = run("stat", "--once", "--dir", driver_dir).stdout
        assert f"path: {path.bandwidth_bytes_per_s:,} bytes/s, least round trip " in text
        assert ", 0 bytes under way" in text
        found = json.loads(run("stat", "--json", "--dir", driver_dir).stdout)["publications"]
        assert [one["path"]["least_rtt_ns"] for one in found] == [path.least_rtt_ns]
        assert "; path: " in run("top", "--once", "--interval", "0.1", "--dir", driver_dir).stdout
        exported = {one.name: [*one.samples] for one in families(look_at(driver_dir, 10))}
        (sample,) = exported["rstream_publication_path_bandwidth_bytes_per_second"]
        assert sample[1] == path.bandwidth_bytes_per_s


def test_a_stream_without_it_knows_none(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Driver(dir=driver_dir),
        rstream.subscriber("plain", channel=channel, dir=driver_dir) as sub,
        rstream.publisher("plain", channel=channel, cc="static", dir=driver_dir) as pub,
    ):
        pub.send(b"x")
        assert next(iter(sub)) == b"x"
        assert [*paths(driver_dir)] == [None]
        assert "path:" not in run("stat", "--once", "--dir", driver_dir).stdout


SMALL = rstream.DriverConfig(options={"reader-window": "true"})
WRITER = """
import sys, rstream
directory, channel = sys.argv[1:]
with rstream.publisher("slow", channel=channel, dir=directory, linger_s=0) as pub:
    while True:
        pub.send("x" * 160)
"""


def test_before_a_slow_reader_little_waits(driver_dir: str) -> None:
    """The writer never rests. What waits, waits at the reader and in the writer's log."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Driver(dir=driver_dir, config=SMALL),
        rstream.subscriber("slow", channel=channel, dir=driver_dir) as sub,
    ):
        command = [sys.executable, "-W", "ignore", "-c", WRITER, driver_dir, f"{channel}|cc=path"]
        writer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            for _ in range(5):
                assert sub.get(timeout_s=20)
                time.sleep(0.1)
            for _ in range(120):
                assert sub.get(timeout_s=20)
                time.sleep(0.02)
            (state,) = metrics.publications(driver_dir)
            assert state.queued_bytes is not None
            assert state.queued_bytes < 4096
        finally:
            writer.kill()
            writer.wait()


def test_large_messages_pass_a_small_window(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Driver(dir=driver_dir, config=SMALL),
        rstream.subscriber("large", channel=channel, dir=driver_dir) as sub,
        rstream.publisher("large", channel=channel, dir=driver_dir) as pub,
        ThreadPoolExecutor() as pool,
    ):
        assert [path is None for path in paths(driver_dir)] == [False]
        sent = [bytes([n]) * (3 * n + 1) * 100_000 for n in range(12)]
        sending = pool.submit(lambda: [pub.send(one, timeout_s=30) for one in sent])
        for one in sent:
            assert sub.get(timeout_s=30) == one
            time.sleep(0.01)
        assert len(sending.result()) == len(sent)
