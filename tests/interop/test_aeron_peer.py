"""A real Aeron peer on the other end: Aeron's C client and C media driver.

What must hold: over UDP in both directions, with sizes from 0 to 1 MiB and 1 % loss on data and
control, every message arrives once, in order, unchanged; the other side sees the end of a stream;
the peer finds none of our datagrams invalid.

The count is small here; `make prove` runs 100 000 (RSTREAM_INTEROP_COUNT).
"""

from __future__ import annotations

import os
import time

import pytest

from rstream.client import Client
from tests.interop.ends import (
    SEED,
    STREAM,
    await_end,
    counter,
    lossy_driver,
    peer,
    receive_all,
    send_all,
    udp_channel,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

COUNT = int(os.environ.get("RSTREAM_INTEROP_COUNT", "5000"))
# The second term id is the smallest 32-bit number: the ids wrap.
WRAP_OPTIONS = "|term-length=64k|init-term-id=2147483647|term-id=2147483647|term-offset=0"
WRAP_COUNT = 2000
WRAP_SIZE_MAX = 4096  # terms of 64 KiB carry messages of up to 8 KiB
WRAP_TERMS_MIN = 10


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"RSTREAM_SEED={SEED}")


def report(directory: str, what: str, began_s: float) -> None:
    labels = (
        "Bytes sent",
        "Bytes received",
        "NAKs sent",
        "NAKs received",
        "Retransmits sent",
        "Retransmitted bytes",
    )
    numbers = {label: counter(directory, label) for label in labels}
    print(f"{what}: {COUNT} messages in {time.monotonic() - began_s:.1f} s, {numbers}")


def test_we_publish_and_aeron_subscribes(aeron_python: str, driver_dir: str) -> None:
    """O1."""
    channel = udp_channel()
    with (
        lossy_driver(driver_dir),
        Client(dir=driver_dir) as client,
        peer(aeron_python, "subscribe", channel, COUNT) as them,
        client.add_publication(channel, STREAM) as publication,
    ):
        began_s = time.monotonic()
        send_all(publication, COUNT)
        them.await_done()
        report(driver_dir, "we publish", began_s)
        assert counter(driver_dir, "Retransmits sent") > 0
        publication.close()
        assert them.ask("await") == "ended True"
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == 0


def test_aeron_publishes_and_we_subscribe(aeron_python: str, driver_dir: str) -> None:
    """O1."""
    channel = udp_channel()
    with (
        lossy_driver(driver_dir),
        Client(dir=driver_dir) as client,
        client.add_subscription(channel, STREAM) as subscription,
        peer(aeron_python, "publish", channel, COUNT) as them,
    ):
        began_s = time.monotonic()
        receive_all(subscription, COUNT)
        them.await_done()
        report(driver_dir, "Aeron publishes", began_s)
        assert counter(driver_dir, "NAKs sent") > 0
        assert them.ask("close") == "closed"
        assert await_end(subscription).ended_in_order
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == 0


def test_term_ids_wrap_when_we_publish(aeron_python: str, driver_dir: str) -> None:
    """O1, O8."""
    channel = udp_channel()
    with (
        lossy_driver(driver_dir),
        Client(dir=driver_dir) as client,
        peer(aeron_python, "subscribe", channel, WRAP_COUNT, size_max=WRAP_SIZE_MAX) as them,
        client.add_publication(channel + WRAP_OPTIONS, STREAM, exclusive=True) as publication,
    ):
        send_all(publication, WRAP_COUNT, WRAP_SIZE_MAX)
        assert publication.position > WRAP_TERMS_MIN * 65536
        them.await_done()
        them.assert_nothing_invalid()


def test_term_ids_wrap_when_aeron_publishes(aeron_python: str, driver_dir: str) -> None:
    """O1, O8."""
    channel = udp_channel()
    with (
        lossy_driver(driver_dir),
        Client(dir=driver_dir) as client,
        client.add_subscription(channel, STREAM) as subscription,
        peer(
            aeron_python, "publish", channel + WRAP_OPTIONS, WRAP_COUNT, size_max=WRAP_SIZE_MAX
        ) as them,
    ):
        receive_all(subscription, WRAP_COUNT, WRAP_SIZE_MAX)
        them.await_done()
        assert them.ask("close") == "closed"
        end = await_end(subscription)
        assert end.ended_in_order
        assert end.position > WRAP_TERMS_MIN * 65536
        them.assert_nothing_invalid()
