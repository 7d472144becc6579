"""What the table must show, as limits on its figures.

A cell whose control lost too much says nothing: there virtual time decides. Nor does one whose
control did not keep its pace: the machine was too busy.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.net.cells import (
    CONTROL_LOSS_MOST,
    CONTROL_PACE_LEAST,
    LOSSES,
    STREAMS,
    Cell,
    product_kb,
)
from tests.net.figures import middle
from tests.net.run import CONTROL_SHARE

#: Name of a case, and the figures of its runs.
Runs = Mapping[str, Sequence[dict[str, Any]]]
OWN = ("rstream 1 kB", "rstream 1 MB")
#: A standing queue counts where the queue is this much longer than what is allowed.
DEEP_ENOUGH = 1.5
#: Fewer datagrams for each stream than these, on the path and in its queue, cannot be fair.
DATAGRAMS_LEAST, DATAGRAM_BYTES = 24, 1436


@dataclass(frozen=True)
class Check:
    """A limit and what was found."""

    text: str
    value: float
    limit: float
    is_least: bool
    where: str = ""

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.is_least else self.value <= self.limit

    def __str__(self) -> str:
        sign, where = "≥" if self.is_least else "≤", f" ({self.where})" if self.where else ""
        word = "ok" if self.holds else "**missed**"
        return f"{word}: {self.text}: {self.value:.3g}{where}, limit {sign} {self.limit:g}"


def bed_loss(runs: Runs) -> float:
    return middle(runs["control"], "bed_loss")


def pace(runs: Runs) -> float:
    """What the control kept of its pace."""
    return middle(runs["control"], "ratio", 0) / CONTROL_SHARE


def doubt(runs: Runs) -> str:
    """Why a cell says nothing; empty: it can be trusted."""
    if bed_loss(runs) > CONTROL_LOSS_MOST:
        return "virtual time decides"
    return "machine too busy" if pace(runs) < CONTROL_PACE_LEAST else ""


def wait_limit_ms(cell: Cell) -> float:
    """The longest standing queue: 8 ms, 12 ms below 20 Mbit/s, or half a round trip."""
    return max(12.0 if cell.link.rate_mbit < 20 else 8.0, cell.link.rtt_ms / 2)


def is_deep(cell: Cell) -> bool:
    """Whether the queue could hold more than the limit allows."""
    return 8 * cell.link.queue_kb / cell.link.rate_mbit >= DEEP_ENOUGH * wait_limit_ms(cell)


def drop_limit(cell: Cell) -> float:
    """Own drops above the control's: more in a queue of a quarter of rate × round trip."""
    product = product_kb(cell.link.rate_mbit, cell.link.rtt_ms)
    return 0.02 if cell.link.queue_kb < 0.5 * product else 0.01


class Found:
    """The cells of a group that can be trusted, and their runs."""

    def __init__(self, table: Sequence[Cell], results: Mapping[str, Runs]) -> None:
        self._all = [
            (cell, results[cell.name])
            for cell in table
            if cell.name in results and not doubt(results[cell.name])
        ]

    def of(self, group: str) -> list[tuple[Cell, Runs]]:
        return [(cell, runs) for cell, runs in self._all if cell.group == group]

    def own(self, group: str, name: str) -> Iterator[tuple[Cell, str, float]]:
        """A figure of rstream's cases: the median, of the first flow."""
        for cell, runs in self.of(group):
            for case in OWN:
                if case in runs:
                    first = runs[case][0][name]
                    number = 0 if isinstance(first, list) else None
                    yield cell, case, middle(runs[case], name, number)


def checks(table: Sequence[Cell], results: Mapping[str, Runs]) -> list[Check]:
    """Every limit for which there are results."""
    found = Found(table, results)
    return [
        *_alone(found),
        *_lossy(found),
        *_beside(found),
        *_streams(found),
        *_start(found),
        *_changing(found),
    ]


def _worst(
    text: str, values: Sequence[tuple[float, str]], limit: float, is_least: bool
) -> Iterator[Check]:
    if values:
        value, where = min(values) if is_least else max(values)
        yield Check(text, value, limit, is_least, where)


def _mean(text: str, values: Sequence[float], limit: float, is_least: bool) -> Iterator[Check]:
    if values:
        yield Check(text, statistics.mean(values), limit, is_least)


def _alone(found: Found) -> Iterator[Check]:
    ratios = [(ratio, f"{cell.name}, {case}") for cell, case, ratio in found.own("alone", "ratio")]
    yield from _mean("alone: of the ceiling, mean", [ratio for ratio, _ in ratios], 0.93, True)
    yield from _worst("alone: of the ceiling, least", ratios, 0.8, True)
    drops = [
        (dropped - drop_limit(cell), f"{cell.name}, {case}")
        for cell, case, dropped in found.own("alone", "dropped")
    ]
    yield from _worst("alone: drops beyond what is allowed, most", drops, 0.0, False)
    waits = [
        (wait / wait_limit_ms(cell), f"{cell.name}, {case}")
        for cell, case, wait in found.own("alone", "wait_p95_ms")
        if is_deep(cell)
    ]
    yield from _worst("alone: standing queue over its limit, most", waits, 1.0, False)


def _lossy(found: Found) -> Iterator[Check]:
    for loss, limit in zip(LOSSES, (0.85, 0.75), strict=True):
        ratios = [
            (ratio, f"{cell.name}, {case}")
            for cell, case, ratio in found.own("lossy", "ratio")
            if cell.link.loss == loss
        ]
        yield from _worst(f"{loss:.0%} lost: of the ceiling, least", ratios, limit, True)


def _beside(found: Found) -> Iterator[Check]:
    pairs, two = [], []
    for cell, runs in found.of("beside"):
        ours = [middle(runs["rstream and cubic"], "share", number) for number in (0, 1)]
        pairs.append((ours[0] / (sum(ours) or 1), cell.name))
        theirs = [middle(runs["two cubics"], "share", number) for number in (0, 1)]
        two.append(theirs[0] / (sum(theirs) or 1))
    if not pairs:
        return
    own = [share for share, _ in pairs]
    yield from _mean("beside cubic: own share, mean", own, 0.35, True)
    yield from _mean("beside cubic: own share, mean", own, 0.5, False)
    yield from _worst("beside cubic: own share, least", pairs, 0.15, True)
    even, theirs_even = (
        statistics.mean(0.25 <= share <= 0.75 for share in shares) for shares in (own, two)
    )
    text = "beside cubic: cells where both have a quarter"
    yield Check(text, even, max(0.9, theirs_even), True)


def _streams(found: Found) -> Iterator[Check]:
    sums, fair, drops, late = [], [], [], []
    for cell, runs in found.of("streams"):
        for count in STREAMS:
            case, where = runs[f"{count} streams"], f"{cell.name}, {count}"
            sums.append((statistics.median(sum(one["ratio"]) for one in case), where))
            drops.append((middle(case, "dropped") - bed_loss(runs) - 0.02, where))
            room = 1000 * (product_kb(cell.link.rate_mbit, cell.link.rtt_ms) + cell.link.queue_kb)
            if room >= count * DATAGRAMS_LEAST * DATAGRAM_BYTES:
                fair.append((middle(case, "jain"), where))
        late += [one["late_ratio"] >= 0.5 for one in runs["latecomer"]]
    yield from _worst("streams: sum of the ceiling, least", sums, 0.93, True)
    yield from _mean("streams: Jain's index, mean", [one for one, _ in fair], 0.9, True)
    yield from _worst("streams: Jain's index, least", fair, 0.8, True)
    yield from _worst("streams: drops beyond the control's + 2 %, most", drops, 0.0, False)
    yield from _mean("latecomers with half of their share", late, 0.9, True)


def _start(found: Found) -> Iterator[Check]:
    """At round trips of 10 ms and more."""
    slow = [
        (cell, case, value)
        for cell, case, value in found.own("alone", "start_dropped")
        if cell.link.rtt_ms >= 10
    ]
    yield from _mean("start: drops, mean", [value for _, _, value in slow], 0.015, False)
    worst = [(value, f"{cell.name}, {case}") for cell, case, value in slow]
    yield from _worst("start: drops, most", worst, 0.05, False)
    half = [
        (middle(runs[OWN[0]], "half_after_round_trips"), cell.name)
        for cell, runs in found.of("alone")
        if cell.link.rtt_ms >= 10
    ]
    yield from _worst("start: round trips to half of the ceiling, most", half, 15, False)


def _changing(found: Found) -> Iterator[Check]:
    drops = [(value, cell.name) for cell, _, value in found.own("changing", "slow_dropped")]
    yield from _worst("slower link: drops in the second second", drops, 0.01, False)
    backs = [(value, cell.name) for cell, _, value in found.own("changing", "back_ratio")]
    yield from _worst("faster link: of the ceiling after 3 s", backs, 0.9, True)
