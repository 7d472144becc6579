"""E1: one of four receivers goes from 100 to 40 and back to 100 % of its capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, columns
from rstream.lab.measure import overrun_share, quantile, reach_s, reaction_s, utilisation
from rstream.lab.report import Figure, Report
from rstream.lab.scenario import BUFFER, MB, Consumer, Scenario, group

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run

FULL: Final = 100 * MB
LOW: Final = 40 * MB
RTT_S: Final = 1e-3
PHASE_S: Final = 10.0
REACTIONS: Final = 20.0


def scenario(phase_s: float = PHASE_S) -> Scenario:
    """The changing one is image 0, and the slowest one by construction."""
    changing = Consumer(levels=((0.0, FULL), (phase_s, LOW), (2 * phase_s, FULL)), noise=0.15)
    return group("E1", 3 * phase_s, (changing, *(Consumer(levels=((0.0, FULL),), noise=0.15) for _ in range(3))))


def looker(phase_s: float) -> Callable[[Run], dict[str, float]]:
    def look(run: Run) -> dict[str, float]:
        end = run.index(3 * phase_s)
        queues = run.sender("queue_most")[:end]
        return {
            "utilisation": utilisation(run, 0),
            "queue_p50_ms": quantile(queues, 0.5) / FULL * 1e3,
            "queue_p99_ms": quantile(queues, 0.99) / FULL * 1e3,
            "fall_reactions": reach_s(run, phase_s, LOW) / reaction_s(BUFFER, FULL, RTT_S),
            "rise_reactions": reach_s(run, 2 * phase_s, FULL) / reaction_s(BUFFER, LOW, RTT_S),
            "overrun_share": overrun_share(run),
            "control_bytes_per_mb": run.sender("control_bytes")[end] / (run.sender("sent")[end] / MB),
        }

    return look


UNITS: Final = {"queue_p50_ms": "ms", "queue_p99_ms": "ms", "fall_reactions": "T", "rise_reactions": "T"}


def e1(plan: Plan) -> Report:
    """To pass: utilisation >= 0.97; p99 queue at most half of credit's; within 10 % of the new capacity in <= 20 T, both ways."""
    phase_s = PHASE_S * plan.time_scale
    seen = {
        name: columns(plan.runs(scenario(phase_s), plan.law(name), looker(phase_s), title=f"E1, {name}"))
        for name in dict.fromkeys(("adaptive", "credit", *plan.baselines))
    }
    credit = sum(seen["credit"]["queue_p99_ms"]) / plan.seeds
    limits: dict[str, tuple[float | None, float | None]] = {
        "utilisation": (0.97, None),
        "queue_p99_ms": (None, credit / 2),
        "fall_reactions": (None, REACTIONS),
        "rise_reactions": (None, REACTIONS),
    }
    return Report(
        "E1",
        [Figure(name, values, UNITS.get(name, ""), *limits.get(name, (None, None))) for name, values in seen["adaptive"].items()],
        plan.law("adaptive").parameters,
        {law: [Figure(name, values, UNITS.get(name, "")) for name, values in seen[law].items()] for law in seen if law != "adaptive"},
        {law: plan.law(law).parameters for law in seen if law != "adaptive"},
        [f"T = {reaction_s(BUFFER, FULL, RTT_S) * 1e3:.1f} ms before the fall, {reaction_s(BUFFER, LOW, RTT_S) * 1e3:.1f} ms before the rise"],
    )
