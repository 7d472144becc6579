"""A law beside three yardsticks, on draws from families of consumers.

The yardsticks of a draw, in the same world:

* full window: credit whose window is the whole buffer. It delivers most, and queues most.
* same delay: credit whose window holds the target delay and the round trip at 100 MB/s.
* as written: the proposal of fill NAKs by steps (``nak``).

Utilisation is the mean over the receivers of bytes consumed over the integral of the receiver's own
capacity. The queue is the fullest one of the group, in milliseconds at 100 MB/s.

A run may overrun when its buffer is too small for any law. With R = 100 MB/s, B the buffer and
q* = min(max(0.8 target delay, RTT) R, B / 4) its set point, the headroom is

    X = (B - q*) / (R (RTT + max(4 ms, RTT) + RTT / 2))

the room above the set point over what arrives until a report stops the sender: a round trip, the
period of reports, and half a round trip to notice. An overrun at X >= 1.2 is a fault.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rstream.lab.engine import Run, run
from rstream.lab.families import SECONDS, Draw, Family, draw
from rstream.lab.measure import quantile
from rstream.lab.report import Figure
from rstream.lab.scenario import Law, Scenario, Sender, group
from rstream.lab.trace import NOMINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = (
    "HEADROOM_LEAST",
    "LAW_NAMES",
    "TARGETS_S",
    "DrawResult",
    "LabRow",
    "compare",
    "headroom",
    "mean_utilisation",
    "row_of",
    "scenario_of",
    "verdict",
)

TARGETS_S: Final = (0.010, 0.020)
#: The columns of utilisations: of the law and of the yardsticks.
LAW_NAMES: Final = ("utilisation", "same delay", "full window", "as written")
HEADROOM_LEAST: Final = 1.2
#: A datagram with a fill NAK (RSTI_LAB_REPORT_BYTES). Plain status messages do not count: they are
#: the same under each law.
REPORT_BYTES: Final = 100
#: Below this rate the share of reports in the data is not judged.
BUSY: Final = 0.1 * NOMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawResult:
    """What a draw gave at a target delay.

    Attributes:
        draw: the draw.
        by_agents: whether real media drivers ran it.
        headroom: X.
        utilisation: by LAW_NAMES.
        queue_ms: median and 99th percentile of the fullest queue.
        overrun_bytes: bytes that met a full buffer.
        report_bytes: bytes of fill NAKs.
        sent_bytes: bytes of data.
    """

    draw: Draw
    by_agents: bool
    headroom: float
    utilisation: Mapping[str, float]
    queue_ms: tuple[float, float]
    overrun_bytes: float
    report_bytes: float
    sent_bytes: float

    @property
    def is_fault(self) -> bool:
        """Whether it overran although the buffer has headroom."""
        return self.overrun_bytes > 0 and self.headroom >= HEADROOM_LEAST


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRow:
    """The draws of a family at a target delay, and their figures by name (the table's columns)."""

    family: Family
    target_s: float
    seen: tuple[DrawResult, ...]
    figures: Mapping[str, float]


def row_of(family: Family, target_s: float, seen: Sequence[DrawResult]) -> LabRow:
    """Means over the draws. Ratios are ratios of means; overruns and faults are sums."""
    utilisation = {law: fmean(one.utilisation[law] for one in seen) for law in LAW_NAMES}
    p50_ms, p99_ms = (fmean(one.queue_ms[at] for one in seen) for at in range(2))
    busy = [one for one in seen if one.sent_bytes > BUSY * SECONDS]
    data = sum(one.sent_bytes for one in busy)
    return LabRow(
        family=family,
        target_s=target_s,
        seen=tuple(seen),
        figures={
            **utilisation,
            "/ same delay": utilisation["utilisation"] / utilisation["same delay"],
            "/ full window": utilisation["utilisation"] / utilisation["full window"],
            "p50, ms": p50_ms,
            "p99, ms": p99_ms,
            "p99 / target": p99_ms / (target_s * 1e3),
            "overrun, MB": sum(one.overrun_bytes for one in seen) / 1e6,
            "faults": float(sum(one.is_fault for one in seen)),
            "fill NAKs, %": 100 * sum(one.report_bytes for one in busy) / data if data else 0.0,
        },
    )


def headroom(buffer_bytes: float, rtt_s: float, target_s: float) -> float:
    """X, as above."""
    aim = min(max(0.8 * target_s, rtt_s) * NOMINAL, buffer_bytes / 4)
    return (buffer_bytes - aim) / (NOMINAL * (1.5 * rtt_s + max(4e-3, rtt_s)))


def compare(
    families: Sequence[Family],
    seeds: Sequence[int],
    *,
    law: str = "adaptive",
    agents_share: float = 0.0,
    on_done: Callable[[int], None] = lambda count: None,
) -> tuple[list[LabRow], dict[str, Run]]:
    """Run draws of families under all laws, in parallel on all processors.

    Args:
        families: the families.
        seeds: one draw of each family for each of them.
        law: the law to judge, a name in LAWS.
        agents_share: share of the draws that real media drivers run, evenly spread.
        on_done: called with the number of draws that are done.
    Returns:
        A row for each target delay and family, and by family a run for a picture.
    """
    draws = [(family, seed) for family in families for seed in seeds]
    pictures: dict[str, Run] = {}

    def one(number: int) -> list[DrawResult]:
        family, seed = draws[number]
        by_agents = math.floor((number + 1) * agents_share) > math.floor(number * agents_share)
        seen, picture = _measure(draw(family, seed), law, by_agents=by_agents)
        if seed == seeds[0]:
            pictures[family.name] = picture
        return seen

    found: list[list[DrawResult]] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the engines run without the GIL
        for seen in pool.map(one, range(len(draws))):
            found.append(seen)
            on_done(len(found))
    count = len(seeds)
    rows = [
        row_of(
            family,
            target_s,
            [seen[at] for seen in found[first * count : (first + 1) * count]],
        )
        for at, target_s in enumerate(TARGETS_S)
        for first, family in enumerate(families)
    ]
    return rows, {family.name: pictures[family.name] for family in families}


def _measure(drawn: Draw, law: str, *, by_agents: bool) -> tuple[list[DrawResult], Run]:
    """What a draw gave at each target delay, and the run of the law at the first one."""
    if by_agents:  # a driver's buffer is a power of two (world.py)
        power = 2.0 ** math.floor(math.log2(drawn.buffer_bytes))
        drawn = replace(drawn, buffer_bytes=power)
    scenario = replace(scenario_of(drawn), agents=by_agents)

    def under(name: str, **parameters: float) -> Run:
        return run(scenario.under(Law(name, parameters)), drawn.seed)

    full, written = mean_utilisation(under("credit")), mean_utilisation(under("nak"))
    seen: list[DrawResult] = []
    pictures: list[Run] = []
    for target_s in TARGETS_S:
        window = round((target_s + drawn.rtt_s) * NOMINAL)
        same = mean_utilisation(under("credit", buffer_bytes=window))
        ours = under(law, target_delay_ns=target_s * 1e9)
        queues_ms = [queue / NOMINAL * 1e3 for queue in ours.sender("queue_most")]
        laws = zip(LAW_NAMES, (mean_utilisation(ours), same, full, written), strict=True)
        pictures.append(ours)
        seen.append(
            DrawResult(
                draw=drawn,
                by_agents=by_agents,
                headroom=headroom(drawn.buffer_bytes, drawn.rtt_s, target_s),
                utilisation=dict(laws),
                queue_ms=(quantile(queues_ms, 0.5), quantile(queues_ms, 0.99)),
                overrun_bytes=sum(ours.results("overrun")),
                report_bytes=REPORT_BYTES * sum(ours.results("reports")),
                sent_bytes=ours.sender("sent")[-1],
            )
        )
    return seen, pictures[0]


def scenario_of(drawn: Draw) -> Scenario:
    """The draw on the queue engine; the application sends all the time."""
    scenario = group(
        drawn.family,
        SECONDS,
        drawn.consumers,
        buffer_bytes=drawn.buffer_bytes,
        drain_s=0.0,
        sender=Sender(rtt_s=drawn.rtt_s),
    )
    return replace(scenario, traced=len(drawn.consumers))


def mean_utilisation(outcome: Run) -> float:
    """The mean over the receivers of bytes consumed over the integral of the own capacity."""
    consumed, capacity = outcome.results("consumed"), outcome.results("capacity")
    return fmean(taken / most for taken, most in zip(consumed, capacity, strict=True))


@dataclass(frozen=True, slots=True)
class _RowLimit:
    """A limit on a figure of each row, or on its mean over the rows."""

    name: str
    figure: str
    least: float | None = None
    most: float | None = None
    is_mean: bool = False

    def judge(self, rows: Sequence[LabRow], where: str) -> tuple[Figure, str]:
        values = tuple(row.figures[self.figure] for row in rows)
        shown = (fmean(values),) if self.is_mean else values
        figure = Figure(where + self.name, shown, "", self.least, self.most, of_every=True)
        return figure, "" if self.is_mean else rows[values.index(figure.worst)].family.name


_LIMITS: Final = (
    _RowLimit("ratio to same delay, mean", "/ same delay", least=0.95, is_mean=True),
    _RowLimit("ratio to same delay, each family", "/ same delay", least=0.88),
    _RowLimit("ratio to full window, each family", "/ full window", least=0.7),
    _RowLimit("p99 queue over target, mean", "p99 / target", most=1.5, is_mean=True),
    _RowLimit(f"runs that overran at X >= {HEADROOM_LEAST}", "faults", most=0.0),
    _RowLimit("fill NAKs in % of data", "fill NAKs, %", most=0.1),
)


def verdict(rows: Sequence[LabRow]) -> list[tuple[Figure, str]]:
    """The figures of a table that have limits, each with its worst family ("": it is a mean).

    A single family has no mean over families.
    """
    found: list[tuple[Figure, str]] = []
    for target_s in TARGETS_S:
        chosen = [row for row in rows if row.target_s == target_s]
        limits = [limit for limit in _LIMITS if len(chosen) > 1 or not limit.is_mean]
        found += [limit.judge(chosen, f"{target_s * 1e3:.0f} ms: ") for limit in limits]
    return found
