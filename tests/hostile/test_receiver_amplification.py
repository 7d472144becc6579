"""A receiving driver sends a stranger at most three bytes for each of its own, and no NAK."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rstream.client import Client
from rstream.driver import Driver
from tests.hostile.frames import NAK, SETUP_RSTREAM, Host, data, heartbeat, setup
from tests.hostile.locks import Lock, over
from tests.hostile.strangers import is_long, target
from tests.hostile.streams import STREAM

SECONDS = 60 if is_long() else 2
LIMIT = 3.0


def one_setup() -> Iterator[bytes]:
    yield setup(1, STREAM)


def setup_and_gap() -> Iterator[bytes]:
    yield setup(1, STREAM)
    yield data(1, STREAM, 0, 4096, bytes(32))


def aeron_setup_and_gap() -> Iterator[bytes]:
    """It goes on, as a publisher that never answers: its second SETUP admits it."""
    while True:
        yield setup(1, STREAM, flags=0)
        yield data(1, STREAM, 0, 4096, bytes(32))


def new_sessions() -> Iterator[bytes]:
    session = 0
    while True:
        session += 1
        yield setup(session, STREAM, flags=session % 2 * SETUP_RSTREAM)
        yield heartbeat(-session, STREAM, 0)
        yield data(session + 1_000_000, STREAM, 0, 0, b"x")


@over("plain", "keyed", "forged seal")
@pytest.mark.parametrize(
    "attack",
    [one_setup, setup_and_gap, aeron_setup_and_gap, new_sessions],
    ids=lambda a: a.__name__,
)
def test_gain(
    driver: Driver, client: Client, attack: Callable[[], Iterator[bytes]], lock: Lock
) -> None:
    with target(client, driver.dir, lock.suffix) as aim, Host(dress=lock.dress) as host:
        frames = attack()
        for _ in range(SECONDS * 10):
            for _, frame in zip(range(4), frames, strict=False):
                host.send(frame, aim.address)
            host.listen(0.1)
            assert host.gain <= LIMIT, f"{host.received_bytes} bytes for {host.sent_bytes}"
        assert not [frame for frame in host.received if frame.kind == NAK]
        if lock.is_open:
            assert host.received  # a stranger is asked for its proof
        else:
            assert lock.says_nothing(host.received)
            assert host.gain <= 1
        assert aim.connect_honest() < 5
