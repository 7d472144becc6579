"""What is recorded of one actor's stream over time, and figures made of it."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Track:
    """Samples of one stream, oldest first; times in monotonic seconds."""

    medium: str = ""
    #: By the counters of the driver that sends.
    at_s: list[float] = field(default_factory=list)
    sent_bytes: list[int] = field(default_factory=list)
    rate_bytes_per_s: list[int | None] = field(default_factory=list)
    reports: list[int] = field(default_factory=list)
    #: By the actor.
    fill_at_s: list[float] = field(default_factory=list)
    fill_bytes: list[int] = field(default_factory=list)
    window_bytes: list[int] = field(default_factory=list)
    demand: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    #: Of each message, when the actor took it: from the writer's send() until then.
    taken_at_s: list[float] = field(default_factory=list)
    delay_s: list[float] = field(default_factory=list)

    def rows_at(self, at_s: float) -> float:
        """Rows that the actor had handled then, interpolated between its reports."""
        times, rows = self.fill_at_s, self.rows
        index = bisect.bisect_left(times, at_s)
        if index == 0:
            return 0.0
        if index == len(times):
            return float(rows[-1])
        share = (at_s - times[index - 1]) / (times[index] - times[index - 1])
        return rows[index - 1] + share * (rows[index] - rows[index - 1])

    def delays(self, begin_s: float, end_s: float) -> list[float]:
        """Queueing delays in seconds of the messages that the actor took in a span, sorted."""
        first = bisect.bisect_left(self.taken_at_s, begin_s)
        return sorted(self.delay_s[first : bisect.bisect_right(self.taken_at_s, end_s)])


def quantile(in_order: Sequence[float], share: float) -> float:
    """The least value that at least ``share`` of the sorted values do not exceed; NaN of none."""
    if not in_order:
        return float("nan")
    return in_order[max(0, -int(-share * len(in_order) // 1) - 1)]


def speed(
    at_s: Sequence[float], counts: Sequence[int], span_s: float = 1.0
) -> tuple[list[float], list[float]]:
    """Times, and how much a count grew per second over the span that ends at each of them."""
    times, speeds, first = list[float](), list[float](), 0
    for last in range(1, len(at_s)):
        while at_s[last] - at_s[first] > span_s and first < last - 1:
            first += 1
        seconds = at_s[last] - at_s[first]
        if seconds > 0:
            times.append(at_s[last])
            speeds.append((counts[last] - counts[first]) / seconds)
    return times, speeds
