"""``python -m tests.net.arrays``: arrays through a network without a bottleneck, beside plain TCP
and raw UDP in the same run.

Two namespaces are joined by a veth pair with its offloads; with ``--loopback`` both ends are on
127.0.0.1 of this host, which needs no root. All kinds and sizes take turns, for several rounds.
Printed are the payload that readers had after the warm-up, and the ratios within a round.

    rstream         default settings, a driver for each end; the reader owns its arrays
    rstream, views  the same with ``codecs.numpy(view=True)``
    TCP             ``sendall`` of a length and the array; ``recv_into`` one array, again and again
    TCP, fresh      the same, into a new array each time, as for a reader that keeps them
    raw UDP         64 KB a call by UDP_SEGMENT and UDP_GRO, as fast as it goes; some are lost
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.net import bed as beds
from tests.net import flow, run
from tests.net.bed import PREFIX, ROOT, SHARED_MEMORY, Bed
from tests.net.flow import CONNECT_S, SOL_UDP, Notes, say
from tests.net.verdict import Check
from tests.support import free_port

MIB, STREAM = 1 << 20, "net-arrays"
#: What the page of the results takes over.
PAGE = ROOT / "build" / "net" / "arrays.md"
OWNED, VIEWS, TCP, FRESH, UDP = "rstream", "rstream, views", "TCP", "TCP, fresh", "raw UDP"
KINDS = (OWNED, VIEWS, TCP, FRESH, UDP)
#: Linux's; Python 3.11 has no name for it.
UDP_SEGMENT = 103
#: Datagrams as long as rstream's, and as many of them in a call as fit 64 KB.
SEGMENT_BYTES, SEGMENTS = 1408, 46
#: What rstream must have of the others through the veth pair.
OF_TCP_LEAST, OF_UDP_LEAST = 0.5, 0.6


class Hosts(Bed):
    """Two hosts that a veth pair joins, or this host twice."""

    def __init__(self, is_loopback: bool) -> None:
        # A bed's own would build the program of its link.
        self.port = free_port()
        name = f"{PREFIX}-{os.getpid()}-{self.port}"
        self.is_loopback = is_loopback
        self._names = [] if is_loopback else [f"{name}-{host}" for host in range(2)]
        self._left = 1
        self._folder = SHARED_MEMORY / name
        self._process = None
        self._started: list[subprocess.Popen[str]] = []

    def _build(self) -> None:
        self._folder.mkdir()
        if not self.is_loopback:
            beds.join_by_veth({name: self.address(host) for host, name in enumerate(self._names)})

    def address(self, host: int) -> str:
        return "127.0.0.1" if self.is_loopback else super().address(host)

    def start(self, host: int, *arguments: str, driver: str = "driver") -> subprocess.Popen[str]:
        if not self.is_loopback:
            return super().start(host, *arguments, driver=driver)
        own = {name: text for name, text in os.environ.items() if not name.startswith("RSTREAM_")}
        own["RSTREAM_DIR"] = str(self._folder / f"{driver}-{host}")
        with self._errors(len(self._started)).open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, text=True, cwd=ROOT, env=own,
            )  # fmt: skip
        self._started.append(process)
        return process

    def close(self) -> None:
        """Also the drivers end: like their clients they have a directory in this folder."""
        super().close()
        mark = f"RSTREAM_DIR={self._folder}/".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


def read_rstream(task: dict[str, Any], notes: Notes) -> None:
    import rstream

    codec = rstream.codecs.numpy(view=True) if task["kind"] == VIEWS else "numpy"
    with rstream.subscriber(STREAM, codec=codec, channel=task["channel"]) as sub:
        say("ready")
        for array in sub:
            notes.take(array.nbytes)


def send_rstream(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    import rstream

    array = np.ones(task["size"], "u1")
    with rstream.publisher(STREAM, codec="numpy", channel=task["channel"]) as pub:
        say("ready")
        wait_for_go()
        while True:
            pub.send(array)
            notes.take(array.nbytes)


def fill(connection: socket.socket, target: memoryview) -> bool:
    """Whether all of it came before the connection ended."""
    while target.nbytes and (count := connection.recv_into(target)):
        target = target[count:]
    return not target.nbytes


def read_tcp(task: dict[str, Any], notes: Notes) -> None:
    with socket.create_server((task["address"], task["port"])) as server:
        say("ready")
        connection, _ = server.accept()
        head, array = bytearray(8), np.empty(0, "u1")
        while fill(connection, memoryview(head)):
            length = int.from_bytes(head, "little")
            if task["kind"] == FRESH or array.nbytes != length:
                array = np.empty(length, "u1")
            if fill(connection, array.data):
                notes.take(array.nbytes)


def send_tcp(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    array = np.ones(task["size"], "u1")
    address = (task["address"], task["port"])
    with socket.create_connection(address, timeout=CONNECT_S) as connection:
        connection.settimeout(None)
        say("ready")
        wait_for_go()
        while True:
            connection.sendall(array.nbytes.to_bytes(8, "little"))
            connection.sendall(array.data)
            notes.take(array.nbytes)


def send_udp(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    message = b"\x01" * (SEGMENTS * SEGMENT_BYTES)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(SOL_UDP, UDP_SEGMENT, SEGMENT_BYTES)
        sender.connect((task["address"], task["port"]))
        say("ready")
        wait_for_go()
        while True:
            notes.take(sender.send(message))


class Figure(NamedTuple):
    """What a run showed; ``taken``: the mean of the bytes that the reader took at once."""

    gb_per_s: float
    lost: float
    taken: float


def measure(kind: str, size: int, options: argparse.Namespace, hosts: Hosts) -> Figure:
    address, port = hosts.address(hosts.right(0)), hosts.port
    task = {"kind": kind, "size": size, "address": address, "port": port, "is_coalesced": True}
    task["channel"] = f"aeron:udp?endpoint={address}:{port}"
    ends: dict[str, subprocess.Popen[str]] = {}
    for role, host in (("read", hosts.right(0)), ("send", hosts.left(0))):
        text = json.dumps({**task, "role": role})
        ends[role] = hosts.start(host, "tests.net.arrays", text)
        run.line_of(ends[role])
    run.write_to(ends["send"], "go\n")
    from_ns = time.monotonic_ns() + round(options.warm * 1e9)
    to_ns = from_ns + round(options.seconds * 1e9)
    time.sleep(options.warm + options.seconds)
    # To a reader of rstream it is an error that its publisher dies, to a sender of TCP its reader.
    order = ("read", "send") if kind in (OWNED, VIEWS) else ("send", "read")
    told = {role: run.end_of(ends[role]) for role in order}
    rates: list[float] = []
    for one in (told["read"], told["send"]):
        outcome = run.Outcome(run.Flow("udp"), "", one["at_ns"], one["had"], 0, 0)
        rates.append(outcome.goodput(from_ns, to_ns) / 8e9)
    lost = max(0.0, 1 - rates[0] / (rates[1] or 1)) if kind == UDP else 0.0
    taken = max(told["read"]["had"], default=0) / (told["read"]["messages"] or 1)
    return Figure(rates[0], lost, taken)


#: Kind and bytes of an array (0: there is none), and the figures of the rounds.
Figures = dict[tuple[str, int], list[Figure]]


def ratio(found: Figures, case: tuple[str, int], other: tuple[str, int]) -> float | None:
    """The median of the rounds."""
    pairs = zip(found[case], found.get(other, ()), strict=False)
    values = [one.gb_per_s / beside.gb_per_s for one, beside in pairs if beside.gb_per_s]
    return statistics.median(values) if values else None


def table(found: Figures) -> Iterator[str]:
    yield "| kind | array | GB/s, median (min to max) | ÷ TCP | ÷ raw UDP | lost |"
    yield "|---|---|---|---|---|---|"
    for (kind, size), figures in found.items():
        rates = [one.gb_per_s for one in figures]
        beside = (ratio(found, (kind, size), other) for other in ((TCP, size), (UDP, 0)))
        lost = statistics.median(one.lost for one in figures)
        cells = (
            kind, f"{size // MIB} MiB" if size else "–",
            f"{statistics.median(rates):.3f} ({min(rates):.3f} to {max(rates):.3f})",
            *("–" if value is None else f"{value:.2f}" for value in beside),
            f"{lost:.0%}" if kind == UDP else "–",
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def verdicts(found: Figures) -> Iterator[Check]:
    for kind, size in found:
        for other, least in (((TCP, size), OF_TCP_LEAST), ((UDP, 0), OF_UDP_LEAST)):
            value = ratio(found, (kind, size), other)
            if kind == OWNED and value is not None:
                yield Check(f"{kind}, {size // MIB} MiB ÷ {other[0]}", value, least, is_least=True)


def measure_all(cases: Sequence[tuple[str, int]], options: argparse.Namespace) -> None:
    found: Figures = {case: [] for case in cases}
    for number, (kind, size) in itertools.product(range(1, options.rounds + 1), cases):
        name = f"{kind}, {size // MIB} MiB" if size else kind
        with Hosts(options.loopback) as hosts:
            try:
                figure = measure(kind, size, options, hosts)
            except OSError as error:
                raise OSError(f"{name}: {error}\n{hosts.errors()}") from error
        found[kind, size].append(figure)
        text = f"round {number}: {name}: {figure.gb_per_s:.3f} GB/s"
        more = f", {figure.lost:.1%} lost, {figure.taken:.0f} bytes at once"
        print(f"arrays: {text}{more if kind == UDP else ''}", flush=True)
    checked = [f"* {check}" for check in verdicts(found)]
    print("", *table(found), "", *checked, sep="\n")
    if options.loopback:
        print("arrays: the limits are meant for the veth pair")
    else:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text("\n".join([*table(found), "", *checked, ""]))


def main() -> None:
    if sys.argv[1:] and sys.argv[1].startswith("{"):  # the task of an end
        readers = (read_rstream, read_rstream, read_tcp, read_tcp, flow.read_udp)
        senders = (send_rstream, send_rstream, send_tcp, send_tcp, send_udp)
        flow.READERS.update(zip(KINDS, readers, strict=True))
        flow.SENDERS.update(zip(KINDS, senders, strict=True))
        flow.main()
    parser = argparse.ArgumentParser(prog="python -m tests.net.arrays", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="that are measured")
    parser.add_argument("--warm", type=float, default=1.0, help="seconds before them")
    parser.add_argument("--mib", type=int, nargs="+", default=[1, 64], help="of an array")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--loopback", action="store_true", help="127.0.0.1, without namespaces")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: all ends on the way out
    if not options.loopback and (reason := beds.why_not()):
        print(f"arrays: skipped: {reason}; --loopback needs no namespaces")
        return
    cases = [(UDP, 0)] if UDP in options.kinds else []
    for mib in options.mib:
        cases += [(kind, mib * MIB) for kind in options.kinds if kind != UDP]
    run_s = options.warm + options.seconds + 2  # to start and end it
    where = f"{'loopback' if options.loopback else 'veth'}, {os.cpu_count()} cores"
    runs = f"{options.rounds} rounds of {len(cases)} runs of {run_s:g} s"
    print(f"arrays: {where}, Linux {platform.release()}, {runs}", flush=True)
    measure_all(cases, options)


if __name__ == "__main__":
    main()
