"""Some flows through a link at once, and what the readers and the link saw of them."""

from __future__ import annotations

import json
import math
import subprocess
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.net.bed import Bed, Link
from tests.net.report import Counts, Report, quantile

FIRST_PORT = 20_100
CONTROL_SHARE = 0.9
CONTROL_BYTES = 1372  # 1 400 of IP
BEGIN_S = 0.05
#: What is under way when the senders end has this long and a round trip.
SETTLE_S = 0.3
#: rstream by default, and held by the window of its reader alone (cc=static).
OURS = ("rstream", "window")
KINDS = (*OURS, "cubic", "bbr", "reno", "udp")


@dataclass(frozen=True)
class Flow:
    """What goes from a host on the left to one on the right."""

    kind: str
    size: int = 1000
    #: After the first flow.
    start_s: float = 0.0
    left: int = 0
    right: int = 0
    #: rstream: whether it shares its driver with the other flows of its hosts, as it does unless
    #: told otherwise.
    shares_driver: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r}: a flow is one of {', '.join(KINDS)}")

    @property
    def protocol(self) -> str:
        return "udp" if self.kind in (*OURS, "udp") else "tcp"


@dataclass(frozen=True)
class Outcome:
    """What the reader of a flow had at which time, and how many messages were sent."""

    flow: Flow
    name: str  # in the report
    at_ns: Sequence[int]
    had: Sequence[int]
    sent: int
    came: int

    def goodput(self, from_ns: int, to_ns: int) -> float:
        """Payload bits per second, between the first and the last progress in this time, so that
        long messages that end in it count as long as they took.
        """
        first = bisect_left(self.at_ns, from_ns)
        last = bisect_left(self.at_ns, to_ns) - 1
        if last <= first:
            return 0.0
        gained = self.had[last] - self.had[first]
        return 8e9 * gained / (self.at_ns[last] - self.at_ns[first])

    def reached_ns(self, bits_per_s: float, window_ns: int) -> float:
        """When the goodput of this long was first so high; infinity: never."""
        for at_ns, had in zip(self.at_ns, self.had, strict=True):
            first = bisect_left(self.at_ns, at_ns - window_ns)
            before = self.had[first - 1] if first else 0
            if 8e9 * (had - before) >= bits_per_s * window_ns:
                return at_ns
        return math.inf


@dataclass(frozen=True)
class Run:
    """Flows that went through a link."""

    link: Link
    began_ns: int
    ended_ns: int
    outcomes: tuple[Outcome, ...]
    report: Report

    def ns(self, second: float) -> int:
        return self.began_ns + round(second * 1e9)

    @property
    def seconds(self) -> float:
        return (self.ended_ns - self.began_ns) / 1e9

    def share(self, number: int, from_s: float = 5.0, to_s: float | None = None) -> float:
        """Goodput of a flow in shares of the link, from that second on."""
        to_ns = self.ended_ns if to_s is None else self.ns(to_s)
        return self.outcomes[number].goodput(self.ns(from_s), to_ns) / self.link.bits_per_s

    def counts(self, number: int, from_s: float = 0.0, to_s: float | None = None) -> Counts:
        """What the link counted of a flow."""
        to_ns = self.ended_ns if to_s is None else self.ns(to_s)
        return self.report.forward(self.outcomes[number].name, self.ns(from_s), to_ns)

    def whole(self, number: int) -> Counts:
        """The same, to the end of the link, when the readers have ended too."""
        return self.report.forward(self.outcomes[number].name, 0, self.report.lines[-1].at_ns)

    def wait_p95_ms(self, from_s: float = 5.0) -> float:
        """Queueing delay at the bottleneck that 95 % of the time is not exceeded."""
        return quantile(self.report.waits_between(self.ns(from_s), self.ended_ns), 0.95)

    def bed_loss(self, number: int) -> float:
        """Share of a paced flow that is missing for another reason than the link's random loss."""
        outcome = self.outcomes[number]
        missing = outcome.sent - outcome.came - self.whole(number).lost
        return max(0, missing) / max(outcome.sent, 1)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise OSError("an end of a flow has ended")
    return line


def write_to(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def end_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What an end tells when its standard input ends."""
    output, _ = process.communicate(timeout=60)
    if not output:
        raise OSError("an end of a flow has ended before it should")
    told: dict[str, Any] = json.loads(output)
    return told


def _end_all(
    flows: Sequence[Flow],
    readers: Sequence[subprocess.Popen[str]],
    senders: Sequence[subprocess.Popen[str]],
    settle_s: float,
) -> tuple[list[dict[str, Any]], list[int]]:
    """What the readers tell, and how many messages were sent.

    Readers of rstream end first, for they would call it an error that their publisher dies; those
    of datagrams end when all have come.
    """
    told = {n: end_of(readers[n]) for n, flow in enumerate(flows) if flow.kind in OURS}
    sent = [end_of(sender)["messages"] for sender in senders]
    time.sleep(settle_s)
    told |= {n: end_of(reader) for n, reader in enumerate(readers) if n not in told}
    return [told[n] for n in range(len(flows))], sent


def _task(bed: Bed, flow: Flow, port: int, role: str) -> str:
    return json.dumps(
        {
            "role": role, "kind": flow.kind, "address": bed.address(bed.right(flow.right)),
            "port": port, "size": flow.size,
            "bits_per_s": round(CONTROL_SHARE * bed.link.bits_per_s),
        }
    )  # fmt: skip


def run(link: Link, flows: Sequence[Flow], seconds: float) -> Run:
    """Let flows run at once, for that long since the first began."""
    left = 1 + max(flow.left for flow in flows)
    right = 1 + max(flow.right for flow in flows)
    with Bed(link, left, right) as bed:
        try:
            return _run(bed, flows, seconds)
        except OSError as error:
            raise OSError(f"{error}\n{bed.errors()}") from error


def _start(bed: Bed, flows: Sequence[Flow]) -> tuple[list[Any], list[Any]]:
    """Readers and senders, which are ready."""
    readers, senders = [], []
    for number, flow in enumerate(flows):
        driver = "driver" if flow.shares_driver else f"driver-{number}"

        def start(host: int, role: str, number: int = number, driver: str = driver) -> Any:
            task = _task(bed, flows[number], FIRST_PORT + number, role)
            return bed.start(host, "tests.net.flow", task, driver=driver)

        readers.append(start(bed.right(flow.right), "read"))
        line_of(readers[-1])
        senders.append(start(bed.left(flow.left), "send"))
    for sender in senders:
        line_of(sender)
    return readers, senders


def _run(bed: Bed, flows: Sequence[Flow], seconds: float) -> Run:
    link = bed.link
    readers, senders = _start(bed, flows)
    began_ns = time.monotonic_ns() + round(BEGIN_S * 1e9)
    for at_s, rate_mbit in link.steps:
        bed.step(began_ns + round(at_s * 1e9), rate_mbit)
    for flow, sender in sorted(zip(flows, senders, strict=True), key=lambda one: one[0].start_s):
        sleep_until(began_ns + round(flow.start_s * 1e9))
        write_to(sender, "go\n")
    ended_ns = began_ns + round(seconds * 1e9)
    sleep_until(ended_ns)
    told, sent = _end_all(flows, readers, senders, SETTLE_S + link.rtt_ms / 1000)
    report = bed.finish()
    outcomes = tuple(
        Outcome(
            flow, f"{flow.protocol} {FIRST_PORT + number}", one["at_ns"], one["had"], count,
            one["messages"],
        )
        for number, (flow, one, count) in enumerate(zip(flows, told, sent, strict=True))
    )  # fmt: skip
    return Run(link, began_ns, ended_ns, outcomes, report)


def sleep_until(at_ns: int) -> None:
    time.sleep(max(0.0, (at_ns - time.monotonic_ns()) / 1e9))
