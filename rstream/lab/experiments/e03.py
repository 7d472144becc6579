"""E3: one receiver of four pauses for 200 ms now and then, as in a garbage collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import (
    Plan,
    at_least,
    at_most,
    columns,
    report_of,
    target_delay_s,
)
from rstream.lab.measure import utilisation
from rstream.lab.reaction import DETECT_S, buffer_for_margin, margin, reaction_s
from rstream.lab.scenario import Consumer, Scenario, Sender, group
from rstream.lab.world import STEP_S, VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.lab.engine import Run
    from rstream.lab.report import LabReport

PAUSE_S: Final = 0.2
EVERY_S: Final = 1.5
SETTLED_S: Final = 1.0
#: Buffers that users choose; the smallest one with enough headroom is added.
BUFFERS: Final = (2 << 20, 4 << 20, 8 << 20, 16 << 20)
REAL_BUFFERS: Final = (2 << 20, 4 << 20)  # in real time each run takes its full length
LEAST_MARGIN: Final = 1.2
#: In real time: share of the stops that must count; with fewer, the figures describe the machine.
LEAST_COUNTED: Final = 0.5
#: Seconds before and after the beginning of a stop. A late step of the thread in that time has the
#: effect of a smaller buffer.
ABOUT_S: Final = (0.002, 0.02)


def stop_times(seconds: float) -> list[float]:
    return [SETTLED_S + EVERY_S * i for i in range(int((seconds - SETTLED_S) / EVERY_S))]


def scenario(seconds: float, buffer_bytes: float, world: World = VIRTUAL) -> Scenario:
    pausing = Consumer(
        levels=((0.0, world.full),),
        noise=0.15,
        pauses=tuple((at_s, PAUSE_S) for at_s in stop_times(seconds)),
    )
    others = tuple(Consumer(levels=((0.0, world.full),), noise=0.15) for _ in range(3))
    return group(
        "E3",
        seconds,
        (pausing, *others),
        buffer_bytes=buffer_bytes,
        sender=Sender(rtt_s=world.rtt_s),
    )


def late_stops(run: Run, stops: Sequence[float]) -> list[tuple[float, float]]:
    """In real time: the stops that do not count, as spans from each one to the next.

    About their beginning the thread that carries all drivers made a step longer than D allows.
    """
    before_s, after_s = ABOUT_S
    return [
        (at_s - before_s, at_s + EVERY_S - before_s)
        for at_s in stops
        if run.gap_within_s(at_s - before_s, at_s + after_s) > STEP_S
    ]


def standstills(run: Run, reach_s: float) -> list[tuple[float, float]]:
    """In real time: the spans in which that thread stood still for longer than T."""
    _, after_s = ABOUT_S
    return [
        (at_s - gap_s, at_s + after_s)
        for at_s, gap_s in zip(run.times, run.gaps_s, strict=True)
        if gap_s > reach_s
    ]


def looker(seconds: float, world: World, reach_s: float) -> Callable[[Run], dict[str, float]]:
    stops = stop_times(seconds)

    def look(run: Run) -> dict[str, float]:
        """The figures of a run; in real time, data overrun while the thread was late is apart."""
        overrun = run.sender("overrun")
        seen = {"overrun_bytes": overrun[-1], "utilisation": utilisation(run, 0)}
        if not world.is_real:
            return seen
        late_ones = late_stops(run, stops)
        spans = late_ones + standstills(run, reach_s)
        rises = [
            (at_s, after - before)
            for at_s, before, after in zip(run.times[1:], overrun, overrun[1:], strict=False)
            if after > before
        ]
        late = sum(
            rise for at_s, rise in rises if any(from_s <= at_s <= to_s for from_s, to_s in spans)
        )
        return {
            **seen,
            "overrun_bytes": overrun[-1] - late,
            "stops_counted": float(len(stops) - len(late_ones)),
            "late_overrun_bytes": late,
        }

    return look


def e3(plan: Plan) -> LabReport:
    """Run E3. To pass: no overrun where X >= 1.2; in real time at least half of the stops count."""
    seconds, world, delay_s = 20 * plan.time_scale, plan.world, target_delay_s(plan)
    at_limit = buffer_for_margin(LEAST_MARGIN, world.full, world.found_rtt_s, delay_s)
    world.must_hold({f"X = {LEAST_MARGIN:g}": at_limit})
    usual = [world.buffer(size) for size in (REAL_BUFFERS if world.is_real else BUFFERS)]
    drawn = world.buffer()
    buffers = {f"b{size / (1 << 20):.3g}mib_": size for size in (at_limit, *usual)}
    seen = {
        law: {
            name: values
            for prefix, size in buffers.items()
            for where, exact in (world.exact(size),)
            for name, values in columns(
                plan.runs(
                    scenario(seconds, exact, where),
                    plan.law(law, where),
                    looker(seconds, world, reaction_s(where.found_rtt_s)),
                    f"E3, {law}" if size == drawn else "",
                ),
                prefix,
            ).items()
        }
        for law in plan.laws
    }
    limits = {prefix + "overrun_bytes": at_most(0.0, in_every_run=True) for prefix in buffers}
    if world.is_real:
        limits |= {
            prefix + "stops_counted": at_least(LEAST_COUNTED * len(stop_times(seconds)))
            for prefix in buffers
        }
    notes = [
        f"X = {margin(size, world.full, world.found_rtt_s, delay_s):.2f} at "
        f"{size / (1 << 20):.3g} MiB, D = {DETECT_S * 1e3:.1f} ms, "
        f"round trip {world.found_rtt_s * 1e3:.3g} ms"
        for size in buffers.values()
    ]
    return report_of(plan, "E3", seen, limits, notes)
