"""E3: a receiver of four stands still for 200 ms again and again, as a garbage collection makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_most, columns, report_of, target_delay_s
from rstream.lab.measure import DETECT_S, buffer_for_margin, margin, utilisation
from rstream.lab.scenario import Consumer, Scenario, Sender, group
from rstream.lab.world import STEP_S, VIRTUAL, World

if TYPE_CHECKING:
    from rstream.lab.engine import Run
    from rstream.lab.report import Report

PAUSE_S: Final = 0.2
EVERY_S: Final = 1.5
SETTLED_S: Final = 1.0
#: The limit itself, and the buffers that people use.
BUFFERS: Final = (2 << 20, 4 << 20, 8 << 20, 16 << 20)
REAL_BUFFERS: Final = (8 << 20,)  # in real time each run takes as long as it takes, and the limit lies near 4 MiB
LEAST_MARGIN: Final = 1.2


def scenario(seconds: float, buffer_bytes: float, world: World = VIRTUAL) -> Scenario:
    times = [SETTLED_S + EVERY_S * i for i in range(int((seconds - SETTLED_S) / EVERY_S))]
    pausing = Consumer(levels=((0.0, world.full),), noise=0.15, pauses=tuple((at_s, PAUSE_S) for at_s in times))
    others = tuple(Consumer(levels=((0.0, world.full),), noise=0.15) for _ in range(3))
    return group("E3", seconds, (pausing, *others), buffer_bytes=buffer_bytes, sender=Sender(rtt_s=world.rtt_s))


def look(run: Run) -> dict[str, float]:
    return {"overrun_bytes": sum(run.results("overrun")), "utilisation": utilisation(run, 0)}


def e3(plan: Plan) -> Report:
    """To pass: no overrun where X >= 1.2."""
    seconds, world = 20 * plan.time_scale, plan.world.for_stops()
    delay_s, detect_s = target_delay_s(plan), DETECT_S + (STEP_S if world.is_real else 0)
    at_limit = buffer_for_margin(LEAST_MARGIN, world.full, world.rtt_s, delay_s, detect_s)
    usual = [world.buffer(size) for size in (REAL_BUFFERS if world.is_real else BUFFERS)]
    drawn = at_limit if world.is_real else world.buffer()
    buffers = {f"b{size / (1 << 20):.3g}mib_": size for size in (at_limit, *usual)}
    seen = {
        law: {
            name: values
            for prefix, size in buffers.items()
            for where, exact in (world.exact(size),)
            for name, values in columns(
                plan.runs(scenario(seconds, exact, where), plan.law(law, where), look, f"E3, {law}" if size == drawn else ""), prefix
            ).items()
        }
        for law in plan.laws
    }
    limits = {prefix + "overrun_bytes": at_most(0.0, in_every_run=True) for prefix in buffers}
    notes = [f"X = {margin(size, world.full, world.rtt_s, delay_s, detect_s):.2f} at {size / (1 << 20):.3g} MiB, D = {detect_s * 1e3:.1f} ms" for size in buffers.values()]
    return report_of(plan, "E3", seen, limits, notes)
