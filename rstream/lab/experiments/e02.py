"""E2: groups of 2 to 1 000; a process dies, or its consumer hangs while its driver lives and is evicted after a second."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, columns, report_of
from rstream.lab.measure import mean_rate
from rstream.lab.scenario import MB, Consumer, Scenario, group

if TYPE_CHECKING:
    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import Report

FULL: Final = 100 * MB
AT_S: Final = 3.0
EVICT_S: Final = 1.0
BEFORE_S: Final = 1.5
SECONDS: Final = 7.0
SIZES: Final = (2, 8, 64, 1000)
#: Baselines beside credit run in groups up to this size.
BASELINE_SIZE_MOST: Final = 64


def scenario(size: int, hangs: bool) -> Scenario:
    """The last one dies or hangs."""
    others = tuple(Consumer(levels=((0.0, FULL),), noise=0.15) for _ in range(size - 1))
    last = Consumer(levels=((0.0, FULL),), noise=0.15, hangs_s=AT_S if hangs else math.inf, dies_s=math.inf if hangs else AT_S, evict_after_s=EVICT_S)
    return group("E2", SECONDS, (*others, last), drain_s=0.1, step_s=5e-4 if size > 100 else 2e-4)


def goodput(run: Run, from_s: float, to_s: float) -> float:
    """Of the others, as a share of what it was before."""
    return mean_rate(run, "delivered_sum", from_s, to_s) / mean_rate(run, "delivered_sum", AT_S - BEFORE_S, AT_S)


def look_death(run: Run) -> dict[str, float]:
    return {
        "first_100ms_share": goodput(run, AT_S, AT_S + 0.1),
        "next_second_share": goodput(run, AT_S + 0.1, AT_S + 1.1),
        "later_share": goodput(run, AT_S + 1.1, SECONDS - 0.1),
    }


def look_hang(run: Run) -> dict[str, float]:
    gone = AT_S + EVICT_S
    return {"held_share": goodput(run, AT_S + 0.2, gone), "after_eviction_share": goodput(run, gone + 1.0, gone + 2.0)}


def e2(plan: Plan) -> Report:
    """To pass, of what the others got before: >= 95 % in the first 100 ms after a death and >= 95 % from then on; >= 95 % a second after an eviction."""
    seen: dict[str, Figures] = {}
    limits: Limits = {}
    for law in plan.laws:
        seen[law] = {}
        for size in plan.sizes(*SIZES):
            if size > BASELINE_SIZE_MOST and law not in ("adaptive", "credit"):
                continue
            title = f"E2, {law}" if size == 8 else ""
            seen[law] |= columns(plan.runs(scenario(size, hangs=False), plan.law(law), look_death, f"{title}, a death" if title else ""), f"n{size}_death_")
            seen[law] |= columns(plan.runs(scenario(size, hangs=True), plan.law(law), look_hang, f"{title}, a hang" if title else ""), f"n{size}_hang_")
            for figure in ("death_first_100ms_share", "death_next_second_share", "hang_after_eviction_share"):
                limits[f"n{size}_{figure}"] = at_least(0.95)
    return report_of(plan, "E2", seen, limits, ["fc=min knows 256 receivers; one more slows nobody, so credit overruns them in larger groups"])
