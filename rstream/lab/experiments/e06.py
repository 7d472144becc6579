"""E6: one receiver behind a lossy path, near and far, with terms of 64 MiB.

Real agents run it, with a receiver window that adapts (``cc=auto``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, at_least, columns, report_of
from rstream.lab.scenario import MB, Consumer, Law, Scenario, Sender, group

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.lab.engine import Run
    from rstream.lab.experiments._plan import Figures
    from rstream.lab.report import LabReport

LOSSES: Final = (0.001, 0.01, 0.05)
ROUND_TRIPS_S: Final = (50e-6, 1e-3, 10e-3, 100e-3)
#: Half of a term of 64 MiB: the largest window of a receiver, in bytes.
BUFFER: Final = 32 << 20
#: The bottleneck: (link, receiver) in bytes per second, and the receiver's noise.
CASES: Final = {"link": (100 * MB, 200 * MB, 0.0), "receiver": (200 * MB, 100 * MB, 0.15)}
#: Seconds until the window, which starts at 128 KiB, and the rate have settled; then the seconds
#: measured. ROUND_TRIPS round trips are added to each.
SETTLE_S: Final = 2.0
MEASURE_S: Final = 1.0
ROUND_TRIPS: Final = 12
LEAST: Final = 0.90


def scenario(case: str, loss: float, rtt_s: float, time_scale: float = 1.0) -> Scenario:
    """One sender and one receiver; the step is a twentieth of the round trip, 5 to 50 µs."""
    link, capacity, noise = CASES[case]
    seconds = (SETTLE_S + MEASURE_S + 2 * ROUND_TRIPS * rtt_s) * time_scale
    sender = Sender(rtt_s=rtt_s, loss=loss, link_rate=link)
    consumer = Consumer(levels=((0.0, capacity),), noise=noise)
    world = group(
        "E6",
        seconds,
        (consumer,),
        buffer_bytes=BUFFER,
        drain_s=0.0,
        step_s=min(5e-5, max(5e-6, rtt_s / 20)),
        sender=sender,
    )
    return replace(world, agents=True)


def looker(case: str, loss: float, rtt_s: float, time_scale: float) -> Callable[[Run], float]:
    link = CASES[case][0] * (1 - loss)

    def look(run: Run) -> float:
        """Goodput after it has settled, as a share of the possible goodput.

        That is the lesser of the receiver's capacity and what the link can carry.
        """
        first, last = run.index((SETTLE_S + ROUND_TRIPS * rtt_s) * time_scale), len(run.times) - 1
        consumed, capacity = run.image("consumed", 0), run.image("capacity", 0)
        best = min(capacity[last] - capacity[first], link * (run.times[last] - run.times[first]))
        return (consumed[last] - consumed[first]) / best

    return look


def _ours(law: Law) -> Law:
    """Our rate law over a window that adapts; other laws unchanged."""
    return Law("adaptive-auto", law.parameters) if law.name == "adaptive" else law


def e6(plan: Plan) -> LabReport:
    """Run E6. To pass: goodput >= 90 % of min(receiver, link x (1 - loss))."""
    seen: dict[str, Figures] = {}
    for law in plan.laws:
        figures: Figures = {}
        for case in CASES:
            for rtt_s in ROUND_TRIPS_S:
                for loss in LOSSES:
                    title = (
                        f"E6, {case} bound, {rtt_s * 1e3:g} ms, {loss:.1%}, {law}"
                        if rtt_s == 10e-3 and loss == 0.01
                        else ""
                    )
                    look = looker(case, loss, rtt_s, plan.time_scale)
                    rows = plan.runs(
                        scenario(case, loss, rtt_s, plan.time_scale),
                        _ours(plan.law(law)),
                        lambda run, look=look: {"x": look(run)},
                        title,
                    )
                    figures[f"{case}_rtt{rtt_s * 1e3:g}_loss{loss * 100:g}_goodput"] = columns(
                        rows
                    )["x"]
        seen[law] = figures
    notes = [
        "real agents on a network in memory; terms of 64 MiB; "
        "ours: the adaptive rate over cc=auto, rcv-wnd=32m",
        "link: 100 MB/s, and the receiver can take 200; receiver: 100 MB/s with 15 % of noise, "
        "and the link can carry 200; the link is the sender's own interface",
        f"rtt in ms, loss in percent; goodput in {MEASURE_S:g} s + {ROUND_TRIPS} round trips, "
        f"after {SETTLE_S:g} s + {ROUND_TRIPS} round trips, "
        "as a share of min(receiver, link x (1 - loss))",
    ]
    return report_of(plan, "E6", seen, dict.fromkeys(seen["adaptive"], at_least(LEAST)), notes)
