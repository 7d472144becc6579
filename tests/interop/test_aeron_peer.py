"""A real Aeron peer on the other end: Aeron's C client and C media driver.

What must hold: over UDP in both directions, sizes from 0 to 1 MiB, with 1 % loss on data and on control, every message arrives once, in order,
unchanged. And Aeron's client works on our driver's directory, ours on Aeron's.
The count is small here; `make prove` runs 100 000 (RSTREAM_INTEROP_COUNT).
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rstream
from rstream import _core
from rstream.client import Client

from tests.interop.messages import Messages

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

COUNT = int(os.environ.get("RSTREAM_INTEROP_COUNT", "5000"))
SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
STREAM = 1001
STALL_S = 60.0
PEER = Path(__file__).parent / "peer.py"


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"RSTREAM_SEED={SEED}")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def peer(
    python: str, role: str, channel: str, count: int, directory: str | None = None, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The peer process, set up and ready; killed if it is still there at the end."""
    command = [python, str(PEER), role, "--channel", channel, "--stream", str(STREAM), "--count", str(count), "--seed", str(SEED)]
    if directory is not None:
        command += ["--dir", directory]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def send_all(publication: rstream.client.Publication, count: int) -> None:
    messages = Messages(SEED)
    for number in range(count):
        message = messages.next()
        deadline = time.monotonic() + STALL_S
        while (result := publication.offer(message)) < 0:
            assert result in (_core.BACK_PRESSURED, _core.ADMIN_ACTION, _core.NOT_CONNECTED), result
            assert time.monotonic() < deadline, f"message {number} ({len(message)} bytes) not taken: {result}"
            publication.wait(0.1)


def receive_all(subscription: rstream.client.Subscription, count: int) -> None:
    messages = Messages(SEED)
    received, moved_s = 0, time.monotonic()
    while received < count:
        with subscription.poll(64) as batch:
            for data in batch:
                expected = messages.next()
                assert data == expected, f"message {received}: {len(data)} bytes differ from the {len(expected)} expected"
                received += 1
                moved_s = time.monotonic()
        assert time.monotonic() - moved_s < STALL_S, f"stalled at message {received}"
        subscription.wait(0.05)


def finish(process: subprocess.Popen[str], count: int) -> None:
    output, _ = process.communicate(timeout=STALL_S)
    assert process.returncode == 0, output
    assert f"done {count}" in output


def lossy_driver(directory: str) -> rstream.Driver:
    """1 % of what we send and of what we receive is lost, data and control alike."""
    kinds = [f"fault-{way}-{what}-loss" for way in ("send", "receive") for what in ("data", "control")]
    return rstream.Driver(dir=directory, options={"fault-seed": str(SEED), **dict.fromkeys(kinds, "0.01")})


def test_we_publish_and_aeron_subscribes(aeron_python: str, driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        lossy_driver(driver_dir),
        Client(dir=driver_dir) as client,
        peer(aeron_python, "subscribe", channel, COUNT) as process,
    ):
        send_all(client.add_publication(channel, STREAM), COUNT)
        finish(process, COUNT)
        assert counter(driver_dir, "Retransmits sent") > 0


def test_aeron_publishes_and_we_subscribe(aeron_python: str, driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with lossy_driver(driver_dir), Client(dir=driver_dir) as client:
        subscription = client.add_subscription(channel, STREAM)
        with peer(aeron_python, "publish", channel, COUNT) as process:
            receive_all(subscription, COUNT)
            finish(process, COUNT)
        assert counter(driver_dir, "NAKs sent") > 0
        assert counter(driver_dir, "Invalid packets") == 0


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_aerons_client_works_on_our_driver(aeron_python: str, driver_dir: str, medium: str) -> None:
    channel = "aeron:ipc" if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    count = min(COUNT, 1000)
    with (
        rstream.Driver(dir=driver_dir),
        Client(dir=driver_dir) as client,
        peer(aeron_python, "subscribe", channel, count, driver_dir) as process,
    ):
        send_all(client.add_publication(channel, STREAM), count)
        finish(process, count)
    with rstream.Driver(dir=driver_dir), Client(dir=driver_dir) as client:
        subscription = client.add_subscription(channel, STREAM)
        with peer(aeron_python, "publish", channel, count, driver_dir) as process:
            receive_all(subscription, count)
            finish(process, count)


AERON_DRIVER = """
import sys, pyaeron
driver = pyaeron.MediaDriver()
print(driver.dir, flush=True)
sys.stdin.read()
driver.close()
"""


def test_our_client_works_on_aerons_driver(aeron_python: str) -> None:
    process = subprocess.Popen([aeron_python, "-c", AERON_DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        directory = process.stdout.readline().strip()
        with Client(dir=directory, start_driver=False) as client:
            subscription = client.add_subscription("aeron:ipc", STREAM)
            publication = client.add_publication("aeron:ipc", STREAM)
            deadline = time.monotonic() + 10
            while not publication.is_connected:
                assert time.monotonic() < deadline
                publication.wait(0.05)
            messages, expected = Messages(SEED), Messages(SEED)
            received = 0
            for _ in range(200):
                message = messages.next()
                while publication.offer(message) < 0:
                    received += drain(subscription, expected)
                received += drain(subscription, expected)
            deadline = time.monotonic() + 10
            while received < 200 and time.monotonic() < deadline:
                received += drain(subscription, expected)
                subscription.wait(0.05)
            assert received == 200
    finally:
        process.communicate("", timeout=20)


def drain(subscription: rstream.client.Subscription, expected: Messages) -> int:
    with subscription.poll(64) as batch:
        for data in batch:
            assert data == expected.next()
        return len(batch)


def counter(directory: str, label: str) -> int:
    from rstream import metrics

    return next(c.value for c in metrics.counters(directory) if c.label.startswith(label))
