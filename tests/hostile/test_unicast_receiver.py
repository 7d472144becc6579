"""The receiver of a unicast stream beside a host that forges its frames from another port.

The attacker knows session, stream, term ids and the receiver's id. Its frames do not come from the
receiver's address, so the stream goes on as if they were not there.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator

import pytest

from rstream import metrics
from rstream.client import Client
from rstream.driver import Driver
from tests.hostile import frames
from tests.hostile.frames import Host
from tests.hostile.locks import Lock, over
from tests.hostile.streams import STALL_S, STREAM, connect, read, send
from tests.support import free_port, until

FIRST_TERM = 9
COUNT = 4000  # with a budget of one byte this took 40 s

Forge = Callable[[int, int, int, int], bytes]


def _items(kind: int, value: bytes) -> Forge:
    return lambda session_id, receiver_id, term_id, offset: frames.status(
        session_id,
        STREAM,
        term_id,
        offset,
        receiver_id=receiver_id,
        sm_items=frames.items((frames.ITEM_TAG, b"\0"), (kind, value)),
    )


ATTACKS: dict[str, Forge] = {
    "budget of one byte": _items(frames.ITEM_BUDGET, struct.pack("<3q", 0, 1, 1)),
    "no demand": _items(frames.ITEM_DEMAND, struct.pack("<2q", 0, 0)),
    "round trip of 10 s": _items(frames.ITEM_ROUND_TRIP, struct.pack("<q", 10**10)),
    "arrival rate of 1": _items(frames.ITEM_ARRIVAL_RATE, struct.pack("<q", 1)),
    "fill of no rate": _items(frames.ITEM_FILL, struct.pack("<HHIqqq", 32767, 0, 0, 1, 0, 65536)),
    "fill that is clear": _items(frames.ITEM_FILL, struct.pack("<HHIqqq", 0, 1, 0, 1, 0, 65536)),
    "EOS": lambda session_id, receiver_id, term_id, offset: frames.status(
        session_id, STREAM, term_id, offset, receiver_id=receiver_id, flags=frames.SM_EOS
    ),
    "window of 0": lambda session_id, receiver_id, term_id, offset: frames.status(
        session_id, STREAM, term_id, offset, receiver_id=receiver_id, window=0
    ),
    "error frame": lambda session_id, receiver_id, term_id, offset: frames.error(
        session_id, STREAM, "go away", receiver_id=receiver_id, code=13
    ),
}


def sender_port(driver_dir: str) -> int:
    """Where the only publication's socket listens: the attacker has seen its datagrams."""
    labels = [entry.label for entry in metrics.counters(driver_dir)]
    (label,) = [label for label in labels if label.startswith("snd-local-sockaddr:")]
    return int(label.rpartition(":")[2])


def receiver_id_of(driver_dir: str) -> int:
    """The id of the only receiver."""
    readers = until(lambda: metrics.slowest_readers(driver_dir))
    return int(readers[0].reader_id)


@pytest.fixture
def driver(driver_dir: str) -> Iterator[Driver]:
    """Unconnected sockets: the system itself does not keep strangers out."""
    with Driver(
        driver_dir,
        term_length=1 << 20,
        ipc_term_length=1 << 20,
        timer_interval_s=0.1,
        options={"driver-connect": "false"},
    ) as made:
        yield made


@over("plain", "keyed", "forged seal")
@pytest.mark.parametrize("is_named", [True, False], ids=["in its name", "as a second one"])
@pytest.mark.parametrize("what", ATTACKS)
def test_the_stream_goes_on(
    driver: Driver, client: Client, what: str, is_named: bool, lock: Lock
) -> None:
    """All messages arrive in time while forged frames come."""
    forge = ATTACKS[what]
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}{lock.suffix}"
    start = f"|init-term-id={FIRST_TERM}|term-id={FIRST_TERM}|term-offset=0|term-length=1m"
    start += "|rs-rate=adaptive" if what.startswith("fill") else ""
    with (
        Host(dress=lock.dress) as attacker,
        client.add_subscription(channel, STREAM) as subscription,
        client.add_publication(channel + start, STREAM) as publication,
    ):
        connect(publication, subscription)
        to = ("127.0.0.1", sender_port(driver.dir))
        send(publication, b"first")
        known = receiver_id_of(driver.dir)
        deadline = time.monotonic() + STALL_S
        received = -1
        for number in range(COUNT):
            if number % 10 == 0:
                position = max(publication.position - 4096, 0)
                offset = position % (1 << 20)
                term_id = FIRST_TERM + position // (1 << 20)
                receiver_id = known if is_named else known + 1
                attacker.send(forge(publication.session_id, receiver_id, term_id, offset), to)
            while publication.offer(b"%d" % number) < 0:
                # The same thread reads: a law of rate waits for that.
                received += len(read(subscription))
                assert time.monotonic() < deadline
                publication.wait(0.01)
            received += len(read(subscription))
        while received < COUNT:
            received += len(read(subscription))
            assert time.monotonic() < deadline
            subscription.wait(0.01)
        assert publication.is_connected
        assert not list(publication.errors())
        attacker.drain()
        assert lock.is_open or lock.says_nothing(attacker.received)
