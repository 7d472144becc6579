"""Every Aeron against us, over every kind of channel, with and without loss.

What must hold: messages of 0 to 64 KiB arrive once, in order, unchanged; the subscriber sees the
end of the stream; the peer's driver finds none of our datagrams invalid and logs no error. Our
driver makes the loss, on data and control, in both directions.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import rstream
from rstream.client import Client
from tests.interop.aeron import IS_WHOLE, JAVA_CURRENT, JAVA_OLDER, KINDS, Aeron
from tests.interop.ends import (
    SEED,
    STREAM,
    await_end,
    counter,
    lossy_driver,
    peer,
    receive_all,
    send_all,
)
from tests.interop.java import Java, MissingError
from tests.support import free_port

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 400
SIZE_MAX = 1 << 16
LOSSES = ("0", "0.02", "0.2")
CHANNELS = ("unicast", "cubic", "multicast", "mdc", "min", "tagged")
TAG = 101


@dataclass(frozen=True)
class Channels:
    """The two URIs of one stream."""

    publication: str
    subscription: str


def channels(kind: str) -> Channels:
    port = free_port()
    unicast = f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=1m"
    group = f"aeron:udp?endpoint=224.20.30.39:{port}|interface=127.0.0.1"
    match kind:
        case "unicast":
            return Channels(unicast, unicast)
        case "cubic":  # its receiver measures the round trip
            return Channels(unicast, f"{unicast}|cc=cubic")
        case "multicast":
            return Channels(f"{group}|term-length=1m", group)
        case "mdc":
            control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
            return Channels(
                f"aeron:udp?{control}|term-length=1m",
                f"aeron:udp?endpoint=127.0.0.1:{port}|{control}",
            )
        case "min":
            return Channels(f"{group}|term-length=1m|fc=min,g:/1,t:5s", group)
        case _:
            return Channels(f"{group}|term-length=1m|fc=tagged,g:{TAG}/1", f"{group}|gtag={TAG}")


def rows() -> Iterator[ParameterSet]:
    """Which Aeron, channel, loss.

    `make test`: each Aeron over unicast. `make check-ci`: the diagonal, each channel with one of
    the Aerons. `make check-all`: the older release over unicast only, and per channel one loss
    rate. `make prove`: all.
    """
    for kind, channel, loss in itertools.product(KINDS, CHANNELS, LOSSES):
        is_usual = loss == ("0.2" if channel == "mdc" else "0.02") or (channel, loss) == (
            "unicast",
            "0",
        )
        if kind.endswith(JAVA_OLDER) or (channel == "cubic" and kind == "c"):
            is_usual = (channel, loss) == ("unicast", "0.02")
        is_diagonal = is_usual and KINDS.index(kind) == CHANNELS.index(channel) % 2
        if (channel, loss) == ("unicast", "0.02"):
            yield pytest.param(kind, channel, loss)
        elif is_diagonal and loss != "0":
            yield pytest.param(kind, channel, loss, marks=pytest.mark.ci)
        elif IS_WHOLE or is_usual:
            yield pytest.param(kind, channel, loss, marks=pytest.mark.long)


ROWS = pytest.mark.parametrize(("aeron", "channel", "loss"), list(rows()), indirect=["aeron"])


@pytest.fixture(autouse=True)
def _print_seed() -> None:
    print(f"RSTREAM_SEED={SEED}")


@contextlib.contextmanager
def client_with_loss(directory: str, loss: str) -> Iterator[Client]:
    kinds = [
        f"fault-{way}-{what}-loss" for way in ("send", "receive") for what in ("data", "control")
    ]
    with lossy_driver(directory, **dict.fromkeys(kinds, loss)), Client(dir=directory) as client:
        yield client


@ROWS
def test_we_publish(aeron: Aeron, driver_dir: str, channel: str, loss: str) -> None:
    """O1, O5, O7, O9."""
    uris = channels(channel)
    with (
        client_with_loss(driver_dir, loss) as client,
        aeron.peer("subscribe", uris.subscription, COUNT, size_max=SIZE_MAX) as them,
        client.add_publication(uris.publication, STREAM) as publication,
    ):
        send_all(publication, COUNT, SIZE_MAX)
        them.await_done()
        assert (
            loss == "0" or counter(driver_dir, "Retransmits sent") > 0
        )  # a busy machine may lose some by itself
        publication.close()
        assert them.ask("await") == "ended True"
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == 0


@ROWS
def test_they_publish(aeron: Aeron, driver_dir: str, channel: str, loss: str) -> None:
    """O1, O5, O7, O9."""
    uris = channels(channel)
    with (
        client_with_loss(driver_dir, loss) as client,
        client.add_subscription(uris.subscription, STREAM) as subscription,
        aeron.peer("publish", uris.publication, COUNT, size_max=SIZE_MAX) as them,
    ):
        receive_all(subscription, COUNT, SIZE_MAX)
        them.await_done()
        assert loss == "0" or counter(driver_dir, "NAKs sent") > 0
        assert them.ask("close") == "closed"
        assert await_end(subscription).ended_in_order
        them.assert_nothing_invalid()
        assert counter(driver_dir, "Invalid packets") == 0


@pytest.mark.parametrize("strategy", ["min,g:/2", f"tagged,g:{TAG}/2"])
def test_a_group_of_both(
    aeron: Aeron, driver_dir: str, make_driver_dir: Callable[[], str], strategy: str
) -> None:
    """O5: an Aeron receiver and ours, each on its own driver, read one stream; both count."""
    group = f"aeron:udp?endpoint=224.20.30.39:{free_port()}|interface=127.0.0.1"
    reader = f"{group}|gtag={TAG}"
    with (
        client_with_loss(driver_dir, "0.02") as client,
        rstream.Driver(dir=make_driver_dir()) as other,
        Client(dir=other.dir, start_driver=False) as ours,
        ours.add_subscription(reader, STREAM) as subscription,
        client.add_publication(f"{group}|term-length=1m|fc={strategy}", STREAM) as publication,
    ):
        time.sleep(0.5)
        assert not publication.is_connected  # one receiver of two
        with aeron.peer("subscribe", reader, COUNT, size_max=SIZE_MAX) as them:
            with ThreadPoolExecutor(1) as pool:
                sending = pool.submit(send_all, publication, COUNT, SIZE_MAX)
                receive_all(subscription, COUNT, SIZE_MAX)
                sending.result()
            them.await_done()
            assert counter(driver_dir, "fc-receivers") == 2
            publication.close()
            assert them.ask("await") == "ended True"
            assert await_end(subscription).ended_in_order
            them.assert_nothing_invalid()


def test_revoked_and_rejected(aeron_python: str, driver_dir: str) -> None:
    """O7: a revoked stream ends for an Aeron subscriber; a rejected Aeron publisher is notified."""
    out, back = channels("unicast").publication, channels("unicast").publication
    with rstream.Driver(dir=driver_dir), Client(dir=driver_dir, start_driver=False) as client:
        publication = client.add_publication(out, STREAM, exclusive=True)
        with peer(aeron_python, "subscribe", out, 10, size_max=SIZE_MAX) as them:
            send_all(publication, 10, SIZE_MAX)
            them.await_done()
            publication.revoke()
            assert them.ask("await") == "ended True"
            assert counter(them.directory, "Publication Images Revoked") == 1
            them.assert_nothing_invalid()
        subscription = client.add_subscription(back, STREAM)
        with peer(aeron_python, "publish", back, 10, size_max=SIZE_MAX) as them:
            receive_all(subscription, 10, SIZE_MAX)
            them.await_done()
            (image,) = subscription.images()
            subscription.reject(image, "not this one")
            deadline = time.monotonic() + 15
            while counter(them.directory, "Error Frames received") == 0:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert counter(them.directory, "Invalid packets") == 0


def test_they_revoke_and_reject(driver_dir: str) -> None:
    """O7: a stream that Aeron revokes ends for us; an Aeron subscriber can reject our stream."""
    try:
        java = Java.prepare(JAVA_CURRENT)
    except MissingError as error:
        pytest.skip(f"no Java peer: {error}")
    out, back = channels("unicast").publication, channels("unicast").publication
    with rstream.Driver(dir=driver_dir), Client(dir=driver_dir, start_driver=False) as client:
        subscription = client.add_subscription(back, STREAM)
        with java.peer("publish-exclusive", back, 10, size_max=SIZE_MAX) as them:
            receive_all(subscription, 10, SIZE_MAX)
            them.await_done()
            assert them.ask("revoke") == "revoked"
            await_end(subscription)
            assert counter(driver_dir, "Publication Images Revoked") == 1
            them.assert_nothing_invalid()
        publication = client.add_publication(out, STREAM)
        with java.peer("subscribe", out, 10, size_max=SIZE_MAX) as them:
            send_all(publication, 10, SIZE_MAX)
            them.await_done()
            assert them.ask("reject") == "rejected"
            deadline = time.monotonic() + 15
            while not (heard := list(publication.errors())):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert heard[0].text == "not this one"
            assert counter(them.directory, "Invalid packets") == 0
        assert counter(driver_dir, "Invalid packets") == 0


@contextlib.contextmanager
def driver_of(whose: str, aeron: Aeron, our_dir: str) -> Iterator[str]:
    if whose == "ours":
        with rstream.Driver(dir=our_dir) as driver:
            yield driver.dir
        return
    with aeron.driver() as directory:
        yield directory


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_one_directory(aeron: Aeron, driver_dir: str, whose: str, medium: str) -> None:
    """O2, O3: both clients on one driver of either kind, each as publisher and subscriber."""
    channel = "aeron:ipc" if medium == "ipc" else channels("unicast").publication
    with (
        driver_of(whose, aeron, driver_dir) as directory,
        Client(dir=directory, start_driver=False) as client,
    ):
        with (
            aeron.peer("subscribe", channel, COUNT, directory=directory, size_max=SIZE_MAX) as them,
            client.add_publication(channel, STREAM) as publication,
        ):
            send_all(publication, COUNT, SIZE_MAX)
            them.await_done()
            publication.close()
            assert them.ask("await") == "ended True"
        with (
            client.add_subscription(channel, STREAM) as subscription,
            aeron.peer("publish", channel, COUNT, directory=directory, size_max=SIZE_MAX) as them,
        ):
            receive_all(subscription, COUNT, SIZE_MAX)
            them.await_done()
            assert them.ask("close") == "closed"
            assert await_end(subscription).ended_in_order
            them.assert_nothing_invalid()
