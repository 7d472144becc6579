"""One destination that cannot be reached must not hold up the others.

A socket that is bound to the loopback cannot send to another host, so the system refuses each
datagram for the second destination of these publications at once.
"""

from __future__ import annotations

import subprocess
import sys

from rstream import metrics
from rstream.client import Client
from rstream.driver import Driver
from tests.hostile.streams import STREAM, connect, read, read_count, send
from tests.support import free_port, until

COUNT = 3561
UNREACHABLE = "10.255.255.1:9"


def test_healthy_reader_gets_everything(driver: Driver, client: Client) -> None:
    """The healthy reader gets each message once, at its own speed, without a repair."""
    reader = f"127.0.0.1:{free_port()}"
    with (
        client.add_subscription(f"aeron:udp?endpoint={reader}", STREAM) as subscription,
        client.add_publication(
            f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=manual|term-length=1m", STREAM
        ) as publication,
    ):
        publication.add_destination(f"aeron:udp?endpoint={UNREACHABLE}")
        publication.add_destination(f"aeron:udp?endpoint={reader}")
        connect(publication, subscription)
        received: list[bytes] = []
        for number in range(COUNT):
            send(publication, b"%d" % number)
            received += read(subscription)
        received += read_count(subscription, COUNT - len(received))
        assert received == [b"%d" % number for number in range(COUNT)]


def test_stat_names_the_destination(driver: Driver, client: Client) -> None:
    """`rstream stat` names the destination and says how many datagrams it missed."""
    with client.add_publication(
        f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=manual", STREAM
    ) as publication:
        publication.add_destination(f"aeron:udp?endpoint={UNREACHABLE}")

        def failed() -> list[metrics.Counter]:
            return [
                counter
                for counter in metrics.counters(driver.dir)
                if counter.type_id == metrics.TYPE_DESTINATION_FAILED and counter.value > 3
            ]

        (counter,) = until(failed)
        assert counter.label.startswith(f"snd-dest-failed: {UNREACHABLE} ")
        screen = subprocess.run(
            [sys.executable, "-m", "rstream", "stat", "--once", "--dir", driver.dir],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f"destination {UNREACHABLE} cannot be reached" in screen
