"""What a run of flows on a link gave: figures of each draw, by the question of its family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.measure import quantile
from rstream.lab.traffic import PATH, Trace, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rstream.lab.links import LinkDraw

__all__ = ("measure", "shares")

#: A queue of less than this many times rate x RTT is shallow: more may be dropped.
SHALLOW: Final = 0.375
#: Below this rate the queueing delay may be longer.
SLOW: Final = 20e6 / 8
STARTED: Final = 0.5  # of the rate


def measure(drawn: LinkDraw, kind: int) -> dict[str, float]:
    """Run the draw with flows of this kind instead of the judged ones.

    Returns:
        Figures by name; shares, and ratios to what is allowed.
    """
    trace = run(drawn.under(kind), drawn.seed)
    judged = [number for number, flow in enumerate(drawn.flows) if flow.kind == PATH]
    got = shares(trace, drawn.from_s, drawn.seconds)
    sent = sum(trace.between("sent", n, drawn.from_s, drawn.seconds) for n in judged)
    dropped = sum(trace.between("dropped", n, drawn.from_s, drawn.seconds) for n in judged)
    delay_s = quantile(_delays(trace, drawn), 0.95)
    figures = {
        "goodput": sum(got),
        "own share": sum(got[number] for number in judged),
        "drops": dropped / sent if sent else 0.0,
        "queue, ms": 1e3 * delay_s,
        "refused": sum(trace.flow("refused", n)[-1] for n in judged),
    }
    if len(judged) > 1:
        squares = sum(got[n] ** 2 for n in judged)
        figures["jain"] = sum(got[n] for n in judged) ** 2 / len(judged) / squares if squares else 0
        figures["least / fair"] = min(got[n] for n in judged) * len(judged)
    return {**figures, **_special(drawn, trace, got, figures)}


def shares(trace: Trace, from_s: float, to_s: float) -> list[float]:
    """What each flow delivered, as a share of what the link could carry."""
    first, last = trace.index(from_s), trace.index(to_s)
    carried = sum(trace.rate[first:last]) * trace.world.sample_s
    return [
        trace.between("delivered", number, from_s, to_s) / carried
        for number in range(len(trace.world.flows))
    ]


def _delays(trace: Trace, drawn: LinkDraw) -> list[float]:
    first, last = trace.index(drawn.from_s), trace.index(drawn.seconds)
    pairs = zip(trace.queue[first:last], trace.rate[first:last], strict=True)
    return [queue / rate for queue, rate in pairs]


def _special(
    drawn: LinkDraw, trace: Trace, got: Sequence[float], figures: Mapping[str, float]
) -> dict[str, float]:
    """The figures of one family alone."""
    link, rtt_s = drawn.link, drawn.rtt_s
    is_shallow = link.queue_bytes < SHALLOW * link.rate * rtt_s
    if drawn.family in ("alone", "fast"):
        allowed_s = max(12e-3 if link.rate < SLOW else 8e-3, rtt_s / 2)
        return {
            "queue / allowed": figures["queue, ms"] / 1e3 / allowed_s,
            "drops / allowed": figures["drops"] / (0.02 if is_shallow else 0.01),
        }
    if drawn.family.startswith("beside"):
        return {
            "both in 0.25 to 0.75": float(all(0.25 <= share <= 0.75 for share in got)),
            "other": got[1],
        }
    if drawn.family == "latecomer":
        fair = 1 / len(got)
        return {"half of fair": float(got[-1] >= fair / 2), "late / fair": got[-1] / fair}
    if drawn.family == "incast":
        return (
            {"shallow drops": figures["drops"]} if link.queue_bytes < link.rate * rtt_s / 2 else {}
        )
    if drawn.family == "start":
        return {"started, RTT": _started(trace, drawn) / rtt_s}
    if drawn.family == "rate-change":
        return _stepped(trace, drawn)
    return {}


def _started(trace: Trace, drawn: LinkDraw) -> float:
    """When half of the link was filled for two round trips; infinite: not in the run."""
    delivered = trace.flow("delivered", 0)
    steps = max(1, round(2 * drawn.rtt_s / trace.world.sample_s))
    least = STARTED * drawn.link.rate * steps * trace.world.sample_s
    for at in range(steps, len(delivered)):
        if delivered[at] - delivered[at - steps] >= least:
            return trace.times[at]
    return drawn.seconds * 2


def _stepped(trace: Trace, drawn: LinkDraw) -> dict[str, float]:
    falls_s = drawn.event_s
    rises_s = drawn.link.changes[1][0]
    sent = trace.between("sent", 0, falls_s + 1, falls_s + 2)
    dropped = trace.between("dropped", 0, falls_s + 1, falls_s + 2)
    return {
        "drops, second second": dropped / sent if sent else 1.0,
        "after the fall": shares(trace, falls_s + 1, falls_s + 5)[0],
        "back": shares(trace, rises_s + 2, rises_s + 3)[0],
    }
