"""E1: one of four receivers goes from 100 to 40 and back to 100 % of its capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, at_most, columns, report_of
from rstream.lab.measure import overrun_share, quantile, reach_s, utilisation
from rstream.lab.reaction import reaction_s
from rstream.lab.scenario import MB, Consumer, Scenario, group
from rstream.lab.world import VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.report import LabReport

LOW_SHARE: Final = 0.4
PHASE_S: Final = 10.0
REACTIONS: Final = 20.0


def scenario(phase_s: float = PHASE_S, world: World = VIRTUAL) -> Scenario:
    """One receiver of four changes its capacity. It is image 0, and the slowest one."""
    full = world.full
    changing = Consumer(
        levels=((0.0, full), (phase_s, LOW_SHARE * full), (2 * phase_s, full)), noise=0.15
    )
    others = tuple(Consumer(levels=((0.0, full),), noise=0.15) for _ in range(3))
    return group("E1", 3 * phase_s, (changing, *others), buffer_bytes=world.buffer())


def looker(phase_s: float, world: World = VIRTUAL) -> Callable[[Run], dict[str, float]]:
    full = world.full
    reaction = reaction_s(world.rtt_s)

    def look(run: Run) -> dict[str, float]:
        end = run.index(3 * phase_s)
        queues = run.sender("queue_most")[:end]
        return {
            "utilisation": utilisation(run, 0),
            "queue_p50_ms": quantile(queues, 0.5) / full * 1e3,
            "queue_p99_ms": quantile(queues, 0.99) / full * 1e3,
            "fall_reactions": reach_s(run, phase_s, LOW_SHARE * full) / reaction,
            "rise_reactions": reach_s(run, 2 * phase_s, full) / reaction,
            "overrun_share": overrun_share(run),
            "control_bytes_per_mb": run.sender("control_bytes")[end]
            / (run.sender("sent")[end] / MB),
        }

    return look


def e1(plan: Plan) -> LabReport:
    """Run E1.

    To pass: utilisation >= 0.97; p99 queue at most half of credit's; sending rate within 10 % of
    the new capacity in <= 20 T, both ways.
    """
    phase_s = PHASE_S * plan.time_scale
    world, look = scenario(phase_s, plan.world), looker(phase_s, plan.world)
    seen = {
        law: columns(plan.runs(world, plan.law(law), look, title=f"E1, {law}")) for law in plan.laws
    }
    credit = sum(seen["credit"]["queue_p99_ms"]) / plan.seeds
    limits = {
        "utilisation": at_least(0.97),
        "queue_p99_ms": at_most(credit / 2),
        "fall_reactions": at_most(REACTIONS),
        "rise_reactions": at_most(REACTIONS),
    }
    note = f"T = {reaction_s(plan.world.rtt_s) * 1e3:.1f} ms"
    return report_of(plan, "E1", seen, limits, [note])
