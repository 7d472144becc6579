"""One driver directory, clients of both kinds: Aeron's client on our driver, ours on Aeron's.

What must hold: both sides agree on the layout of commands, logs, counters and liveness. So messages
of all sizes pass over shared memory and UDP in both directions on either driver.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

import rstream
from rstream import metrics
from rstream.client import Client
from tests.interop.ends import (
    SEED,
    STREAM,
    Peer,
    aeron_process,
    await_end,
    peer,
    receive_all,
    send_all,
    udp_channel,
)
from tests.support import until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 1000
KEEPALIVE_S = 0.5

OUR_CLIENT = """
import sys, time
from rstream.client import Client
client = Client(dir=sys.argv[1], start_driver=False)
publication = client.add_publication("aeron:ipc", int(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(200):
    if publication.is_closed:
        break
    time.sleep(0.05)
print(publication.is_closed, flush=True)
sys.stdin.read()
"""

AERON_DRIVER = """
import sys, pyaeron
driver = pyaeron.MediaDriver()
print(driver.dir, flush=True)
sys.stdin.read()
driver.close()
"""


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"RSTREAM_SEED={SEED}")


@contextmanager
def driver_of(whose: str, python: str, our_dir: str) -> Iterator[str]:
    """The directory of a running driver, ours or Aeron's."""
    if whose == "ours":
        with rstream.Driver(dir=our_dir) as driver:
            yield driver.dir
        return
    with aeron_process([python, "-c", AERON_DRIVER]) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("whose", ["ours", "aerons"])
def test_both_clients_on_one_driver(
    aeron_python: str, driver_dir: str, whose: str, medium: str
) -> None:
    """O2, O3."""
    channel = "aeron:ipc" if medium == "ipc" else udp_channel()
    with (
        driver_of(whose, aeron_python, driver_dir) as directory,
        Client(dir=directory, start_driver=False) as client,
    ):
        with (
            peer(aeron_python, "subscribe", channel, COUNT, directory=directory) as them,
            client.add_publication(channel, STREAM) as publication,
        ):
            send_all(publication, COUNT)
            them.await_done()
            publication.close()
            assert them.ask("await") == "ended True"
        with (
            client.add_subscription(channel, STREAM) as subscription,
            peer(aeron_python, "publish", channel, COUNT, directory=directory) as them,
        ):
            receive_all(subscription, COUNT)
            them.await_done()
            assert them.ask("close") == "closed"
            assert await_end(subscription).ended_in_order
            them.assert_nothing_invalid()


def heartbeat_ms(them: Peer) -> int:
    """The last heartbeat of Aeron's client in the counter that our driver made for it."""
    return next(
        c.value
        for c in metrics.counters(them.directory)
        if c.type_id == metrics.TYPE_CLIENT_HEARTBEAT and c.registration_id == them.client_id
    )


def counter_at(directory: str, label: str) -> int:
    return next(c.value for c in metrics.counters(directory) if c.label.startswith(label))


def test_a_stopped_aeron_client_times_out(aeron_python: str, driver_dir: str) -> None:
    """O2: our driver frees the client's resources and a client of ours is notified; nothing
    remains.
    """
    options = {"client-liveness-timeout": "1500ms", "timer-interval": "100ms"}
    with (
        rstream.Driver(dir=driver_dir, options=options),
        Client(dir=driver_dir, start_driver=False) as client,
    ):
        is_given_up = False
        with client.add_subscription("aeron:ipc", STREAM) as subscription, suppress(AssertionError):
            with peer(aeron_python, "publish", "aeron:ipc", 1, directory=driver_dir) as them:
                receive_all(subscription, 1)
                them.await_done()
                them.process.send_signal(signal.SIGSTOP)
                try:
                    until(lambda: counter_at(driver_dir, "Client liveness timeouts") == 1, 15)
                    await_end(subscription)
                    until(
                        lambda: all(
                            c.owner_id != them.client_id for c in metrics.counters(driver_dir)
                        ),
                        15,
                    )
                    is_given_up = True
                finally:
                    them.process.send_signal(
                        signal.SIGCONT
                    )  # it finds itself closed and exits with an error
        assert is_given_up
        assert counter_at(driver_dir, "Client liveness timeouts") == 1


def test_a_stopped_client_of_ours_times_out(aeron_python: str) -> None:
    """O3: Aeron's driver frees the client's resources; when it wakes, its publication is closed."""
    short = {"AERON_CLIENT_LIVENESS_TIMEOUT": "1500ms", "AERON_TIMER_INTERVAL": "100ms"}
    with aeron_process([aeron_python, "-c", AERON_DRIVER], short) as driver:
        assert driver.stdout is not None
        directory = driver.stdout.readline().strip()
        before = len(metrics.counters(directory))
        with aeron_process([sys.executable, "-c", OUR_CLIENT, directory, str(STREAM)]) as ours:
            assert ours.stdout is not None
            assert ours.stdin is not None
            ours.stdout.readline()
            assert len(metrics.counters(directory)) > before
            ours.send_signal(signal.SIGSTOP)
            try:
                until(lambda: counter_at(directory, "Client liveness timeouts") == 1, 15)
                until(lambda: len(metrics.counters(directory)) == before, 15)
            finally:
                ours.send_signal(signal.SIGCONT)
            ours.stdin.write("\n")
            ours.stdin.flush()
            assert ours.stdout.readline().strip() == "True"


def test_our_counters_on_aerons_driver(aeron_python: str, driver_dir: str) -> None:
    """O3: made, written and read by both clients; static ones are found again; removed with the
    client.
    """
    with driver_of("aerons", aeron_python, driver_dir) as directory:
        with Client(dir=directory, start_driver=False) as client:
            counter = client.add_counter(1234, "of ours", key=b"key")
            counter.value = 7
            (seen,) = (c for c in metrics.counters(directory) if c.type_id == 1234)
            assert (seen.label, seen.value, seen.registration_id) == (
                "of ours",
                7,
                counter.registration_id,
            )
        until(lambda: all(c.type_id != 1234 for c in metrics.counters(directory)), 15)
        assert counter_at(directory, "Errors") == 0


def test_aerons_client_lives_on_our_driver(aeron_python: str, driver_dir: str) -> None:
    """O2: it finds and updates its heartbeat counter; else our driver drops it in a second."""
    with (
        rstream.Driver(
            dir=driver_dir, options={"client-liveness-timeout": "1500ms", "timer-interval": "100ms"}
        ),
        peer(aeron_python, "publish", "aeron:ipc", 1, directory=driver_dir) as them,
        Client(dir=driver_dir, start_driver=False) as client,
    ):
        first_ms = heartbeat_ms(them)
        time.sleep(2.5)
        later_ms = heartbeat_ms(them)
        assert later_ms > first_ms
        assert abs(time.time() * 1000 - later_ms) < 4 * KEEPALIVE_S * 1000
        with client.add_subscription("aeron:ipc", STREAM) as subscription:
            receive_all(subscription, 1)
            them.await_done()
            them.assert_nothing_invalid()
