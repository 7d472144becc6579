"""Tells the tools of readers that have had the same oldest message for a while.

To the driver such a reader is idle: it has consumed what was sent to it. So the publisher has a
counter for its lane, which says since when. One thread calls all methods.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rstream.errors import RStreamError
from rstream.metrics import TYPE_JOB_HELD
from rstream.stream._internal import sending_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rstream import _core
    from rstream.work._desk import ReaderSeat
    from rstream.work._seating import LanePublisher

__all__ = ("HeldJobs",)

#: Seconds between two looks: what both of them find is held.
LOOK_EVERY_S: Final = 1.0
#: Most lanes with a counter.
COUNTERS_MAX: Final = 64


@dataclass(slots=True)
class _Oldest:
    number: int = 0  # on the lane; 0: it has none
    since_ms: int = 0  # when it was seen first, since 1970
    counter: _core.Counter | None = None


class HeldJobs:
    """The oldest message of each lane, as the last look found it."""

    def __init__(self) -> None:
        self._by_lane: dict[int, _Oldest] = {}
        self._counters = 0
        self._next_s = 0.0

    def is_due(self) -> bool:
        """Whether it is time to look again."""
        return time.monotonic() >= self._next_s

    def look(self, found: Iterable[tuple[ReaderSeat[LanePublisher], int]]) -> None:
        """Tell of readers that hold what they held at the last look.

        Args:
            found: each reader with the number of the oldest message that it has; 0: none.
        """
        self._next_s = time.monotonic() + LOOK_EVERY_S
        now_ms = time.time_ns() // 1_000_000
        before, self._by_lane = self._by_lane, {}
        for seat, number in found:
            oldest = self._by_lane[seat.lane] = before.pop(seat.lane, None) or _Oldest()
            if oldest.number != number:
                oldest.number, oldest.since_ms = number, now_ms
                is_held = False
            else:
                is_held = number > 0
            self._tell(seat.publisher, oldest, is_held=is_held)
        self._forget(before)

    def _tell(self, lane: LanePublisher, oldest: _Oldest, *, is_held: bool) -> None:
        if is_held and oldest.counter is None and self._counters < COUNTERS_MAX:
            publisher: Any = getattr(lane, "publisher", lane)  # of a Ray member
            with suppress(RStreamError):  # all are in use, or the driver has died
                session = sending_of(publisher).session
                oldest.counter = session.add_counter(TYPE_JOB_HELD, "rs-job-held")
                self._counters += 1
        if oldest.counter is not None:
            oldest.counter.value = oldest.since_ms if is_held else 0

    def close(self) -> None:
        """Remove the counters."""
        self._forget(self._by_lane)

    def _forget(self, lanes: dict[int, _Oldest]) -> None:
        for oldest in lanes.values():
            if oldest.counter is not None:
                self._counters -= 1
                with suppress(RStreamError):  # its client is closed
                    oldest.counter.value = 0  # the driver removes it a moment later
                    oldest.counter.close()
        lanes.clear()
