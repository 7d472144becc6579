"""The two ends of an interop run: the peer process, and our own sending and receiving."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import rstream
from rstream import _core, metrics
from rstream.client import Publication, Subscription
from tests.interop.messages import SIZE_MAX, Messages
from tests.support import free_port

SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
STREAM = 1001
STALL_S = 60.0
PEER = Path(__file__).parent / "peer.py"


@dataclass(frozen=True)
class Peer:
    """A peer process that is ready."""

    process: subprocess.Popen[str]
    directory: str
    client_id: int
    count: int

    def line(self) -> str:
        """The next line it prints. It exits when it stalls, which ends the wait."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError(
                f"the peer left with {self.process.wait(STALL_S)}; its text is on standard error"
            )
        return line

    def await_done(self) -> None:
        """Wait until it has sent, or received and checked, every message."""
        assert self.line() == f"done {self.count}"

    def ask(self, command: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.line()

    def assert_nothing_invalid(self) -> None:
        """Check that the peer's driver found no fault in any of our datagrams."""
        assert counter(self.directory, "Invalid packets") == 0
        assert counter(self.directory, "Errors") == 0, _core.read_errors(self.directory)


@contextmanager
def peer(
    python: str,
    role: str,
    channel: str,
    count: int,
    *,
    directory: str | None = None,
    size_max: int = SIZE_MAX,
    env: dict[str, str] | None = None,
) -> Iterator[Peer]:
    """The peer process, ready; told to exit at the end, killed if it does not."""
    command = [
        python,
        str(PEER),
        role,
        "--channel",
        channel,
        "--stream",
        str(STREAM),
        "--count",
        str(count),
    ]
    command += ["--seed", str(SEED), "--size-max", str(size_max)]
    if directory is not None:
        command += ["--dir", directory]
    with aeron_process(command, env) as process:
        assert process.stdout is not None
        word, where, client_id = process.stdout.readline().split()
        assert word == "ready"
        yield Peer(process, where, int(client_id), count)


@contextmanager
def aeron_process(
    command: list[str], env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process with its directories in a temporary place.

    Ended by the end of its standard input, killed if it does not exit.
    """
    with tempfile.TemporaryDirectory(
        prefix="rstream-interop-", ignore_cleanup_errors=True
    ) as place:
        environment = {**os.environ, "TMPDIR": place, **(env or {})}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            yield process
            process.communicate(timeout=STALL_S)
            assert process.returncode == 0
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def udp_channel(options: str = "") -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{free_port()}{options}"


def send_all(publication: Publication, count: int, size_max: int = SIZE_MAX) -> None:
    messages = Messages(SEED, size_max)
    for number in range(count):
        message = messages.next()
        deadline = time.monotonic() + STALL_S
        while (result := publication.offer(message)) < 0:
            assert result in (_core.BACK_PRESSURED, _core.ADMIN_ACTION, _core.NOT_CONNECTED), result
            assert time.monotonic() < deadline, (
                f"message {number} ({len(message)} bytes) not accepted: {result}"
            )
            publication.wait(0.1)


def receive_all(
    subscription: Subscription, count: int, size_max: int = SIZE_MAX, pause_s: float = 0.0
) -> None:
    """Receive and check every message; pause after each poll."""
    messages = Messages(SEED, size_max)
    received, moved_s = 0, time.monotonic()
    while received < count:
        with subscription.poll(64) as batch:
            for data in batch:
                expected = messages.next()
                assert data == expected, (
                    f"message {received}: {len(data)} bytes differ from the"
                    f" {len(expected)} expected"
                )
                received += 1
                moved_s = time.monotonic()
        assert time.monotonic() - moved_s < STALL_S, f"stalled at message {received}"
        subscription.wait(0.05)
        time.sleep(pause_s)


def await_end(subscription: Subscription, timeout_s: float = 15.0) -> rstream.client.ImageEvent:
    """The event of the image's end; no message may arrive after it."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with subscription.poll(64) as batch:
            assert len(batch) == 0
        for event in subscription.events():
            if not event.is_available:
                return event
        subscription.wait(0.05)
    raise AssertionError(f"the image is still there after {timeout_s} s")


def lossy_driver(directory: str, **options: str) -> rstream.Driver:
    """A driver that loses 1 % of what we send and of what we receive, data and control alike."""
    kinds = [
        f"fault-{way}-{what}-loss" for way in ("send", "receive") for what in ("data", "control")
    ]
    return rstream.Driver(
        dir=directory, options={"fault-seed": str(SEED), **dict.fromkeys(kinds, "0.01"), **options}
    )


def counter(directory: str, label: str) -> int:
    return next(c.value for c in metrics.counters(directory) if c.label.startswith(label))
