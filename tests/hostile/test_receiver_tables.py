"""Strangers fill no table of a receiving driver, and keep no honest publisher out."""

from __future__ import annotations

import random
import threading

from rstream.client import Client
from rstream.driver import Driver
from tests.hostile.frames import SETUP_RSTREAM, Host, hosts, setup
from tests.hostile.locks import Lock
from tests.hostile.strangers import is_long, target
from tests.hostile.streams import STREAM
from tests.support import until

FLOOD = 1_000_000 if is_long() else 100_000


def test_counters_and_sessions(driver: Driver, client: Client, lock: Lock) -> None:
    """1 024 SETUPs once filled the table of an endpoint, 2 048 the counters of the driver."""
    with target(client, driver.dir, lock.suffix) as aim, Host(dress=lock.dress) as host:
        before = aim.counters()
        for _ in range(3):
            for session in range(2048):
                host.send(setup(session, STREAM, flags=session % 2 * SETUP_RSTREAM), aim.address)
            host.listen(0.1)
        assert aim.connect_honest() < 5
        assert aim.counters() - before <= 8 + 40  # quotas of one address; of the honest one


def test_an_honest_publisher_connects_within_a_second(
    driver: Driver, client: Client, lock: Lock
) -> None:
    """100 000 SETUPs with new sessions arrive from many addresses while it connects."""
    rng = random.Random(7)
    ends = threading.Event()
    sent = 0

    with (
        target(client, driver.dir, lock.suffix) as aim,
        hosts(50, "127.0.0.9", lock.dress) as attackers,
    ):

        def flood() -> None:
            nonlocal sent
            while not ends.is_set() and sent < FLOOD:
                for host in attackers:
                    session = rng.getrandbits(31)
                    flags = session % 2 * SETUP_RSTREAM
                    host.send(setup(session, STREAM, flags=flags), aim.address)
                sent += len(attackers)

        attack = threading.Thread(target=flood)
        attack.start()
        try:
            until(lambda: sent >= 5000)
            times = [aim.connect_honest(b"%d" % number) for number in range(5)]
        finally:
            if not is_long():
                ends.set()
            attack.join()
        assert sorted(times)[len(times) // 2] < 1.0, times
