"""SETUPs and heartbeats must not take the memory of a receiving driver.

Neither those of strangers, nor those of a host that has proved its address.
"""

from __future__ import annotations

import pytest

from rstream import _core
from rstream.client import Client
from rstream.driver import Driver
from tests.hostile.frames import RTTM, RTTM_REPLY, SETUP_RSTREAM, Host, heartbeat, setup
from tests.hostile.locks import Lock, over
from tests.hostile.strangers import Target, is_long, target
from tests.hostile.streams import STREAM
from tests.support import until

MIB = 1 << 20
LIMIT = 64 * MIB
TERM = 16 * MIB
SESSIONS = 5000 if is_long() else 55


@pytest.mark.parametrize("flags", [0, SETUP_RSTREAM])
def test_a_setup_and_a_heartbeat_take_nothing(
    driver: Driver, client: Client, flags: int, lock: Lock
) -> None:
    """55 sessions, 110 packets: these once took a whole file system of 1 GiB."""
    with target(client, driver.dir, lock.suffix) as aim, Host(dress=lock.dress) as host:
        before = aim.counters()
        for session in range(SESSIONS):
            host.send(setup(session, STREAM, term_length=TERM, flags=flags), aim.address)
            host.send(heartbeat(session, STREAM, 0), aim.address)
        assert aim.connect_honest() < 5  # everything before it has been looked at
        assert aim.taken() < MIB
        assert aim.counters() - before < 40


def test_second_setups_are_admitted_up_to_the_limit(driver_dir: str, lock: Lock) -> None:
    """Sources that never answer are admitted within quotas, and heartbeats lift none of them. With
    a key none is admitted."""
    options = {"unproven-images-length": str(LIMIT)}
    with (
        Driver(driver_dir, term_length=MIB, options=options) as driver,
        Client(driver.dir, start_driver=False) as client,
        target(client, driver.dir, lock.suffix) as aim,
        Host("127.0.0.7", dress=lock.dress) as one,
        Host("127.0.0.8", dress=lock.dress) as other,
    ):
        for _ in range(100 if is_long() else 6):
            for host in (one, other):
                for session in range(50):
                    number = session + 1000 * (host is other)
                    host.send(setup(number, STREAM, term_length=TERM, flags=0), aim.address)
                    host.send(heartbeat(number, STREAM, 0), aim.address)
                host.listen(0.1)
            assert aim.taken() <= LIMIT
        images = aim.subscription.image_count
        assert 0 < images <= LIMIT // MIB if lock.is_open else images == 0
        assert aim.connect_honest() < 5


def prove(host: Host, aim: Target, sessions: range) -> None:
    """Opens sessions with long terms, and answers each question for a proof."""
    for session in sessions:
        host.send(setup(session, STREAM, term_length=TERM), aim.address)
    host.listen(0.1)
    for frame in host.received:
        if frame.kind == RTTM and frame.flags & RTTM_REPLY:
            host.send(frame.raw[:5] + b"\0" + frame.raw[6:], aim.address)
    host.received.clear()


def test_a_proven_host_has_a_quota(driver_dir: str) -> None:
    """22 KB of SETUPs once took 972 of 1 016 MiB. An honest publisher elsewhere goes on."""
    options = {"source-images-length": str(16 * MIB)}
    with (
        Driver(driver_dir, term_length=MIB, options=options) as driver,
        Client(driver.dir, start_driver=False) as client,
        target(client, driver.dir) as aim,
        Host("127.0.0.7") as host,
    ):
        for first in range(0, 500, 50):
            prove(host, aim, range(first, first + 50))
        until(lambda: aim.subscription.image_count >= 15)
        assert aim.taken() <= 16 * MIB
        assert aim.connect_honest() < 5
        assert "images from 127.0.0.7" in str(_core.read_errors(driver.dir))


@over("plain", "keyed")
def test_a_single_setup_is_bounded_too(driver: Driver, client: Client, lock: Lock) -> None:
    """A stranger's terms of 1 GiB take one step of 1 MiB, and the honest image its 64 KiB."""
    with target(client, driver.dir, lock.suffix) as aim, Host(dress=lock.dress) as host:
        for _ in range(4):
            host.send(setup(1, STREAM, term_length=1 << 30, flags=0), aim.address)
            host.listen(0.1)
        assert aim.connect_honest() < 5
        assert aim.taken() < MIB + MIB // 4
