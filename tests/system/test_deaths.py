"""Processes that are killed, under default settings: who is told, what is reported, what is free.

The time-outs of the driver are 10 s. Whatever is told within half of that is told by the death.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rstream
from rstream import Client, _core, metrics
from rstream.config import ClientConfig
from rstream.driver import ensure_driver
from rstream.errors import PublisherLost
from rstream.stream import Disconnected, Gap
from rstream.stream._internal import sending_of
from tests.support import free_port, until

ROOT = Path(__file__).resolve().parents[2]
SOON_S = 5.0
CODEC = rstream.codecs.raw()

WORKER = """
import json, sys, time
import rstream
task = json.loads(sys.argv[1])
where = {"codec": rstream.codecs.raw(), "dir": task["dir"], "channel": task["channel"]}
if task["role"] == "write":
    with rstream.publisher(task["name"], **where) as publisher:
        for number in range(1 << 40):
            publisher.send(number.to_bytes(8, "little"))
            print(number, flush=True)
            time.sleep(0.001)
else:
    with rstream.subscriber(task["name"], **where) as subscriber:
        print("ready", flush=True)
        for message in subscriber:
            print(int.from_bytes(message, "little"), flush=True)
"""


class Worker:
    """A process that writes or reads, and prints the number of each message."""

    def __init__(self, task, prefix=()):
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", WORKER, json.dumps(task)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def line(self):
        text = self.process.stdout.readline()
        assert text, f"the worker ended: {self.process.wait(10)}"
        return text.strip()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        return time.monotonic()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def start():
    """Start workers, and end them."""
    with contextlib.ExitStack() as stack:

        def make(prefix=(), **task):
            worker = Worker(task, prefix)
            stack.callback(worker.close)
            return worker

        yield make


@pytest.fixture
def directory(driver_dir):
    return ensure_driver(driver_dir)


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return (
        "aeron:ipc?term-length=1m"
        if request.param == "ipc"
        else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    )


def test_readers_are_told_of_a_killed_publisher(directory, channel, name, start):
    with rstream.subscriber(name, codec=CODEC, dir=directory, channel=channel) as subscriber:
        worker = start(role="write", dir=directory, channel=channel, name=name)
        iterator = iter(subscriber)
        next(iterator)
        killed_s = worker.kill()
        with pytest.raises(PublisherLost):
            for _ in iterator:
                pass
        assert time.monotonic() - killed_s < SOON_S


def test_a_writer_is_told_of_a_killed_reader(directory, channel, name, start):
    with rstream.publisher(name, codec=CODEC, dir=directory, channel=channel) as publisher:
        worker = start(role="read", dir=directory, channel=channel, name=name)
        assert worker.line() == "ready"
        publisher.send(bytes(8))
        assert worker.line() == "0"
        killed_s = worker.kill()
        seen = []

        def is_told():
            publisher.offer(bytes(8))
            seen.extend(type(event).__name__ for event in publisher.events())
            return "Disconnected" in seen

        until(is_told, SOON_S)
        assert time.monotonic() - killed_s < SOON_S


def test_the_port_of_a_killed_reader_is_free(directory, name, start):
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
    with rstream.publisher(name, codec=CODEC, dir=directory, channel=channel) as publisher:
        worker = start(role="read", dir=directory, channel=channel, name=name)
        assert worker.line() == "ready"
        publisher.send(bytes(8))
        killed_s = worker.kill()

        def is_free():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    return False
                return True

        until(is_free, SOON_S)
        assert time.monotonic() - killed_s < SOON_S


def test_a_stopped_driver_finds_its_clients_gone(directory, channel, name):
    """Else both would meet the old session again, and the reader would see it lost 10 s later."""
    config = ClientConfig(driver_timeout_s=1.0, start_driver=False)
    pid, _ = _core.driver_info(directory)
    with Client(directory, config=config) as writer, Client(directory, config=config) as reader:
        publication = writer.add_publication(channel, 7)
        subscription = reader.add_subscription(channel, 7)
        until(lambda: publication.is_connected, 30)
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: writer.state != 0 and reader.state != 0, 30)
        finally:
            os.kill(pid, signal.SIGCONT)
            continued_s = time.monotonic()
        until(lambda: not heartbeats(directory), SOON_S)
        assert time.monotonic() - continued_s < SOON_S
        with Client(directory, config=config) as client:
            again = client.add_subscription(channel, 7)
            with client.add_publication(channel, 7) as publisher:
                until(lambda: publisher.is_connected, 30)
                until(again.images)  # over UDP it may come a moment later
                assert {image.session_id for image in again.images()} == {publisher.session_id}
        subscription.close()
        publication.close()


def heartbeats(directory):
    return [
        counter
        for counter in metrics.counters(directory)
        if counter.type_id == metrics.TYPE_CLIENT_HEARTBEAT
    ]


def can_isolate():
    command = ["unshare", "--fork", "--pid", "--mount-proc", "true"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_a_reader_in_another_container_dies(directory, name, start):
    """Its pid means another process to the driver."""
    if not can_isolate():
        pytest.skip("no right to make a pid namespace")
    with rstream.publisher(name, codec=CODEC, dir=directory) as publisher:
        worker = start(
            ("unshare", "--fork", "--pid", "--mount-proc", "--kill-child"),
            role="read",
            dir=directory,
            channel="aeron:ipc",
            name=name,
        )
        assert worker.line() == "ready"
        publisher.send(bytes(8))
        assert worker.line() == "0"
        killed_s = worker.kill()
        until(lambda: not publisher.is_connected, SOON_S)
        assert time.monotonic() - killed_s < SOON_S


def test_a_reader_that_restarts_between_two_looks(directory, channel, name, start):
    """The publisher does nothing meanwhile, and finds a connected reader before and after."""
    task = {"role": "read", "dir": directory, "channel": channel, "name": name}
    with rstream.publisher(name, codec=CODEC, dir=directory, channel=channel) as publisher:
        first = start(**task)
        assert first.line() == "ready"
        positions = [publisher.send(number.to_bytes(8, "little")) for number in range(1000)]
        first.kill()
        second = start(**task)
        assert second.line() == "ready"
        until(lambda: sending_of(publisher).session.core.is_connected, 30)
        count = len(positions)
        while sending_of(publisher).session.core.left.joined < 0:  # until the second one is known
            time.sleep(0.001)
        publisher.send(count.to_bytes(8, "little"))
        second_seen = [int(second.line())]
        while second_seen[-1] != count:
            second_seen.append(int(second.line()))

        events = publisher.events()
        kinds = [type(event).__name__ for event in events]
        assert kinds[:3] == ["Connected", "Disconnected", "Connected"]
        reported = [event for event in events if isinstance(event, Gap)]
        # The first one had taken what it consumed. All beyond that goes to the second one, or is
        # in a gap.
        taken = next(event for event in events if isinstance(event, Disconnected))
        for number, position in enumerate(positions):
            is_reported = any(gap.from_position < position <= gap.to_position for gap in reported)
            is_taken = position <= taken.consumed_position
            assert is_taken or number in second_seen or is_reported, (number, events)
        for gap in reported:
            begin = next(n for n, position in enumerate(positions) if position > gap.from_position)
            assert gap.to_position <= positions[-1]
            assert begin not in second_seen
