"""What the emulated link wrote: counters of each flow over time, and how long its queue was."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

#: Time between two samples of the queue.
SAMPLE_NS = 5_000_000
#: Samples in a full line.
SAMPLES = 20


@dataclass(frozen=True)
class Counts:
    """Packets and IP bytes of a flow in one direction."""

    came: int = 0
    came_bytes: int = 0
    passed: int = 0
    passed_bytes: int = 0
    dropped: int = 0
    lost: int = 0

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            *(getattr(self, one.name) - getattr(other, one.name) for one in fields(Counts))
        )

    @property
    def dropped_share(self) -> float:
        """What the queue dropped, of what came."""
        return self.dropped / self.came if self.came else 0.0


@dataclass(frozen=True)
class Line:
    """The counters at one time."""

    at_ns: int
    forward: dict[str, Counts]
    back: dict[str, Counts]


@dataclass(frozen=True)
class Report:
    """The whole report of a run."""

    lines: tuple[Line, ...]
    #: Time of a sample, and how long a packet would have waited then, in ms.
    waits: tuple[tuple[int, float], ...]
    #: Turns in which the link came more than a millisecond late, and the latest.
    late_turns: int
    late_most_ms: float
    #: Packets that a device dropped or refused, and those of no known host.
    device_drops: int
    strangers: int

    @classmethod
    def of(cls, texts: Sequence[str], device_drops: int = 0) -> Self:
        """Read what the link wrote."""
        *bodies, end = [json.loads(text) for text in texts]
        waits: list[tuple[int, float]] = []
        for body in bodies:
            values = body["waits_us"]
            # A full line ends with its last sample; the last one of all when the link did.
            first_ns = body["at_ns"] - (SAMPLES - 1) * SAMPLE_NS
            if waits and len(values) < SAMPLES:
                first_ns = waits[-1][0] + SAMPLE_NS
            waits += [(first_ns + i * SAMPLE_NS, us / 1000) for i, us in enumerate(values)]
        return cls(
            lines=tuple(
                Line(body["at_ns"], _counts(body["forward"]), _counts(body["back"]))
                for body in bodies
            ),
            waits=tuple(waits),
            late_turns=end["late_turns"],
            late_most_ms=end["late_most_us"] / 1000,
            device_drops=device_drops + end["refused"],
            strangers=end["strangers"],
        )

    def forward(self, flow: str, from_ns: int, to_ns: int) -> Counts:
        """What was counted of a flow between two times, to a tenth of a second."""
        return self._at(flow, to_ns) - self._at(flow, from_ns)

    def _at(self, flow: str, at_ns: int) -> Counts:
        number = bisect_right(self.lines, at_ns, key=lambda line: line.at_ns)
        return self.lines[number - 1].forward.get(flow, Counts()) if number else Counts()

    def waits_between(self, from_ns: int, to_ns: int) -> list[float]:
        """Samples of the queueing delay in ms."""
        return [wait for at_ns, wait in self.waits if from_ns <= at_ns < to_ns]


def _counts(flows: dict[str, Any]) -> dict[str, Counts]:
    return {name: Counts(*values) for name, values in flows.items()}


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
