"""What may be lost: gaps of a publisher, and its other events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, final

from rstream.errors import MessagesLost
from rstream.stream._events import EVENTS_MAX, Gap, StreamEvent
from rstream.stream._refusals import Refusals

if TYPE_CHECKING:
    from rstream.stream._sending._session import SendSession
    from rstream.stream._sending._under_way import UnderWay

__all__ = ("Losses", "Seen")


class Seen(NamedTuple):
    """What a look at the readers has found.

    Attributes:
        news: its events.
        consumed: up to where all readers are known to have consumed.
        is_connected: whether a reader is there.
        left_count: how many readers have left this session.
    """

    news: list[StreamEvent]
    consumed: int
    is_connected: bool
    left_count: int


@final
class Losses:
    """The events of a publisher, and how far its readers are known to have consumed.

    Attributes:
        consumed: up to where all readers have; what is lost counts as consumed.
        events: not taken yet, oldest first.
        last_gap: the last one that was reported.
        refused: peers with another key.
    """

    def __init__(self, session: SendSession, under_way: UnderWay) -> None:
        self._session = session
        self._under_way = under_way
        self.consumed = 0
        self.last_gap: Gap | None = None
        self.refused = Refusals()
        self.events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self._untold_gap: Gap | None = None  # the last one, until events or wait_consumed tells it
        self._untold_bytes = 0  # of all such gaps

    def refusals(self) -> list[str]:
        """A text for each reader that has another key than this publisher."""
        session = self._session
        return self.refused.look(session.link.directory, (session.core.channel_status_id,))

    def take_events(self) -> list[StreamEvent]:
        """The events since the last call, oldest first."""
        events = self.events
        events += self.refused.events(self.refusals())
        taken = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        self._untold_gap, self._untold_bytes = None, 0
        return taken

    def report(self, session_id: int, to_position: int, why: str, seen: Seen | None = None) -> None:
        """Report a gap: data above the consumed position that we know of may not have arrived.

        Args:
            session_id: whose data.
            to_position: where the gap ends; no gap if that much is known to be consumed.
            why: for people.
            seen: what a look has found; it is noted in the same step, before the gap.
        """
        session, state = self._session, self._session.state
        from_position = self.consumed if seen is None else seen.consumed
        consumed = max(from_position, to_position)
        to_position = self._under_way.lost_to(from_position, to_position)
        gap = None
        if to_position > from_position:
            gap = Gap(
                session_id=session_id,
                from_position=from_position,
                to_position=to_position,
                reason=f"{why}: not known to be consumed by every reader",
            )
        # In one step: no signal handler runs before all of it is noted.
        if seen is not None:
            self.events += seen.news
            session.left_count = seen.left_count
            state.was_connected, state.before = seen.is_connected, -1
        self.consumed = consumed
        if gap is None:
            return
        self.events += (gap,)
        self._untold_gap = self.last_gap = gap
        self._untold_bytes += to_position - from_position
        session.logs.log(
            "%s: session %d: positions %d to %d (%d bytes): %s; events() has this Gap: "
            "send the data again if it must arrive",
            session.settings.where(),
            session_id,
            from_position,
            to_position,
            to_position - from_position,
            gap.reason,
        )

    def check(self) -> None:
        """Raise, once, if something that was sent may not have been consumed.

        Raises:
            MessagesLost: :meth:`take_events` has not told its gap either.
        """
        gap, length_bytes, settings = self._untold_gap, self._untold_bytes, self._session.settings
        if gap is None:
            return
        error = MessagesLost(
            f"{settings.where()}: {length_bytes} bytes that were sent may be lost, the last ones "
            f"in session {gap.session_id}, positions {gap.from_position} to {gap.to_position}: "
            f"{gap.reason}",
            hint="send again what must arrive; events() has every Gap",
            channel=settings.channel,
            stream_id=settings.stream_id,
            session_id=gap.session_id,
            position=gap.from_position,
        )
        error.gap = gap
        self._untold_gap, self._untold_bytes = None, 0
        raise error
