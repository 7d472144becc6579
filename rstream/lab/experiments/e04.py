"""E4: one receiver of four stops for ten reaction times, with small and with large buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, Steady, at_most, report_of, target_delay_s
from rstream.lab.reaction import DETECT_S, buffer_for_margin, reaction_s
from rstream.lab.scenario import Consumer, Scenario, Sender, group
from rstream.lab.world import STEP_S, VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import LabReport

SETTLED_S: Final = 3.0
STOP_REACTIONS: Final = 10.0
MARGINS: Final = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 4.0, 6.0)
#: Fewer, because in real time each run takes its full length.
REAL_MARGINS: Final = (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5)
#: Values of X that a verdict needs: without them it would judge the gap.
NEEDED: Final = (0.8, 1.2)
#: From this X on no stop may overrun.
SAFE: Final = 1.2
#: In real time: reaction times after the beginning of a stop. A late step of the thread in that
#: time has the effect of a smaller buffer, until the sender keeps to the window
#: (transport_ext/flow/standstill.h).
ABOUT_REACTIONS: Final = 3.0


def stop_s(world: World) -> float:
    return STOP_REACTIONS * reaction_s(world.found_rtt_s)


def scenario(buffer_bytes: float, settled_s: float = SETTLED_S, world: World = VIRTUAL) -> Scenario:
    stopped_s = stop_s(world)
    stopping = Consumer(levels=((0.0, world.full),), noise=0.15, pauses=((settled_s, stopped_s),))
    return group(
        "E4",
        settled_s + stopped_s + 0.2,
        (stopping, *(Consumer(levels=((0.0, world.full),), noise=0.15) for _ in range(3))),
        buffer_bytes=buffer_bytes,
        drain_s=0.3,
        step_s=5e-5,
        sender=Sender(rtt_s=world.rtt_s),
    )


def looker(settled_s: float) -> Callable[[Run], float]:
    def look(run: Run) -> float:
        """Bytes overrun from the stop on."""
        overrun = run.sender("overrun")
        return overrun[-1] - overrun[run.index(settled_s)]

    return look


def e4(plan: Plan) -> LabReport:
    """Run E4.

    To pass: nothing overruns where X >= 1.2. The rows below that show where overruns begin.
    """
    seen: dict[str, Figures] = {}
    delay_s, settled_s, world = target_delay_s(plan), SETTLED_S * plan.time_scale, plan.world
    margins = REAL_MARGINS if world.is_real else MARGINS
    sizes = {x: buffer_for_margin(x, world.full, world.found_rtt_s, delay_s) for x in margins}
    least, most = NEEDED
    world.must_hold({f"X = {x:g}": size for x, size in sizes.items() if least <= x <= most})
    buffers = {x: size for x, size in sizes.items() if world.holds(size)}
    for law in plan.laws:
        by_margin: dict[float, Sequence[float]] = {}
        for x, size in buffers.items():
            where, exact = world.exact(size)
            about_s = ABOUT_REACTIONS / STOP_REACTIONS * stop_s(where)
            by_margin[x] = plan.runs(
                scenario(exact, settled_s, where),
                plan.law(law, where),
                looker(settled_s),
                f"E4, X = {x:g}, {law}" if x == 1.2 else "",
                Steady(STEP_S, ((settled_s - where.rtt_s, settled_s + about_s),)),
            )
        seen[law] = {
            **{f"x{x:g}_overrun_bytes": tuple(overruns) for x, overruns in by_margin.items()},
            **{
                f"x{x:g}_overrun_stops_share": tuple(float(overrun > 0) for overrun in overruns)
                for x, overruns in by_margin.items()
            },
        }
    limits: Limits = {
        f"x{x:g}_overrun_bytes": at_most(0.0, in_every_run=True) for x in buffers if x >= SAFE
    }
    notes = [
        f"X = {x:g} is B = {size / 1e6:.3g} MB; D = {DETECT_S * 1e3:.1f} ms, "
        f"round trip {world.found_rtt_s * 1e3:.3g} ms"
        for x, size in buffers.items()
    ]
    notes += [
        f"X = {x:g} left out: its buffer has {size / 1e3:.0f} kB, and a driver takes more"
        for x, size in sizes.items()
        if x not in buffers
    ]
    return report_of(plan, "E4", seen, limits, notes)
