"""Who holds a publication back: readers with the program, pid and host behind them."""

from __future__ import annotations

import dataclasses
import os
import re
import socket
from typing import Final, NamedTuple

from rstream import _core
from rstream._facts import SlowestReader
from rstream._other_drivers import other_drivers
from rstream._process_text import process_text
from rstream.errors import RStreamError

__all__ = ("Process", "clients_of", "holders_of", "local_process", "process_at", "with_process")

TYPE_SUBSCRIBER_POSITION: Final = 4
TYPE_RECEIVER_POSITION: Final = 5
TYPE_RECEIVER_HWM: Final = 3
#: Directories of other drivers on this host in which the reader of a receiver is looked for.
OTHERS_MAX: Final = 16
_PORT: Final = re.compile(r"endpoint=[^|]*:[1-9]")
_IDS: Final = re.compile(r"^[^:]+: -?\d+ (-?\d+) (-?\d+) ")


class Process(NamedTuple):
    """A client's name and process; empty and None: not known."""

    name: str
    pid: int | None


def clients_of(driver_dir: str) -> dict[int, Process]:
    """The clients of a directory by their id."""
    return {
        client.client_id: Process(client.name, client.pid or None)
        for client in _core.read_clients(driver_dir)
    }


def process_at(driver_dir: str, publication_id: int, *, is_reader: bool = False) -> str:
    """Program, pid and host of a publisher, or of one of its readers in shared memory; empty: not
    known.
    """
    try:
        pid, name = _core.read_client_at(driver_dir, publication_id, is_reader)
    except RStreamError:
        return ""  # the driver has gone
    return local_process(name, pid)


def local_process(name: str, pid: int) -> str:
    """Program, pid and host of a client of this host, for people; empty: not known."""
    return process_text(name, pid or None, os.uname().nodename)


def holders_of(driver_dir: str) -> list[SlowestReader]:
    """The slowest readers of each publication, and those whose reports their rates follow."""
    clients = clients_of(driver_dir)
    return [_holder(facts, clients) for facts in _core.read_holders(driver_dir)]


def _holder(facts: _core.HolderFacts, clients: dict[int, Process]) -> SlowestReader:
    is_local, nobody = facts.is_local, Process("", None)
    process = clients.get(facts.client_id, nobody) if is_local else nobody
    return SlowestReader(
        publication_id=facts.registration_id,
        is_local=is_local,
        reader_id=facts.reader_id,
        client_id=facts.client_id if is_local else None,
        pid=facts.pid or None,
        since_ms=facts.since_ms,
        position=facts.position,
        window_bytes=facts.window_bytes,
        source=facts.source,
        client_name=process.name,
        host=os.uname().nodename if is_local else "",
        received_position=facts.gap_position or None,
        is_report=facts.is_report,
        drain_bytes_per_s=facts.drain_bytes_per_s if facts.is_report else None,
    )


def with_process(
    reader: SlowestReader, driver_dir: str, stream_id: int, session_id: int
) -> SlowestReader:
    """A receiver with the slowest process that reads its image, if a driver of this host has it.

    What that driver says of the data that has arrived is newer than what the sender's driver knows.
    """
    ip, _, port = reader.source.rpartition(":")
    if reader.is_local or not _is_here(ip.strip("[]")):
        return reader
    for path in (driver_dir, *other_drivers(driver_dir)[0][:OTHERS_MAX]):
        found = _in_image(reader, path, (session_id, stream_id), port)
        if found is not None:
            return found
    return reader


def _is_here(ip: str) -> bool:
    """Whether an address is one of this host's: a socket can be bound to it."""
    try:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.bind((ip, 0))
    except OSError:
        return False
    return True


def _in_image(
    reader: SlowestReader, driver_dir: str, session: tuple[int, int], port: str
) -> SlowestReader | None:
    """The reader with the process, if the directory has its image and no other one could be it."""
    try:
        counters = _core.read_counters(driver_dir)
    except RStreamError:
        return None  # another user's, or it has ended
    by_type: dict[int, list[_core.CounterFacts]] = {}
    for one in counters:
        match = _IDS.match(one.label) if one.type_id in (3, 4, 5) else None
        if match is not None and (int(match[1]), int(match[2])) == session:
            by_type.setdefault(one.type_id, []).append(one)
    received = {one.registration_id: one.value for one in by_type.get(TYPE_RECEIVER_POSITION, ())}
    readers = [
        one for one in by_type.get(TYPE_SUBSCRIBER_POSITION, ()) if one.reference_id in received
    ]
    # Of a group several receivers of one session may be here; their ports tell them apart.
    at_port = [one for one in readers if re.search(rf"endpoint=[^|]*:{port}\b", one.label)]
    is_one = len({one.reference_id for one in readers}) == 1
    if not at_port and is_one and not _PORT.search(readers[0].label):
        at_port = readers  # the system chose its port
    readers = at_port
    if not readers:
        return None
    slowest = min(readers, key=lambda one: one.value)
    process = clients_of(driver_dir).get(slowest.owner_id, Process("", None))
    return dataclasses.replace(
        reader,
        client_id=slowest.owner_id,
        client_name=process.name,
        pid=process.pid,
        host=os.uname().nodename,
        position=max(reader.position, slowest.value) if reader.position else reader.position,
        received_position=received[slowest.reference_id],
    )
