"""E4: a receiver of four stops for ten reaction times, with buffers from far too small to plenty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, report_of, target_delay_s
from rstream.lab.measure import buffer_for_margin, reaction_s
from rstream.lab.scenario import MB, Consumer, Scenario, group

if TYPE_CHECKING:
    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures
    from rstream.lab.report import Report

FULL: Final = 100 * MB
RTT_S: Final = 1e-3
SETTLED_S: Final = 3.0
STOP_REACTIONS: Final = 10.0
MARGINS: Final = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 4.0, 6.0)


def scenario(buffer_bytes: float, delay_s: float) -> Scenario:
    stop_s = STOP_REACTIONS * reaction_s(buffer_bytes, FULL, RTT_S, delay_s)
    stopping = Consumer(levels=((0.0, FULL),), noise=0.15, pauses=((SETTLED_S, stop_s),))
    return group(
        "E4", SETTLED_S + stop_s + 0.2, (stopping, *(Consumer(levels=((0.0, FULL),), noise=0.15) for _ in range(3))),
        buffer_bytes=buffer_bytes, drain_s=0.3, step_s=5e-5,
    )  # fmt: skip


def look(run: Run) -> float:
    """Bytes overrun from the stop on."""
    overrun = run.sender("overrun")
    return overrun[-1] - overrun[run.index(SETTLED_S)]


def first_without(overruns: dict[float, float]) -> float:
    """The least X from which on nothing overruns."""
    clean = math.inf
    for x in sorted(overruns, reverse=True):
        if overruns[x] > 0:
            break
        clean = x
    return clean


def e4(plan: Plan) -> Report:
    """To pass: the first X without overrun lies in 0.9 ... 1.2."""
    seen: dict[str, Figures] = {}
    delay_s = target_delay_s(plan)
    buffers = {x: buffer_for_margin(x, FULL, RTT_S, delay_s) for x in MARGINS}
    for law in plan.laws:
        by_margin = {
            x: plan.runs(scenario(size, delay_s), plan.law(law), look, f"E4, X = {x:g}, {law}" if x == 1.2 else "") for x, size in buffers.items()
        }
        firsts = tuple(first_without({x: overruns[seed] for x, overruns in by_margin.items()}) for seed in range(plan.seeds))
        seen[law] = {"first_x_without_overrun": firsts, **{f"x{x:g}_overrun_bytes": tuple(overruns) for x, overruns in by_margin.items()}}
    return report_of(plan, "E4", seen, {"first_x_without_overrun": (0.9, 1.2, True)}, [f"X = {x:g} is B = {size / 1e6:.2f} MB" for x, size in buffers.items()])
