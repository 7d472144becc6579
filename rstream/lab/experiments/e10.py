"""E10: a chain of five hops, where each consumer publishes on the next; the last one slows down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_most, columns, report_of
from rstream.lab.measure import mean_rate, quantile
from rstream.lab.reaction import reaction_s
from rstream.lab.scenario import BUFFER, MB, Consumer, LabImage, Scenario, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.report import LabReport

HOPS: Final = 5
FULL: Final = 100 * MB
LOW: Final = 40 * MB
RTT_S: Final = 1e-3
AT_S: Final = 4.0
SECONDS: Final = 9.0
#: Bytes that a hop holds between its consumer and its sender: the window of a publication with
#: terms of 1 MiB, the default of named streams.
BACKLOG: Final = 512 << 10
REACTIONS: Final = 5.0
HOLD_S: Final = 0.5


def scenario(seconds: float = SECONDS) -> Scenario:
    last = Consumer(levels=((0.0, FULL), (AT_S, LOW)), noise=0.15)
    between = tuple(
        Consumer(levels=((0.0, FULL),), noise=0.15, forward_to=hop + 1) for hop in range(HOPS - 1)
    )
    return Scenario(
        name="E10",
        seconds=seconds,
        senders=tuple(Sender(backlog_bytes=BACKLOG, rtt_s=RTT_S) for _ in range(HOPS)),
        consumers=(*between, last),
        images=tuple(LabImage(hop, hop) for hop in range(HOPS)),
    )


def looker(seconds: float) -> Callable[[Run], dict[str, float]]:
    within_s = REACTIONS * HOPS * reaction_s(RTT_S)

    def ratio(run: Run, from_s: float, to_s: float) -> float:
        return mean_rate(run, "sent", from_s, to_s, 0) / mean_rate(
            run, "delivered_sum", from_s, to_s, HOPS - 1
        )

    def look(run: Run) -> dict[str, float]:
        held = [
            a + b
            for hop in range(HOPS)
            for a, b in zip(run.sender("queue_most", hop), run.sender("backlog", hop), strict=True)
        ]
        return {
            "first_to_last_distance": abs(
                ratio(run, AT_S + within_s, AT_S + within_s + HOLD_S) - 1
            ),
            "first_to_last_later_distance": abs(
                ratio(run, AT_S + 2 * within_s, seconds - 0.01) - 1
            ),
            "last_utilisation": mean_rate(run, "delivered_sum", 1.0, AT_S, HOPS - 1) / FULL,
            "hop_memory_most_bytes": max(held),
            "hop_memory_p50_bytes": quantile(held, 0.5),
            "overrun_bytes": sum(run.results("overrun")),
        }

    return look


def e10(plan: Plan) -> LabReport:
    """Run E10.

    To pass: 5 x the sum of the hops' T after the fall, the first rate is within 20 % of the last
    one; each hop's memory <= buffer + backlog.
    """
    world = scenario()
    seen = {
        law: columns(plan.runs(world, plan.law(law), looker(SECONDS), f"E10, {law}"))
        for law in plan.laws
    }
    bound = float(BUFFER + BACKLOG)
    limits = {
        "first_to_last_distance": at_most(0.2),
        "first_to_last_later_distance": at_most(0.2),
        "hop_memory_most_bytes": at_most(bound, in_every_run=True),
    }
    total_s = HOPS * reaction_s(RTT_S)
    notes = [
        f"sum of the hops' T before the fall: {total_s * 1e3:.0f} ms, "
        f"measured from {REACTIONS * total_s * 1e3:.0f} ms on for {HOLD_S * 1e3:.0f} ms",
        f"bound of a hop's memory: buffer {BUFFER} + backlog {BACKLOG} bytes",
    ]
    return report_of(plan, "E10", seen, limits, notes)
