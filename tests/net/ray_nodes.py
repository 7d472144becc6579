"""``python -m tests.net.ray_nodes``: rstream between two Ray nodes, beside TCP and ray.put.

Two network namespaces of this host, joined by a veth pair, have a Ray head (left) and a Ray worker
node (right). Each has a driver directory and a host token of its own, so what actors on the left
send to actors on the right goes over UDP. All of rstream's settings are the defaults.

Links: tbf on the left device, which is what drops, with no delay of its own and a burst of 2 ms
at its rate. Offloads stay on, as on any host: segments of up to 64 kB come to tbf, which cuts those
above its burst and queues or drops the others whole. One of those counts as one packet if it is
dropped, and as all that are in it if it is sent, so shares of drops are the least that they can be.

Flows: arrays of 1 MB by TCP (cubic) alone, by rstream alone, and by both beside each other. Goodput
is what the reader got, from 5 s after the start on, and drops are those of the same time; those of
the first 5 s, when a flow looks for its rate, stand in brackets.

Arrays: without tbf, fresh float32 arrays of 64 MB by rstream, by ray.put and ray.get, and by TCP in
turns, until the reader has looked at every element.

Needs Linux, root and Ray. What it started is ended with the namespaces, and nothing else is.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

import rstream.ray
from tests.net import bed
from tests.net.flow import Notes
from tests.net.page import wrapped
from tests.net.run import sleep_until
from tests.net.verdict import Check

ray: Any = importlib.import_module("ray")  # its types are not complete
ADDRESSES = {"left": "10.88.0.1", "right": "10.88.0.2"}
GCS = f"{ADDRESSES['left']}:6379"
STORE_BYTES = 400_000_000
KINDS = ("tcp", "rstream")
WAYS = ("put+get", "rstream", "tcp")
PIECE, WHOLE = 1_000_000, 64_000_000
BURST_S = 0.002
LEAD_S, START_S, AFTER_S = 2.0, 5.0, 0.5
#: Longest wait for a node, an actor, or an array.
LIMIT_S = 90.0
#: rstream alone, of TCP; what is not dropped then; each of both, of the link; put+get of rstream.
ALONE, KEPT, BESIDE, FASTER = 0.9, 0.99, 0.25, 1.0
ARRAYS = "64 MB arrays"
#: What the page of the results takes over.
PAGE = bed.ROOT / "build" / "net" / "ray_nodes.md"
HEADS = (
    "link", "TCP alone, Mbit/s", "dropped", "rstream alone, Mbit/s", "dropped", "ratio",
    "beside each other: TCP", "rstream", "dropped",
)  # fmt: skip
#: A figure, and the least that it should be.
Verdict = tuple[str, float, float]
#: Rate in Mbit/s and queue in kB of a bottleneck.
CELLS = {f"{rate} Mbit/s, {kb} kB": (rate, kb) for rate in (200, 1000) for kb in (100, 300, 1000)}


# ---- the hosts: namespaces and Ray's nodes ----


class Nodes:
    """Two namespaces with a Ray node each."""

    def __init__(self) -> None:
        name = f"{bed.PREFIX}-{os.getpid()}-ray"
        self.names = {side: f"{name}-{side}" for side in ADDRESSES}
        self.folder = bed.SHARED_MEMORY / name

    def start(self) -> None:
        bed.sweep()
        self.folder.mkdir()
        bed.join_by_veth({self.names[side]: address for side, address in ADDRESSES.items()})
        self._start_ray("left", "--head", "--port=6379", "--include-dashboard=false")
        self._start_ray("right", f"--address={GCS}")

    def _start_ray(self, side: str, *role: str) -> None:
        command = [
            *("-m", "ray.scripts.scripts", "start", *role, "--num-cpus=2"),
            *(f"--node-ip-address={ADDRESSES[side]}", f"--temp-dir={self.folder / side}"),
            *(f"--resources={json.dumps({side: 100})}", f"--object-store-memory={STORE_BYTES}"),
        ]
        with (self.folder / f"start-{side}").open("w+") as log:
            if self.run(side, command, stdout=log, stderr=log, timeout=LIMIT_S):
                log.seek(0)
                raise OSError(f"the Ray node on the {side}: {log.read()}")

    def run(self, side: str, arguments: list[str], **options: Any) -> int:
        """Run Python on a host until it ends."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RSTREAM_", "RAY_"))}
        own = {
            "PYTHONPATH": str(bed.ROOT), "RSTREAM_DIR": str(self.folder / f"driver-{side}"),
            "RSTREAM_HOST_TOKEN": self.names[side], "RAY_TMPDIR": str(self.folder / side),
            "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        }  # fmt: skip
        inside = ["ip", "netns", "exec", self.names[side], sys.executable, *arguments]
        return subprocess.call(inside, cwd=bed.ROOT, env=kept | own, **options)

    def close(self) -> None:
        """End and remove everything, whatever signals come meanwhile."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for name in self.names.values():
            bed.remove_namespace(name)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- the actors ----


@contextlib.contextmanager
def outlet(kind: str, where: Any) -> Generator[Callable[[Any], Any], None, None]:
    """What sends an array."""
    if kind == "rstream":
        with where.publisher() as pub:
            if "udp" not in pub.channel:
                raise OSError(f"it does not go over the network: {pub.channel}")
            yield pub.send
        return
    with socket.create_connection(where, timeout=LIMIT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        yield lambda array: connection.sendall(memoryview(array).cast("B"))


class Sender:
    """On the left."""

    def stream(self, kind: str, where: Any, at_ns: int, until_ns: int) -> None:
        """Send pieces from one time to another."""
        piece = np.zeros(PIECE // 4, np.float32)
        with outlet(kind, where) as send:
            sleep_until(at_ns)
            while time.monotonic_ns() < until_ns:
                send(piece)

    def arrays(self, where: Any, receivers: Any, rounds: int) -> dict[str, list[float]]:
        """How many seconds arrays take, by each way in turns; the first ones do not count."""
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        with outlet("tcp", where["tcp"]) as tcp, outlet("rstream", where["rstream"]) as ours:
            for turn in range(3 * (rounds + 1)):
                number, way = turn // 3, WAYS[(turn + turn // 3) % 3]
                array = np.full(WHOLE // 4, number, np.float32)
                began_ns = time.monotonic_ns()
                if way == "put+get":
                    told = ray.get(receivers["tcp"].get.remote([ray.put(array)]))
                else:
                    (tcp if way == "tcp" else ours)(array)
                    told = ray.get(receivers[way].came.remote())
                least, most, seen_ns = told
                if (least, most) != (number, number):
                    raise OSError(f"{way}: array {number} came as {least} to {most}")
                took[way].append((seen_ns - began_ns) / 1e9)
        return {way: seconds[1:] for way, seconds in took.items()}


def look(array: Any) -> tuple[int, int, int]:
    """The least and the greatest element, and when they were known."""
    return int(array.min()), int(array.max()), time.monotonic_ns()


class Receiver:
    """On the right; reads arrays of one size on a thread of its own."""

    def open(self, kind: str, size: int) -> Any:
        """Returns where to send: a handle, or an address."""
        self.size, self.notes, self.looked = size, Notes(), queue.SimpleQueue[Any]()
        if kind == "rstream":
            self.end: Any = rstream.ray.reader(type=np.ndarray)
            self.end.start(self._take)
            return self.end.handle
        self.end = socket.create_server((ray.util.get_node_ip_address(), 0))
        threading.Thread(target=self._serve, args=(self.end,), daemon=True).start()
        return self.end.getsockname()

    def _take(self, array: Any) -> None:
        self.notes.take(array.nbytes)
        if self.size == WHOLE:
            self.looked.put(look(array))

    def _serve(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        while True:
            array: Any = np.empty(self.size // 4, np.float32)
            left = memoryview(array).cast("B")
            while left:
                if not (count := connection.recv_into(left)):
                    return
                left = left[count:]
            self._take(array)

    def came(self) -> tuple[int, int, int]:
        return self.looked.get(timeout=LIMIT_S)

    def get(self, references: list[Any]) -> tuple[int, int, int]:
        return look(ray.get(references[0]))

    def finish(self) -> dict[str, Any]:
        """Close; returns how many bytes there were at which time."""
        self.end.close()
        return self.notes.told()


# ---- the measurements, a program on the left ----


def tc(action: str, what: str = "") -> str:
    command = f"tc -s -j qdisc {action} dev {bed.DEVICE} {what}".split()
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def dropped(before: Any, after: Any) -> float:
    """The share that tbf dropped between two times."""
    sent, lost = (after[key] - before[key] for key in ("packets", "drops"))
    return lost / max(sent + lost, 1)


def wait(references: Any) -> Any:
    return ray.get(references, timeout=LIMIT_S)


class Bench:
    """Actors on both nodes, and what they are made to do."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rows: list[tuple[str, ...]] = [HEADS, ("---",) * len(HEADS)]
        self.lines: list[str] = []
        left, right = ({"num_cpus": 0, "resources": {side: 1}} for side in ADDRESSES)
        self.senders = {kind: ray.remote(**left)(Sender).remote() for kind in KINDS}
        self.receivers = {kind: ray.remote(**right)(Receiver).remote() for kind in KINDS}

    def flows(self, rate_mbit: int, *kinds: str) -> dict[str, float]:
        """Shares of the link that flows get, and what is dropped at first and later."""
        where = {kind: wait(self.receivers[kind].open.remote(kind, PIECE)) for kind in kinds}
        at_ns = time.monotonic_ns() + round(LEAD_S * 1e9)
        from_ns = at_ns + round(START_S * 1e9)
        to_ns = from_ns + round(self.options.seconds * 1e9)
        until_ns = to_ns + round(AFTER_S * 1e9)
        sending = [self.senders[k].stream.remote(k, where[k], at_ns, until_ns) for k in kinds]
        marks: list[Any] = []
        for mark_ns in (at_ns, from_ns, to_ns):
            sleep_until(mark_ns)
            marks.append(json.loads(tc("show"))[0])
        wait(sending)
        found = {"first": dropped(*marks[:2]), "later": dropped(*marks[1:])}
        for kind in kinds:
            told = wait(self.receivers[kind].finish.remote())
            had = np.interp([from_ns, to_ns], [at_ns, *told["at_ns"]], [0, *told["had"]])
            found[kind] = 8e3 * float(had[1] - had[0]) / (to_ns - from_ns) / rate_mbit
        return found

    def link(self, cell: str) -> list[Verdict]:
        """Flows through a bottleneck: a row of the table, and verdicts."""
        rate, queue_kb = CELLS[cell]
        burst = round(rate * 1e6 / 8 * BURST_S)
        tc("replace", f"root tbf rate {rate}mbit burst {burst} limit {queue_kb * 1000}")
        cases = (("tcp",), ("rstream",), KINDS)
        runs = [[self.flows(rate, *kinds) for kinds in cases] for _ in range(self.options.times)]
        tc("del", "root")

        def middle(case: int, key: str) -> float:
            return statistics.median(run[case][key] for run in runs)

        tcp, ours = (f"{middle(n, kind) * rate:.0f}" for n, kind in enumerate(KINDS))
        both = [middle(2, kind) for kind in KINDS]
        ratio = statistics.median(run[1]["rstream"] / run[0]["tcp"] for run in runs)
        lost = [f"{middle(n, 'later'):.2%} ({middle(n, 'first'):.2%})" for n in range(3)]
        row = (tcp, lost[0], ours, lost[1], *(f"{x:.2f}" for x in (ratio, *both)), lost[2])
        self.rows.append((cell, *row))
        told = (f"{head} {text}" for head, text in zip(HEADS[1:], row, strict=True))
        print(f"{cell}: {'; '.join(told)}", flush=True)
        return [
            (f"{cell}: rstream alone, of TCP alone", ratio, ALONE),
            (f"{cell}: rstream alone, not dropped", 1 - middle(1, "later"), KEPT),
            (f"{cell}: beside each other, the smaller share", min(both), BESIDE),
        ]

    def arrays(self) -> list[Verdict]:
        """Long arrays without a bottleneck: a line, and a verdict."""
        where = {kind: wait(self.receivers[kind].open.remote(kind, WHOLE)) for kind in KINDS}
        sender = self.senders["rstream"]
        took = wait(sender.arrays.remote(where, self.receivers, self.options.pairs))
        ratio = statistics.median(a / b for a, b in zip(took[WAYS[0]], took[WAYS[1]], strict=True))
        told = ", ".join(f"{way} {statistics.median(took[way]) * 1e3:.0f} ms" for way in WAYS)
        self.lines.append(f"{ARRAYS}: {told}; put+get by rstream {ratio:.2f}.")
        return [(f"{ARRAYS}: put+get by rstream", ratio, FASTER)]


def measure(options: argparse.Namespace) -> int:
    ray.init(address=GCS, logging_level="ERROR")
    bench = Bench(options)
    chosen = [cell for cell in CELLS if re.search(options.only, cell)]
    verdicts = [one for cell in chosen for one in bench.link(cell)]
    if re.search(options.only, ARRAYS):
        verdicts += bench.arrays()
    checked = [Check(text, figure, least, is_least=True) for text, figure, least in verdicts]
    table = [f"| {' | '.join(row)} |" for row in bench.rows] if chosen else []
    lines = [*table, "", *bench.lines, "", *(wrapped(f"* {check}") for check in checked), ""]
    print("", *lines, sep="\n")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(lines))
    return 0 if all(check.holds for check in checked) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.net.ray_nodes", description=__doc__)
    parser.add_argument("--only", default="", help="cells whose name this expression finds")
    parser.add_argument("--seconds", type=float, default=10.0, help="that are counted")
    parser.add_argument("--times", type=int, default=1, help="runs of each flow, for medians")
    parser.add_argument("--pairs", type=int, default=9, help="arrays by each way")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return measure(options)
    if reason := bed.why_not():
        print(f"net: skipped: {reason}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    nodes = Nodes()
    try:
        nodes.start()
        return nodes.run("left", ["-m", "tests.net.ray_nodes", *sys.argv[1:], "--inside"])
    finally:
        nodes.close()


if __name__ == "__main__":
    sys.exit(main())
