"""The figures of a run, as the experiments define them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.lab.engine import Run

__all__ = (
    "drained_index",
    "jain",
    "mean_rate",
    "overrun_share",
    "quantile",
    "reach_s",
    "slowest",
    "utilisation",
)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a ``share`` (0..1) of the values lies; NaN for no values."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else math.nan


def drained_index(run: Run, image: int) -> int:
    """The index of the sample in which an image's queue is empty after the application's end.

    Capacity after that sample is not part of the utilisation.
    """
    consumed = run.image("consumed", image)
    at = run.index(run.scenario.senders[run.scenario.images[image].sender].ends_s)
    while at < len(consumed) - 1 and consumed[at] < consumed[-1]:
        at += 1
    return at


def utilisation(run: Run, image: int) -> float:
    """Bytes delivered, divided by the integral of the capacity over the same time.

    The queue is empty at both ends of that time, so the value is at most 1.
    """
    at = drained_index(run, image)
    capacity = run.image("capacity", image)[at]
    return run.image("consumed", image)[at] / capacity if capacity > 0 else math.nan


def slowest(run: Run) -> int:
    """The traced image with the least total capacity, among those alive at the end."""
    living = [
        i
        for i in range(min(run.scenario.traced, len(run.scenario.images)))
        if not run.result(i)["is_gone"]
    ]
    return min(living, key=lambda i: run.image("capacity", i)[drained_index(run, i)])


def overrun_share(run: Run) -> float:
    """The share of bytes that met a full buffer, among the bytes that arrived at all buffers."""
    arrived = run.sender("sent")[-1] * len(run.scenario.images)
    return sum(run.results("overrun")) / arrived if arrived > 0 else 0.0


def mean_rate(run: Run, column: str, from_s: float, to_s: float, sender: int = 0) -> float:
    """Mean growth per second of a column that counts."""
    values, first, last = run.sender(column, sender), run.index(from_s), run.index(to_s)
    return (values[last] - values[first]) / (run.times[last] - run.times[first])


def reach_s(
    run: Run,
    since_s: float,
    target: float,
    share: float = 0.1,
    hold_s: float = 0.2,
    bin_s: float = 0.01,
) -> float:
    """Seconds from ``since_s`` until the sending rate is within ``share`` of ``target``.

    It must be so in one bin of ``bin_s``, and in the mean over ``hold_s`` from the same sample on.
    ``inf``: never.
    """
    sent, width, hold = (
        run.sender("sent"),
        round(bin_s / run.scenario.sample_s),
        round(hold_s / run.scenario.sample_s),
    )

    def is_near(first: int, count: int) -> bool:
        rate = (sent[first + count] - sent[first]) / (run.times[first + count] - run.times[first])
        return abs(rate - target) <= share * target

    for first in range(run.index(since_s), len(sent) - hold - 1):
        if is_near(first, width) and is_near(first, hold):
            return run.times[first] - since_s
    return math.inf


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all values are equal, 1/n when one has everything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else 0.0
