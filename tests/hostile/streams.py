"""What the tests of this folder do with honest streams: send, read, and look at counters."""

from __future__ import annotations

import time

from rstream import metrics
from rstream.client import Publication, Subscription
from tests.support import until

STREAM = 1001
STALL_S = 20.0


def send(publication: Publication, message: bytes) -> None:
    """Offers until it is accepted."""
    deadline = time.monotonic() + STALL_S
    while (result := publication.offer(message)) < 0:
        assert time.monotonic() < deadline, f"not accepted: {result}"
        publication.wait(0.05)


def read(subscription: Subscription) -> list[bytes]:
    """What is there now."""
    with subscription.poll(1000) as batch:
        return batch.to_list()


def read_count(subscription: Subscription, count: int) -> list[bytes]:
    """Reads until so many messages have come."""
    messages: list[bytes] = []
    deadline = time.monotonic() + STALL_S
    while len(messages) < count:
        messages += read(subscription)
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages"
        subscription.wait(0.01)
    return messages


def connect(publication: Publication, *subscriptions: Subscription) -> None:
    until(lambda: publication.is_connected and all(s.is_connected for s in subscriptions))


def counter(driver_dir: str, label: str) -> int:
    """The value of the first counter whose label begins so; 0: there is none."""
    for entry in metrics.counters(driver_dir):
        if entry.label.startswith(label):
            return entry.value
    return 0
