"""The table: which links, which flows through them, how often.

A cell is a link and some cases; a case is what goes through it at once. Each cell has a control:
UDP at 0.9 of the rate. What the control loses is the bed's own loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.net.bed import Link
from tests.net.run import CONTROL_BYTES, OURS, Flow

RATES_MBIT = (10.0, 40.0, 100.0)
RTTS_MS = (1.0, 10.0, 40.0)
QUEUES = (0.25, 1.0, 3.0)
QUEUES_BESIDE = (0.5, 1.0, 2.0)
QUEUE_LEAST_KB = 64.0
BARE_RATES_MBIT = (20.0, 100.0, 200.0, 300.0)
BARE_QUEUE_KB = 30.0
LOSSES = (0.01, 0.02)
STREAMS = (2, 4, 8)
#: Seconds before what counts, and seconds that count.
START_S = 5.0
COUNTED_S, COUNTED_LONG_S = 3.0, 6.0
COUNTED_BESIDE_S = 5.0
CONTROL_S = 4.0
#: When a changing link becomes slow and fast again.
SLOW_S, FAST_S = 5.0, 10.0
SHORT, LONG = 1_000, 1_000_000
TIMES = 3
#: More than this share lost by the control: virtual time decides.
CONTROL_LOSS_MOST = 0.003
#: Less of its pace than this: the machine was too busy for anybody.
CONTROL_PACE_LEAST = 0.9

MTU_BYTES = 1408
HEADER_BYTES = 32
IP_UDP_BYTES = 28
ALIGNMENT = 32
TCP_SEGMENT, TCP_PACKET = 1448, 1500


@dataclass(frozen=True)
class Case:
    """Flows that go at once; the figures of the table are those of the first or of all."""

    name: str
    flows: tuple[Flow, ...]
    times: int = 1
    seconds: float = START_S + COUNTED_S


@dataclass(frozen=True)
class Cell:
    """A link, and what goes through it in turn."""

    group: str
    link: Link
    cases: tuple[Case, ...]

    @property
    def name(self) -> str:
        link = self.link
        loss = f", {link.loss:.0%} lost" if link.loss else ""
        steps = "".join(f", {rate:g} from {at_s:g} s on" for at_s, rate in link.steps)
        return (
            f"{self.group}: {link.rate_mbit:g} Mbit/s{steps}, {link.rtt_ms:g} ms, "
            f"{link.queue_kb:g} kB{loss}"
        )


def product_kb(rate_mbit: float, rtt_ms: float) -> float:
    """Rate × round trip."""
    return rate_mbit * rtt_ms / 8


def queue_kb(rate_mbit: float, rtt_ms: float, factor: float) -> float:
    return max(QUEUE_LEAST_KB, factor * product_kb(rate_mbit, rtt_ms))


def ceiling(kind: str, size: int) -> float:
    """Payload over IP bytes of a flow that loses nothing."""
    if kind not in (*OURS, "udp"):
        return TCP_SEGMENT / TCP_PACKET
    if kind == "udp":
        return size / (size + IP_UDP_BYTES)
    most = MTU_BYTES - HEADER_BYTES
    if size > most:
        return most / (MTU_BYTES + IP_UDP_BYTES)
    frame = -(-(size + HEADER_BYTES) // ALIGNMENT) * ALIGNMENT
    frames = MTU_BYTES // frame
    return frames * size / (frames * frame + IP_UDP_BYTES)


def control() -> Case:
    """It ends before a link changes, for of a slower link it would lose most."""
    return Case("control", (Flow("udp", CONTROL_BYTES),), seconds=CONTROL_S)


def seconds_of(rate_mbit: float, size: int) -> float:
    """Long messages on a slow link need longer: each takes almost a second there."""
    counted_s = COUNTED_LONG_S if 8 * size / (rate_mbit * 1e6) > COUNTED_S / 10 else COUNTED_S
    return START_S + counted_s


def alone_cases(rate_mbit: float) -> tuple[Case, ...]:
    return (
        control(),
        *(
            Case(f"rstream {label}", (Flow("rstream", size),), TIMES, seconds_of(rate_mbit, size))
            for label, size in (("1 kB", SHORT), ("1 MB", LONG))
        ),
        *(Case(kind, (Flow(kind),)) for kind in ("cubic", "bbr")),
    )


def links(queues: tuple[float, ...]) -> Iterator[Link]:
    """Each link once: short ones all have the least queue."""
    seen = set()
    for rate_mbit in RATES_MBIT:
        for rtt_ms in RTTS_MS:
            for factor in queues:
                link = Link(rate_mbit, rtt_ms, queue_kb(rate_mbit, rtt_ms, factor))
                if link not in seen:
                    seen.add(link)
                    yield link


def alone() -> Iterator[Cell]:
    for link in links(QUEUES):
        yield Cell("alone", link, alone_cases(link.rate_mbit))


def lossy() -> Iterator[Cell]:
    for rate_mbit in RATES_MBIT[1:]:
        for loss in LOSSES:
            link = Link(rate_mbit, 40.0, queue_kb(rate_mbit, 40.0, 1.0), loss)
            yield Cell("lossy", link, alone_cases(rate_mbit))


def beside() -> Iterator[Cell]:
    """Beside one cubic; two cubics for comparison."""
    pair = (Flow("rstream"), Flow("cubic"))
    for link in links(QUEUES_BESIDE):
        yield Cell(
            "beside",
            link,
            (
                control(),
                Case("rstream and cubic", pair, TIMES, START_S + COUNTED_BESIDE_S),
                Case("two cubics", (Flow("cubic"),) * 2, 1, START_S + COUNTED_BESIDE_S),
            ),
        )


def streams() -> Iterator[Cell]:
    """Several streams of one driver; a latecomer after five seconds."""
    for rate_mbit, rtt_ms in ((40.0, 10.0), (100.0, 10.0), (100.0, 40.0)):
        link = Link(rate_mbit, rtt_ms, queue_kb(rate_mbit, rtt_ms, 1.0))
        late = (Flow("rstream"), Flow("rstream", start_s=START_S))
        yield Cell(
            "streams",
            link,
            (
                control(),
                *(Case(f"{count} streams", (Flow("rstream"),) * count, TIMES) for count in STREAMS),
                Case("latecomer", late, TIMES),
            ),
        )


def changing() -> Iterator[Cell]:
    """100 to 20 Mbit/s and back."""
    for rtt_ms in (10.0, 40.0):
        steps = ((SLOW_S, 20.0), (FAST_S, 100.0))
        link = Link(100.0, rtt_ms, queue_kb(100.0, rtt_ms, 1.0), steps=steps)
        yield Cell(
            "changing",
            link,
            (
                control(),
                Case("rstream 1 kB", (Flow("rstream"),), TIMES, 15.0),
                *(Case(kind, (Flow(kind),), 1, 15.0) for kind in ("cubic", "bbr")),
            ),
        )


def bare() -> Iterator[Cell]:
    """The control by itself, with shorter queues than any other cell has: what the bed can do."""
    for rate_mbit in BARE_RATES_MBIT:
        yield Cell("bare", Link(rate_mbit, 1.0, BARE_QUEUE_KB), (control(),))


def table() -> list[Cell]:
    return [*bare(), *alone(), *lossy(), *beside(), *streams(), *changing()]
