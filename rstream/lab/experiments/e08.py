"""E8: the number of fill NAKs: none without overload, few in overload, in groups of any size."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_most, columns, report_of
from rstream.lab.scenario import MB, Consumer, Scenario, Sender, group

if TYPE_CHECKING:
    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import LabReport

FULL: Final = 100 * MB
SECONDS: Final = 3.0
SIZES: Final = (1, 4, 16, 64, 1000)
BASELINE_SIZE_MOST: Final = 64
CALM_RATE: Final = 50 * MB
PER_ROUND_TRIP: Final = 8.0


def scenario(size: int, is_calm: bool) -> Scenario:
    """A group with or without overload.

    In overload the application always has more to send, and all receivers are equally slow, so
    every one of them has reason to report.
    """
    consumers = tuple(Consumer(levels=((0.0, FULL),), noise=0.15) for _ in range(size))
    sender = Sender(app_rate=CALM_RATE if is_calm else 0.0)
    return replace(
        group(
            "E8",
            SECONDS,
            consumers,
            sender=sender,
            drain_s=0.1,
            step_s=2e-4 if size > 100 else 1e-4,
        ),
        sample_s=5e-4,
    )


def most_in_a_round_trip(run: Run) -> float:
    """The most fill NAKs in any round trip: those that no echo could keep silent yet."""
    reports, round_trips, times = run.sender("reports"), run.sender("rtt_ns"), run.times
    most = 0.0
    for first, at_s in enumerate(times):
        if first and reports[first] == reports[first - 1]:
            continue
        span_s = max(round_trips[first] / 1e9, run.scenario.sample_s)
        last = min(bisect_left(times, at_s + span_s), len(times) - 1)
        most = max(most, reports[last] - (reports[first - 1] if first else 0.0))
    return most


def look(run: Run) -> dict[str, float]:
    reports = run.sender("reports")[-1]
    return {
        "fill_naks": reports,
        "fill_naks_most_per_round_trip": most_in_a_round_trip(run) if reports else 0.0,
        "control_bytes_per_mb": run.sender("control_bytes")[-1] / (run.sender("sent")[-1] / MB),
    }


def e8(plan: Plan) -> LabReport:
    """Run E8.

    To pass: no fill NAK without overload; in overload at most 8 per round trip from all
    receivers together.
    """
    seen: dict[str, Figures] = {}
    limits: Limits = {}
    for law in plan.laws:
        seen[law] = {}
        for size in plan.sizes(*SIZES):
            if size > BASELINE_SIZE_MOST and law not in ("adaptive", "credit"):
                continue
            seen[law] |= columns(
                plan.runs(scenario(size, is_calm=True), plan.law(law), look), f"n{size}_calm_"
            )
            seen[law] |= columns(
                plan.runs(
                    scenario(size, is_calm=False),
                    plan.law(law),
                    look,
                    f"E8, {law}" if size == 16 else "",
                ),
                f"n{size}_overload_",
            )
            limits[f"n{size}_calm_fill_naks"] = at_most(0.0, in_every_run=True)
            limits[f"n{size}_overload_fill_naks_most_per_round_trip"] = at_most(
                PER_ROUND_TRIP, in_every_run=True
            )
    return report_of(plan, "E8", seen, limits)
