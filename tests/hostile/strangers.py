"""What the tests of a receiving driver share: a reader, its memory, and honest publishers."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rstream import metrics
from rstream.client import Client, Subscription
from tests.hostile.frames import Address
from tests.hostile.streams import STREAM, connect, read_count, send
from tests.support import free_port, until


def is_long() -> bool:
    """`make prove` runs the long variants."""
    return bool(os.environ.get("RSTREAM_HOSTILE_LONG"))


@dataclass(frozen=True)
class Target:
    """A reader that waits for publishers at a UDP port."""

    client: Client
    subscription: Subscription
    address: Address
    dir: str
    channel: str

    def taken(self) -> int:
        """Bytes of shared memory that the logs of its images take."""
        files = (Path(self.dir) / "images").glob("*")
        return sum(file.stat().st_blocks * 512 for file in files)

    def counters(self) -> int:
        return len(metrics.counters(self.dir))

    def connect_honest(self, message: bytes = b"honest") -> float:
        """An honest publisher sends one message; returns the seconds until it was connected."""
        begin = time.monotonic()
        images = self.subscription.image_count
        with self.client.add_publication(
            self.channel + "|term-length=64k", STREAM, exclusive=True
        ) as publication:
            connect(publication)
            elapsed_s = time.monotonic() - begin
            until(lambda: self.subscription.image_count > images)
            send(publication, message)
            assert read_count(self.subscription, 1) == [message]
        return elapsed_s


@contextlib.contextmanager
def target(client: Client, directory: str, suffix: str = "") -> Iterator[Target]:
    address = ("127.0.0.1", free_port())
    channel = f"aeron:udp?endpoint={address[0]}:{address[1]}{suffix}"
    with client.add_subscription(channel, STREAM) as subscription:
        yield Target(client, subscription, address, directory, channel)
