"""E5: two to eight senders share one receiver.

The first one starts with 90 % of its capacity, the others share the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, columns, report_of
from rstream.lab.measure import jain
from rstream.lab.scenario import MB, Consumer, LabImage, Law, Scenario, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures, Limits
    from rstream.lab.report import LabReport

FULL: Final = 100 * MB
SECONDS: Final = 30.0
LAST_S: Final = 2.0
FIRST_SHARE: Final = 0.9
LATER_S: Final = 1.0  # when the others begin


def scenario(count: int, law: Law, in_turn: bool, seconds: float = SECONDS) -> Scenario:
    """The senders start with unequal shares.

    ``in_turn`` False: the receiver serves data in the order of arrival. Then a share once taken
    stays, which is the hard case.
    """

    def sender(number: int) -> Sender:
        share = FIRST_SHARE if number == 0 else (1 - FIRST_SHARE) / (count - 1)
        begins_s = 0.0 if number == 0 else LATER_S
        return Sender(
            law=replace(law, parameters={**law.parameters, "initial": share * FULL}),
            begins_s=begins_s,
        )

    return Scenario(
        name="E5",
        seconds=seconds,
        senders=tuple(sender(i) for i in range(count)),
        consumers=(Consumer(levels=((0.0, FULL),), noise=0.15, in_turn=in_turn),),
        images=tuple(LabImage(i, 0) for i in range(count)),
        step_s=2e-4,
        sample_s=1e-2,
    )


def looker(seconds: float) -> Callable[[Run], dict[str, float]]:
    def look(run: Run) -> dict[str, float]:
        delivered = [run.sender("delivered_sum", i) for i in range(len(run.scenario.senders))]

        def shares(from_s: float, to_s: float) -> list[float]:
            first, last = run.index(from_s), run.index(to_s)
            return [
                (values[last] - values[first]) / (run.times[last] - run.times[first])
                for values in delivered
            ]

        fair_from = float("inf")
        for second in range(int(seconds) - 1, 0, -1):
            if jain(shares(second, second + 1)) < 0.95:
                break
            fair_from = float(second)
        return {
            "jain": jain(shares(seconds - LAST_S, seconds - 0.01)),
            "fair_from_s": fair_from,
            "utilisation": sum(shares(LATER_S, seconds - 0.01)) / FULL,
            "overrun_share": sum(run.results("overrun")) / max(1.0, sum(run.results("consumed"))),
        }

    return look


def e5(plan: Plan) -> LabReport:
    """Run E5. To pass: Jain's index >= 0.95 over the last two of 30 seconds, in every run."""
    seconds = SECONDS * plan.time_scale
    seen: dict[str, Figures] = {}
    limits: Limits = {}
    for law in plan.laws:
        seen[law] = {}
        for count in (2, 5, 8):
            for in_turn in (False, True):
                prefix = f"{count}_{'in_turn' if in_turn else 'by_arrival'}_"
                world = scenario(count, plan.law(law), in_turn, seconds)
                title = f"E5, 5 senders, {law}" if count == 5 and not in_turn else ""
                seen[law] |= columns(plan.runs(world, None, looker(seconds), title), prefix)
                limits[prefix + "jain"] = at_least(0.95, in_every_run=True)
    return report_of(plan, "E5", seen, limits)
