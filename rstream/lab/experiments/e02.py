"""E2: in groups of 2 to 1000 receivers a process dies, or its consumer hangs.

When the consumer hangs, its driver lives, and evicts the consumer after a second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, columns, report_of
from rstream.lab.measure import mean_rate
from rstream.lab.scenario import Consumer, Scenario, group
from rstream.lab.world import VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import LabReport

AT_S: Final = 3.0
EVICT_S: Final = 1.0
BEFORE_SHARE: Final = 0.5  # share of the time before it over which the first rate is measured
AFTER_S: Final = 4.0
SIZES: Final = (2, 8, 64, 1000)
#: Baselines beside credit run in groups up to this size.
BASELINE_SIZE_MOST: Final = 64


def scenario(size: int, hangs: bool, at_s: float = AT_S, world: World = VIRTUAL) -> Scenario:
    """The last receiver of the group dies or hangs at ``at_s``."""
    flat = ((0.0, world.full),)
    others = tuple(Consumer(levels=flat, noise=0.15) for _ in range(size - 1))
    last = Consumer(
        levels=flat,
        noise=0.15,
        hangs_s=at_s if hangs else math.inf,
        dies_s=math.inf if hangs else at_s,
        evict_after_s=EVICT_S,
    )
    return group(
        "E2",
        at_s + AFTER_S,
        (*others, last),
        buffer_bytes=world.buffer(),
        drain_s=0.1,
        step_s=5e-4 if size > 100 else 2e-4,
    )


def goodput(run: Run, at_s: float, from_s: float, to_s: float) -> float:
    """The goodput of the other receivers, as a share of the goodput before.

    NaN: there was none before, because a driver does not repair a receiver too far behind.
    """
    before = mean_rate(run, "delivered_sum", at_s * (1 - BEFORE_SHARE), at_s)
    return (
        mean_rate(run, "delivered_sum", at_s + from_s, at_s + to_s) / before
        if before > 0
        else math.nan
    )


def death_looker(at_s: float) -> Callable[[Run], dict[str, float]]:
    def look(run: Run) -> dict[str, float]:
        return {
            "first_100ms_share": goodput(run, at_s, 0.0, 0.1),
            "next_second_share": goodput(run, at_s, 0.1, 1.1),
            "later_share": goodput(run, at_s, 1.1, AFTER_S - 0.1),
        }

    return look


def hang_looker(at_s: float) -> Callable[[Run], dict[str, float]]:
    def look(run: Run) -> dict[str, float]:
        return {
            "held_share": goodput(run, at_s, 0.2, EVICT_S),
            "after_eviction_share": goodput(run, at_s, EVICT_S + 1.0, EVICT_S + 2.0),
        }

    return look


def e2(plan: Plan) -> LabReport:
    """Run E2.

    To pass, as shares of what the other receivers got before: >= 95 % in the first 100 ms after a
    death and in the next second; >= 95 % a second after an eviction.
    """
    seen: dict[str, Figures] = {}
    limits: Limits = {}
    at_s = AT_S * plan.time_scale
    for law in plan.laws:
        seen[law] = {}
        for size in plan.sizes(*SIZES):
            if size > BASELINE_SIZE_MOST and law not in ("adaptive", "credit"):
                continue
            title = f"E2, {law}" if size == 8 else ""
            death, hang = (scenario(size, hangs, at_s, plan.world) for hangs in (False, True))
            seen[law] |= columns(
                plan.runs(
                    death, plan.law(law), death_looker(at_s), f"{title}, a death" if title else ""
                ),
                f"n{size}_death_",
            )
            seen[law] |= columns(
                plan.runs(
                    hang, plan.law(law), hang_looker(at_s), f"{title}, a hang" if title else ""
                ),
                f"n{size}_hang_",
            )
            for figure in (
                "death_first_100ms_share",
                "death_next_second_share",
                "hang_after_eviction_share",
            ):
                limits[f"n{size}_{figure}"] = at_least(0.95)
    return report_of(
        plan,
        "E2",
        seen,
        limits,
        [
            "fc=min knows 256 receivers and ignores any further one, "
            "so credit overruns receivers of larger groups"
        ],
    )
