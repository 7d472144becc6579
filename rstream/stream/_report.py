"""What a reader has to tell beside objects: events, errors, and counts of both."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rstream.stream._events import EVENTS_MAX, StreamEvent

if TYPE_CHECKING:
    from rstream.stream._input import Input


class Report:
    """Filled by the thread that polls; :meth:`take_events` may run in any thread.

    Attributes:
        events: what happened, oldest first; at most ``EVENTS_MAX``, then the oldest is dropped.
        errors: what a later poll raises, one for each poll that has no object to return.
        refused: messages that were skipped.
        evicted: how often the driver has let this reader go.
        overruns: how often its group has left this reader behind.
        gaps: gaps of unreliable streams.
        skipped_bytes: bytes of the stream that this reader never got.
    """

    def __init__(self, name: str, stream_id: int) -> None:
        self.name = name
        self.stream_id = stream_id
        self.events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self.errors: deque[Exception] = deque()
        self.refused = self.evicted = self.overruns = self.gaps = self.skipped_bytes = 0

    def take_events(self) -> list[StreamEvent]:
        """Remove and return the events, oldest first."""
        events: list[StreamEvent] = []
        while self.events:
            events.append(self.events.popleft())
        return events

    @property
    def title(self) -> str:
        """The stream, for error texts."""
        return f"stream {self.name or self.stream_id!r}"

    def where(self, source: Input, session_id: int) -> str:
        """The stream, its channel and a session, for error texts."""
        stream = (
            f"stream {self.name!r} ({self.stream_id})" if self.name else f"stream {self.stream_id}"
        )
        return f"{stream} on {source.channel}, session {session_id}"
