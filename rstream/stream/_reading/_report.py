"""What a reader has to tell beside objects: events, errors, and counts of both."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Literal, TypeAlias

from rstream.stream._events import EVENTS_MAX, StreamEvent

if TYPE_CHECKING:
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._peers import Left

log = logging.getLogger("rstream")

#: What a publisher's death, error or unusable message is for a reader: an exception, or an event
#: only.
OnLost: TypeAlias = Literal["raise", "event"]


class Report:
    """Filled by the thread that polls; :meth:`take_events` may run in any thread.

    Args:
        name, stream_id: the stream.
        on_lost: what :meth:`tell` makes of the trouble of one publisher.

    Attributes:
        owner, log_level: of a reader that is a part of another face (_inner.py): the face, for
            people, and how it logs.
        events: what happened, oldest first; at most ``EVENTS_MAX``, then the oldest is dropped.
        errors: what the next polls raise, one each, before they take anything new.
        refused: messages that were skipped.
        evicted: how often the driver has let this reader go.
        overruns: how often its group has left this reader behind.
        gaps: gaps of unreliable streams.
        skipped_bytes: bytes of the stream that this reader never got.
    """

    def __init__(self, name: str, stream_id: int, on_lost: OnLost) -> None:
        self.name = name
        self.stream_id = stream_id
        self.owner = ""
        self.log_level = logging.WARNING
        self.is_raising: bool = on_lost == "raise"
        self.events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self.errors: deque[Exception] = deque()
        self.refused = self.evicted = self.overruns = self.gaps = self.skipped_bytes = 0

    def tell(self, event: StreamEvent, error: Exception, *, is_first: bool = True) -> None:
        """Note the trouble of one publisher: an event, and an error for a reader that raises.

        Args:
            event: what happened.
            error: what a poll raises then.
            is_first: of the same kind from this publisher; only that one is logged, as a warning.
        """
        if self.note(event, error, is_first=is_first):
            self.errors.append(error)

    def note(self, event: StreamEvent, error: Exception, *, is_first: bool = True) -> bool:
        """As :meth:`tell`, but the caller keeps the error for its place between two objects.

        Returns:
            Whether a poll has to raise it.
        """
        self.events.append(event)
        if not self.is_raising and is_first:
            self.log("%s", error)
        return self.is_raising

    def log(self, text: str, *arguments: object) -> None:
        """Say what happened."""
        log.log(self.log_level, text, *arguments)

    def take_events(self) -> list[StreamEvent]:
        """Remove and return the events, oldest first."""
        events = self.events
        taken = [*events]
        events *= 0  # no signal handler runs between this and the return
        return taken

    @property
    def title(self) -> str:
        """The stream, for error texts."""
        return self.owner or f"stream {self.name or self.stream_id!r}"

    def where(self, source: Input | Left, session_id: int) -> str:
        """The stream, its channel and a session, for error texts."""
        if self.owner:
            return self.owner
        stream = (
            f"stream {self.name!r} ({self.stream_id})" if self.name else f"stream {self.stream_id}"
        )
        return f"{stream} on {source.channel}, session {session_id}"
