"""The list of dynamic destinations under a flood of forged status messages from many addresses.

Strangers have no place in it, so they cannot keep receivers out or push them out.
"""

from __future__ import annotations

import itertools
import os
import time

import pytest

from rstream.client import Client
from rstream.driver import Driver
from tests.hostile import frames
from tests.hostile.frames import hosts
from tests.hostile.locks import Lock, over
from tests.hostile.streams import STREAM, connect, counter, read, read_count, send
from tests.support import free_port

FIRST_TERM = 3
STRANGERS = 300  # more than the list has places
COUNT = int(os.environ.get("RSTREAM_HOSTILE_COUNT", "10")) * STRANGERS
CONNECT_S = 10.0  # a receiver asks once a second; the rest is for a busy machine


@over("plain", "keyed", "forged seal")
@pytest.mark.parametrize("knows_session", [False, True])
def test_receivers_come_and_stay(
    driver: Driver, client: Client, knows_session: bool, lock: Lock
) -> None:
    """One receiver is there before the flood, one joins during it; both get everything."""
    control = ("127.0.0.1", free_port())
    at = f"control={control[0]}:{control[1]}|control-mode=dynamic{lock.suffix}"
    uris = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{at}" for _ in range(2)]
    with (
        hosts(STRANGERS, dress=lock.dress) as strangers,
        client.add_publication(
            f"aeron:udp?{at}|term-length=1m|init-term-id={FIRST_TERM}|term-id={FIRST_TERM}"
            "|term-offset=0",
            STREAM,
        ) as publication,
        client.add_subscription(uris[0], STREAM) as first,
    ):
        connect(publication, first)
        session_id = publication.session_id if knows_session else 4711
        flood = (
            frames.status(session_id, STREAM, FIRST_TERM, receiver_id=n) for n in itertools.count(1)
        )
        turns = itertools.cycle(strangers)
        for frame in itertools.islice(flood, COUNT):
            next(turns).send(frame, control)
        begin = time.monotonic()
        with client.add_subscription(uris[1], STREAM) as second:
            received: list[bytes] = []
            while not second.is_connected:
                for frame in itertools.islice(flood, 100):
                    next(turns).send(frame, control)
                send(publication, b"before")
                received += read(first)
                assert time.monotonic() < begin + CONNECT_S
            for number in range(100):
                send(publication, b"%d" % number)
            expected = [b"%d" % number for number in range(100)]
            while len(received) < 100 or received[-1] != b"99":
                received += read_count(first, 1)
            assert received[-100:] == expected
            late: list[bytes] = []
            while not late or late[-1] != b"99":
                late += read_count(second, 1)
            assert late[-100:] == expected
            assert counter(driver.dir, "mdc-num-dest") == 2
