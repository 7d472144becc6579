"""SETUPs and heartbeats of strangers must not take the memory of a receiving driver.

Each image of a stranger with terms of 16 MiB would take 16 MiB of shared memory.
"""

from __future__ import annotations

import pytest

from rstream.client import Client
from rstream.driver import Driver
from tests.hostile.frames import SETUP_RSTREAM, Host, heartbeat, setup
from tests.hostile.strangers import is_long, target
from tests.hostile.streams import STREAM

MIB = 1 << 20
LIMIT = 64 * MIB
TERM = 16 * MIB
SESSIONS = 5000 if is_long() else 55


@pytest.mark.parametrize("flags", [0, SETUP_RSTREAM])
def test_a_setup_and_a_heartbeat_take_nothing(driver: Driver, client: Client, flags: int) -> None:
    """55 sessions, 110 packets: these once took a whole file system of 1 GiB."""
    with target(client, driver.dir) as aim, Host() as host:
        before = aim.counters()
        for session in range(SESSIONS):
            host.send(setup(session, STREAM, term_length=TERM, flags=flags), aim.address)
            host.send(heartbeat(session, STREAM, 0), aim.address)
        assert aim.connect_honest() < 5  # everything before it has been looked at
        assert aim.taken() < MIB
        assert aim.counters() - before < 40


def test_second_setups_are_admitted_up_to_the_limit(driver_dir: str) -> None:
    """Sources that never answer are admitted within quotas, and heartbeats lift none of them."""
    options = {"unproven-images-length": str(LIMIT)}
    with (
        Driver(driver_dir, term_length=MIB, options=options) as driver,
        Client(driver.dir, start_driver=False) as client,
        target(client, driver.dir) as aim,
        Host("127.0.0.7") as one,
        Host("127.0.0.8") as other,
    ):
        for _ in range(100 if is_long() else 6):
            for host in (one, other):
                for session in range(50):
                    number = session + 1000 * (host is other)
                    host.send(setup(number, STREAM, term_length=TERM, flags=0), aim.address)
                    host.send(heartbeat(number, STREAM, 0), aim.address)
                host.listen(0.1)
            assert aim.taken() <= LIMIT
        assert 0 < aim.subscription.image_count <= LIMIT // TERM
        assert aim.connect_honest() < 5


def test_a_single_setup_is_bounded_too(driver: Driver, client: Client) -> None:
    """A stranger's terms of 1 GiB, with the limit at its default of 256 MiB."""
    with target(client, driver.dir) as aim, Host() as host:
        for _ in range(4):
            host.send(setup(1, STREAM, term_length=1 << 30, flags=0), aim.address)
            host.listen(0.1)
        assert aim.connect_honest() < 5
        assert aim.taken() < MIB
