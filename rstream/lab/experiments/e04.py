"""E4: a receiver of four stops for ten reaction times, with buffers from far too small to plenty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, report_of, target_delay_s
from rstream.lab.measure import buffer_for_margin, reaction_s
from rstream.lab.scenario import Consumer, Scenario, Sender, group
from rstream.lab.world import VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import Report

SETTLED_S: Final = 3.0
STOP_REACTIONS: Final = 10.0
MARGINS: Final = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 4.0, 6.0)
REAL_MARGINS: Final = (0.4, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5)  # in real time each run takes as long as it takes
#: Of what comes after a stop: a run in real time that stood still for longer is carried out again.
GAP_SHARE: Final = 1 / 3


def scenario(buffer_bytes: float, delay_s: float, settled_s: float = SETTLED_S, world: World = VIRTUAL) -> Scenario:
    stop_s = STOP_REACTIONS * reaction_s(buffer_bytes, world.full, world.rtt_s, delay_s)
    stopping = Consumer(levels=((0.0, world.full),), noise=0.15, pauses=((settled_s, stop_s),))
    return group(
        "E4", settled_s + stop_s + 0.2, (stopping, *(Consumer(levels=((0.0, world.full),), noise=0.15) for _ in range(3))),
        buffer_bytes=buffer_bytes, drain_s=0.3, step_s=5e-5, sender=Sender(rtt_s=world.rtt_s),
    )  # fmt: skip


def looker(settled_s: float) -> Callable[[Run], float]:
    def look(run: Run) -> float:
        """Bytes overrun from the stop on."""
        overrun = run.sender("overrun")
        return overrun[-1] - overrun[run.index(settled_s)]

    return look


def first_without(overruns: dict[float, float]) -> float:
    """The least X from which on nothing overruns."""
    clean = math.inf
    for x in sorted(overruns, reverse=True):
        if overruns[x] > 0:
            break
        clean = x
    return clean


def e4(plan: Plan) -> Report:
    """To pass: the first X without overrun lies in 0.9 ... 1.2: in the mean of the runs, where a stop may be lucky, and of all of them together."""
    seen: dict[str, Figures] = {}
    delay_s, settled_s = target_delay_s(plan), SETTLED_S * plan.time_scale
    world = plan.world.for_stops()
    margins = REAL_MARGINS if world.is_real else MARGINS
    gap_most_s = GAP_SHARE * 1.5 * world.rtt_s  # V where W is a round trip
    buffers = {x: buffer_for_margin(x, world.full, world.rtt_s, delay_s) for x in margins}
    for law in plan.laws:
        by_margin = {
            x: plan.runs(scenario(exact, delay_s, settled_s, where), plan.law(law, where), looker(settled_s), f"E4, X = {x:g}, {law}" if x == 1.2 else "", gap_most_s)
            for x, size in buffers.items()
            for where, exact in (world.exact(size),)
        }
        firsts = tuple(first_without({x: overruns[seed] for x, overruns in by_margin.items()}) for seed in range(plan.seeds))
        seen[law] = {"first_x_without_overrun": firsts, "first_x_of_all_runs": (max(firsts),), **{f"x{x:g}_overrun_bytes": tuple(overruns) for x, overruns in by_margin.items()}}
    limits: Limits = {"first_x_without_overrun": (0.9, 1.2, False), "first_x_of_all_runs": (0.9, 1.2, True)}
    notes = [f"X = {x:g} is B = {size / 1e6:.2f} MB, round trip {world.rtt_s * 1e3:g} ms" for x, size in buffers.items()]
    return report_of(plan, "E4", seen, limits, notes)
