"""Anybody can forge a refusal, which is plain: it is a hint for people, and changes nothing."""

from __future__ import annotations

import struct

from rstream import _core
from rstream.client import Client
from rstream.driver import Driver
from tests import sealed
from tests.hostile.frames import hosts
from tests.hostile.locks import Lock, over
from tests.hostile.strangers import target
from tests.hostile.streams import STREAM, connect, read_count, send
from tests.hostile.test_unicast_receiver import sender_port

STRANGERS = 300  # more than there are places for notes about peers
MESSAGES = 300
COUNTERS_MAX = 16  # one for each end and second, until 5 s after


def refusal(key_id: int) -> bytes:
    head = struct.pack("<iBBhI", sealed.REFUSAL, 0, 0, sealed.TYPE, key_id)
    return head + bytes(sealed.REFUSAL - len(head))


@over("plain", "keyed")
def test_streams_go_on(driver_dir: str, lock: Lock) -> None:
    """From many hosts to both ends of a stream; the sender's socket is open to all of them."""
    with (
        Driver(driver_dir, timer_interval_s=0.1, options={"driver-connect": "false"}) as driver,
        Client(driver.dir, start_driver=False) as client,
        target(client, driver.dir, lock.suffix) as aim,
        client.add_publication(aim.channel + "|term-length=64k", STREAM) as publication,
        hosts(STRANGERS) as strangers,
    ):
        connect(publication, aim.subscription)
        ends = (aim.address, ("127.0.0.1", sender_port(driver.dir)))
        before = aim.counters()
        for number in range(MESSAGES):
            for end in ends:
                strangers[number % STRANGERS].send(refusal(number % 2), end)
            send(publication, b"%d" % number)
            assert read_count(aim.subscription, 1) == [b"%d" % number]
        assert publication.is_connected
        assert aim.subscription.image_count == 1
        for stranger in strangers:
            stranger.drain()
            assert stranger.received == []  # a refusal is never answered
        assert aim.counters() - before <= COUNTERS_MAX
        assert len(_core.read_errors(driver.dir)) <= COUNTERS_MAX
