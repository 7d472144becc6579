"""Helpers of the binding tests."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from typing import Any

from tests.support import until

__all__ = ("IPC", "pair", "receive", "run_python", "send", "until")

IPC = "aeron:ipc"


def pair(client: Any, stream_id: int = 7, channel: str = IPC, **options: Any) -> tuple[Any, Any]:
    """A connected publication and subscription with room for a message.

    The driver reports the connection first and the room later.
    """
    subscription = client.add_subscription(channel, stream_id)
    address = subscription.local_address
    target = f"aeron:udp?endpoint={address}" if address else channel
    publication = client.add_publication(target, stream_id, **options)
    until(
        lambda: (
            publication.is_connected
            and subscription.is_connected
            and publication.available_window > 0
        )
    )
    return publication, subscription


def send(publication: Any, *messages: bytes) -> None:
    for message in messages:
        until(lambda message=message: publication.offer(message) > 0)


def receive(subscription: Any, count: int, timeout_s: float = 10.0) -> list[bytes]:
    got: list[bytes] = []
    deadline_s = time.monotonic() + timeout_s
    while len(got) < count:
        assert time.monotonic() < deadline_s, f"{len(got)} of {count} messages in time"
        with subscription.poll(count - len(got)) as batch:
            got += batch.to_list()
        if len(got) < count:
            subscription.wait(0.1)
    return got


def run_python(
    code: str, *arguments: str, timeout_s: float = 60.0, flags: tuple[str, ...] = ()
) -> str:
    """Run code in a fresh process; its exit code is the verdict."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
