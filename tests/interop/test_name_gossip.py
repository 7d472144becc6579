"""Drivers that tell each other names: ours and Aeron's.

What must hold: each driver lists the other as its neighbor and knows its name, both reach the other
by it, and a driver that ended is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

import pytest

import rstream
from rstream import metrics
from rstream.client import Client
from tests.interop.aeron import C_DRIVER, IS_WHOLE, JAVA_CURRENT, JAVA_OLDER, Aeron, aeron_of
from tests.interop.ends import (
    SEED,
    STALL_S,
    STREAM,
    Peer,
    aeron_process,
    await_end,
    receive_all,
    send_all,
)
from tests.interop.java import Java, MissingError
from tests.support import free_port, until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

COUNT = 500
NEIGHBORS, NAMES, BOOTSTRAP = 15, 16, 21  # the types of Aeron's counters


def value(directory: str, type_id: int, words: str = "") -> int:
    found = [c for c in metrics.counters(directory) if c.type_id == type_id and words in c.label]
    return found[0].value if found else -1


def settings_of(name: str, port: int, bootstrap: int | None) -> dict[str, str]:
    settings = {
        "aeron.name.resolver.supplier": "driver",
        "aeron.driver.resolver.name": name,
        "aeron.driver.resolver.interface": f"127.0.0.1:{port}",
    }
    if bootstrap is not None:
        settings["aeron.driver.resolver.bootstrap.neighbor"] = f"127.0.0.1:{bootstrap}"
    return settings


@contextmanager
def aerons_driver(kind: str, python: str, settings: dict[str, str]) -> Iterator[str]:
    """The directory of a driver of Aeron with these properties."""
    if kind != "c":
        del settings["aeron.name.resolver.supplier"]  # the interface alone asks for it
        with Java.prepare(kind.removeprefix("java-")).driver(settings) as directory:
            yield directory
        return
    variables = {name.replace(".", "_").upper(): value for name, value in settings.items()}
    with aeron_process([python, "-c", C_DRIVER], variables) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@contextmanager
def once_known(open_peer: Callable[[], AbstractContextManager[Peer]]) -> Iterator[Peer]:
    """The peer, as soon as Aeron's driver knows the name in its channel. That driver counts the
    questions by which addresses are proved as names, too, so its counters do not tell.
    """
    with ExitStack() as opened:

        def opens() -> Peer | None:
            with suppress(ValueError):  # it ended without a word: "unknown host"
                return opened.enter_context(open_peer())
            return None

        yield until(opens, STALL_S)


# Of each: the kind of the other driver, and whose driver is told of the other one.
PAIRS = [("c", "ours"), ("c", "aerons"), (f"java-{JAVA_CURRENT}", "aerons")]
if IS_WHOLE:
    PAIRS += [(f"java-{JAVA_CURRENT}", "ours")]
    PAIRS += [(f"java-{JAVA_OLDER}", "ours"), (f"java-{JAVA_OLDER}", "aerons")]


@pytest.mark.parametrize(("kind", "who_knows"), PAIRS)
def test_ours_and_aerons_drivers_know_each_other(
    aeron_python: str, driver_dir: str, kind: str, who_knows: str
) -> None:
    """N15."""
    print(f"RSTREAM_SEED={SEED}")
    try:
        aeron: Aeron = aeron_of(kind, aeron_python)
    except MissingError as error:
        pytest.skip(f"no {kind}: {error}")
    our_port, their_port = free_port(), free_port()
    options = {
        "resolver-name": "ours",
        "resolver-interface": f"127.0.0.1:{our_port}",
        "resolver-neighbor-timeout": "3s",
        "resolver-bootstrap-neighbor": f"127.0.0.1:{their_port}" if who_knows == "ours" else "",
    }
    settings = settings_of("theirs", their_port, our_port if who_knows == "aerons" else None)
    with (
        rstream.Driver(dir=driver_dir, options=options) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
    ):
        with aerons_driver(kind, aeron_python, settings) as theirs:
            until(lambda: value(driver.dir, NAMES) == value(driver.dir, NEIGHBORS) == 1, STALL_S)
            until(lambda: value(theirs, NEIGHBORS) == 1, STALL_S)
            if who_knows == "ours":
                until(lambda: value(driver.dir, BOOTSTRAP, f":{their_port}") == 1)
            port = free_port()
            with (
                aeron.peer(
                    "subscribe", f"aeron:udp?endpoint=127.0.0.1:{port}", COUNT, directory=theirs
                ) as them,
                client.add_publication(f"aeron:udp?endpoint=theirs:{port}", STREAM) as ours,
            ):
                send_all(ours, COUNT)
                them.await_done()
            port = free_port()
            with (
                client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", STREAM) as reader,
                once_known(
                    lambda: aeron.peer(
                        "publish", f"aeron:udp?endpoint=ours:{port}", COUNT, directory=theirs
                    )
                ) as them,
            ):
                receive_all(reader, COUNT)
                them.await_done()
                assert them.ask("close") == "closed"
                assert await_end(reader).ended_in_order
        until(lambda: value(driver.dir, NAMES) == value(driver.dir, NEIGHBORS) == 0, 20)
        with pytest.raises(rstream.RStreamError, match="theirs"):
            client.add_publication(f"aeron:udp?endpoint=theirs:{port}", STREAM)
