"""E9: forged and replayed fill NAKs, and a receiver that lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, at_most, columns, report_of
from rstream.lab.measure import mean_rate
from rstream.lab.scenario import FORGERIES, MB, Consumer, Forger, Liar, Scenario, group

if TYPE_CHECKING:
    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import LabReport

FULL: Final = 100 * MB
FROM_S: Final = 3.0
TO_S: Final = 6.0
SECONDS: Final = 8.0
PERIOD_S: Final = 0.001  # a thousand per second
FLOOR_SHARE: Final = 0.05
VICTIM: Final = 0


def _consumers() -> tuple[Consumer, ...]:
    return tuple(Consumer(levels=((0.0, FULL),), noise=0.15) for _ in range(4))


def attacks() -> dict[str, Scenario]:
    """Scenarios by name: each kind of forgery at full strength, and a lying receiver.

    The liar reports a full buffer while its status messages are true.
    """
    found = {
        f"forged_{kind}": group(
            "E9",
            SECONDS,
            _consumers(),
            forgers=(
                Forger(
                    sender=0, kind=kind, from_s=FROM_S, to_s=TO_S, period_s=PERIOD_S, image=VICTIM
                ),
            ),
        )
        for kind in FORGERIES
    }
    found["liar"] = group(
        "E9",
        SECONDS,
        _consumers(),
        liars=(Liar(image=VICTIM, from_s=FROM_S, to_s=TO_S, period_s=0.01),),
    )
    return found


def look(run: Run) -> dict[str, float]:
    limits, first, last = run.sender("limit"), run.index(FROM_S), run.index(TO_S)
    before = mean_rate(run, "sent", FROM_S - 1.5, FROM_S)
    ignored = run.sender("ignored")
    since = next((i for i in range(first, last) if ignored[i] > ignored[first]), None)
    return {
        "least_limit_share": min(limits[first:last]) / before,
        "goodput_share": mean_rate(run, "delivered_least", FROM_S, TO_S) / before,
        "recognised_after_s": float("inf") if since is None else run.times[since] - FROM_S,
        "goodput_after_recognition_share": mean_rate(run, "delivered_least", FROM_S + 2.0, TO_S)
        / before,
        "goodput_after_attack_share": mean_rate(run, "delivered_least", TO_S + 0.5, SECONDS - 0.1)
        / before,
    }


def e9(plan: Plan) -> LabReport:
    """Run E9.

    To pass: under every attack the group keeps its floor; the liar is recognised within a second,
    reported by its receiver id, and ignored.
    """
    seen: dict[str, Figures] = {}
    limits: Limits = {}
    laws = [law for law in plan.laws if law in ("adaptive", "nak", "aimd")]
    for law in laws:
        seen[law] = {}
        for name, world in attacks().items():
            seen[law] |= columns(
                plan.runs(world, plan.law(law), look, f"E9, {name}, {law}"), f"{name}_"
            )
            limits[f"{name}_least_limit_share"] = at_least(FLOOR_SHARE, in_every_run=True)
    limits["liar_recognised_after_s"] = at_most(1.0, in_every_run=True)
    limits["liar_goodput_after_recognition_share"] = at_least(0.9)
    return report_of(
        plan,
        "E9",
        seen,
        limits,
        ["credit, static and cubic send and read no fill NAKs: nothing to forge"],
    )
