"""Models of flow/fill_truth.c and flow/standstill.c.

Which fill NAKs can be true, and which stalled receivers hold the stream for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .fill import BUFFER_MAX, COUNT_MAX, TAU_LEAST_NS, period_ns
from .numbers import NS_PER_MS, TIME_MAX_NS, later

if TYPE_CHECKING:
    from .rates import Report

SOURCES = 64
PROGRESS_NS = 200 * NS_PER_MS
PATIENCE_NS = 500 * NS_PER_MS
LIES = 4
SLOWER, SLACK_SHARE = 4.0, 64.0
IGNORED_NS = 10_000 * NS_PER_MS
MOST_NS = 250 * NS_PER_MS
HEARD_NS = 500 * NS_PER_MS
HELD_REACHES = 2
HELD_NS = 25 * NS_PER_MS


@dataclass
class Source:
    """A sender's knowledge of one receiver."""

    heard: int
    consumed: int
    mark: tuple[int, int]
    moved: int | None = None
    window: int = 0
    progress: float = -1.0
    lying_since: int | None = None
    lies: int = 0
    ignored_until: int | None = None


class Truth:
    def __init__(self) -> None:
        self.now = -TIME_MAX_NS
        self.sources: dict[int, Source] = {}  # in order of their fixed places
        self.ignored = 0

    def is_liar(self, receiver_id: int) -> bool:
        source = self.sources.get(receiver_id)
        return (
            source is not None
            and source.ignored_until is not None
            and self.now < source.ignored_until
        )

    def of(self, receiver_id: int, consumed: int) -> Source:
        if receiver_id not in self.sources:
            made = Source(self.now, consumed, (self.now, consumed))
            if len(self.sources) < SOURCES:
                self.sources[receiver_id] = made
            else:
                # The source heard longest ago (the first of several); a liar only if all are liars.
                gone = min(
                    self.sources, key=lambda known: (self.is_liar(known), self.sources[known].heard)
                )
                self.sources = {
                    receiver_id if known == gone else known: made if known == gone else source
                    for known, source in self.sources.items()
                }
        self.sources[receiver_id].heard = self.now
        return self.sources[receiver_id]

    def on_status(self, receiver_id: int, consumed: int, window: int, now: int) -> bool:
        self.now = later(self.now, now)
        position = max(0, min(consumed, COUNT_MAX))
        source = self.of(receiver_id, position)
        is_news = position >= source.consumed
        if position > source.consumed:
            source.moved = self.now
        if is_news:
            source.consumed = position
            source.window = max(0, min(window, BUFFER_MAX))
        marked, at = source.mark
        if self.now - marked >= PROGRESS_NS:
            source.progress = float(source.consumed - at) / float(self.now - marked) * 1e9
            source.mark = (self.now, source.consumed)
        return is_news

    def is_lie(self, source: Source, report: Report, sent: int, slack: int) -> bool:
        queue = report.fill * float(report.buffer_bytes)
        held_most = float(max(max(0, min(sent, COUNT_MAX)) - source.consumed, 0))
        if queue > held_most + (report.buffer_bytes / SLACK_SHARE + max(slack, 0)):
            return True
        if report.is_clear or source.progress <= 0:
            return False
        least = source.progress / SLOWER
        is_faster_than_it_says = 0 < report.drain < least
        asks_for_too_little = report.allowed < least - queue / (TAU_LEAST_NS / 1e9)
        return is_faster_than_it_says or asks_for_too_little

    def is_believed(self, report: Report, sent: int, slack: int, now: int) -> bool:
        report = report.cleaned()
        self.now = later(self.now, now)
        source = self.of(report.receiver_id, 0)
        if not self.is_lie(source, report, sent, slack):
            source.lying_since, source.lies = None, 0
        else:
            if source.lying_since is None:
                source.lying_since = self.now
            source.lies = min(source.lies + 1, LIES)
            if source.lies == LIES and self.now - source.lying_since >= PATIENCE_NS:
                source.ignored_until = self.now + IGNORED_NS
        is_believed = not self.is_liar(report.receiver_id)
        self.ignored += not is_believed
        return is_believed


class Standstill:
    def __init__(self, truth: Truth, now: int) -> None:
        self.truth = truth
        self.now = self.until = later(-TIME_MAX_NS, now)
        self.left = MOST_NS
        self.is_holding = False

    def pass_time(self, now: int) -> None:
        before, self.now = self.now, later(self.now, now)
        passed = self.now - before
        self.left = max(
            -MOST_NS, min(self.left + (-passed if self.is_holding else passed // 6), MOST_NS)
        )

    def on_report(self, report: Report, now: int) -> None:
        report = report.cleaned()
        self.pass_time(now)
        source = self.truth.sources.get(report.receiver_id)
        if report.is_clear or report.allowed > 0 or source is None or source.moved is None:
            return
        reach = report.rtt_ns + period_ns(report.rtt_ns)
        if self.now - source.moved >= reach:
            self.until = self.now + max(HELD_REACHES * reach, HELD_NS)

    def limit(self, position: int, limit: int, mtu: int, now: int) -> int:
        self.pass_time(now)
        self.is_holding = False
        if self.now >= self.until or self.left <= 0:
            return limit
        ends = [
            source.consumed + source.window
            for source in self.truth.sources.values()
            if source.moved is not None and self.now - source.heard < HEARD_NS
        ]
        least = min([limit, *ends])
        self.is_holding = least < limit and least < position + mtu
        return min(position, limit) if self.is_holding else least

    def due(self) -> int:
        return min(self.until, self.now + max(self.left, 0))
