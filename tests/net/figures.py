"""The figures of a run that the table keeps, as plain numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from tests.net.cells import FAST_S, SHORT, SLOW_S, START_S, Case, ceiling
from tests.net.flow import NOTE_NS
from tests.net.report import Counts
from tests.net.run import OURS, Run

#: Round trips that count as the start, and those after them in which streams become equal.
START_ROUND_TRIPS, FAIR_FROM, FAIR_ROUND_TRIPS = 50, 50, 100
#: A latecomer has this long until its share counts, for a second.
LATE_S = 2.0


def figures(case: Case, run: Run) -> dict[str, Any]:
    """What the table keeps of a run."""
    numbers = range(len(case.flows))
    from_s = START_S if run.seconds > START_S else run.seconds / 4
    found: dict[str, Any] = {
        # of the ceiling of a flow that has the link for itself
        "ratio": [
            run.share(n, from_s) / ceiling(flow.kind, flow.size)
            for n, flow in enumerate(case.flows)
        ],
        "share": [run.share(n, from_s) for n in numbers],
        "dropped": total(run, case, from_s).dropped_share,
        "start_dropped": total(run, case, 0.0, start_s(run)).dropped_share,
        "wait_p95_ms": run.wait_p95_ms(from_s),
        "late_turns": run.report.late_turns,
        "device_drops": run.report.device_drops,
    }
    if len(case.flows) == 1 and case.flows[0].size <= SHORT:
        found["half_after_round_trips"] = half_after_round_trips(run)
    if case.name == "control":
        found["bed_loss"] = run.bed_loss(0)
    if case.name.endswith("streams"):
        found["jain"] = fairness(run, case)
    if case.name == "latecomer":
        begins_s = case.flows[-1].start_s
        late = run.share(len(case.flows) - 1, begins_s + LATE_S - 0.5, begins_s + LATE_S + 0.5)
        found["late_ratio"] = late * len(case.flows) / ceiling("rstream", case.flows[-1].size)
    if run.link.steps and run.seconds > FAST_S:
        most = ceiling(case.flows[0].kind, case.flows[0].size)
        found["slow_dropped"] = total(run, case, SLOW_S + 1, SLOW_S + 2).dropped_share
        found["back_ratio"] = run.share(0, FAST_S + 2, FAST_S + 3) / most
    return found


def start_s(run: Run) -> float:
    return START_ROUND_TRIPS * run.link.rtt_ms / 1000


def half_after_round_trips(run: Run) -> float:
    """Round trips until the only flow has half of its ceiling."""
    flow, round_trip_ns = run.outcomes[0].flow, run.link.rtt_ms * 1e6
    half = 0.5 * ceiling(flow.kind, flow.size) * run.link.bits_per_s
    at_ns = run.outcomes[0].reached_ns(half, max(round(round_trip_ns), 2 * NOTE_NS))
    return (at_ns - run.began_ns) / round_trip_ns


def total(run: Run, case: Case, from_s: float, to_s: float | None = None) -> Counts:
    """What the link counted of rstream's flows, or of all where none is rstream's."""
    own = [n for n, flow in enumerate(case.flows) if flow.kind in OURS]
    parts = [run.counts(n, from_s, to_s) for n in own or range(len(case.flows))]
    return Counts(
        came=sum(part.came for part in parts), dropped=sum(part.dropped for part in parts)
    )


def fairness(run: Run, case: Case) -> float:
    """Jain's index of the bytes that passed, over 100 round trips after the first 50."""
    round_trip_s = run.link.rtt_ms / 1000
    from_s = FAIR_FROM * round_trip_s
    to_s = from_s + FAIR_ROUND_TRIPS * round_trip_s
    return jain([run.counts(n, from_s, to_s).passed_bytes for n in range(len(case.flows))])


def jain(values: Sequence[float]) -> float:
    """1: all are equal; 1 / n: one has everything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def middle(runs: Sequence[dict[str, Any]], name: str, number: int | None = None) -> float:
    """The median of a figure over the runs of a case; of one flow where it is a list."""
    return statistics.median(
        one[name] if number is None else one[name][number] for one in runs if name in one
    )
