"""The engine of a publisher: its members, and the facts that any thread may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from rstream import _core
from rstream._held_by import HeldBy
from rstream.stream._demand import ReadersDemand
from rstream.stream._sending._ending import Ending
from rstream.stream._sending._errors import SendErrors
from rstream.stream._sending._losses import Losses
from rstream.stream._sending._offers import Offers
from rstream.stream._sending._parted import PartedSending
from rstream.stream._sending._readers import KnownReaders
from rstream.stream._sending._rejoin import Rejoin
from rstream.stream._sending._segments import SegmentSending
from rstream.stream._sending._session import SendLog, SendSession
from rstream.stream._sending._under_way import UnderWay
from rstream.stream._sending._waiting import SendWaits

if TYPE_CHECKING:
    from rstream._later_log import LaterLog
    from rstream._session import Link
    from rstream.codecs import Codec
    from rstream.stream._sending._session import SendSettings

__all__ = ("NO_END", "Sending")

#: For a short way that has no end.
NO_END: Final = 2**63 - 1


@final
class Sending:
    """What the publishers for threads and for event loops share: they perform its steps.

    Theory of operation. ``state`` is what a send changes. The short way of ``send`` in C
    (``_core.SendPath``) reads and writes the state in one call. All else goes through the members,
    each of which uses those before it:

        session    link, publication, what answers an offer      _session.py
        losses     events, gaps, the consumed position            _losses.py
        readers    who came and went                              _readers.py
        errors     what a send waits for, in vain                 _errors.py
        offers     encode, offer once, count                      _offers.py
        rejoin     another session when the driver was lost       _rejoin.py
        waits      steps: for room, readers, consumption          _waiting.py
        parted     long messages: in parts                        _parted.py
        segments   long messages in shared memory: in segments    _segments.py
        ending     the end of the stream                          _ending.py

    The publisher's lock, ``state.lock``, guards all of them, except during waits. A publisher
    refers to its engine; nothing here refers to the publisher.

    Args:
        link: the hold on a client.
        settings: of the publisher.
        codec: of its objects.
        later: where it logs under its lock; None: it may log at once.

    Attributes:
        settings: as given; ``set_rate`` changes the channel.
        state: what a send changes.
        under_way: long messages.
    """

    def __init__(
        self,
        link: Link,
        settings: SendSettings,
        codec: Codec[Any],
        later: LaterLog | None = None,
    ) -> None:
        self.settings = settings
        self.state = state = _core.SendState(_core.Turn())
        state.before = -1
        state.short_way_end = NO_END
        self.under_way = under_way = UnderWay(state)
        logs = SendLog(settings, state, later)
        self.session = session = SendSession(link, state, settings, under_way, logs)
        self.losses = losses = Losses(session, under_way)
        self.readers = readers = KnownReaders(session, losses)
        self.errors = errors = SendErrors(session, readers)
        self.offers = offers = Offers(session, readers, errors, under_way, codec)
        self.rejoin = Rejoin(session, losses)
        self.waits = waits = SendWaits(session, readers, errors, offers, self.rejoin)
        self.parted = PartedSending(session, readers, offers, waits, under_way)
        self.segments = SegmentSending(session, readers, errors, offers, waits, under_way)
        self.ending = Ending(session, readers, offers, waits)

    @property
    def has_session(self) -> bool:
        """Whether it has a session now: it is not closed, and its driver is alive."""
        return not self.session.is_closed and not self.session.core.is_closed

    @property
    def held_by(self) -> HeldBy | None:
        """What a send would wait for now; None: nothing, or the publisher is closed."""
        session = self.session
        if not self.has_session:
            return None
        if not session.core.is_connected or session.is_gated:
            return HeldBy.SUBSCRIBER
        if session.is_over_rate():
            return HeldBy.RATE
        if session.core.available_window > 0:
            return HeldBy.WINDOW if self.segments.is_held else None
        return self.readers.held_by()

    def demand(self) -> ReadersDemand | None:
        """The demand of the readers; None: closed, or the driver was lost."""
        demand = None if self.session.is_closed else self.session.core.demand
        if demand is None:
            return None
        return ReadersDemand(demand.position, demand.messages, demand.readers, demand.is_connected)

    def check_accepted(self) -> None:
        """For whoever offers and does not wait: whether the last reader left with an error.

        Raises:
            RemoteError: it did, and no other reader is there. Over UDP half a second later.
        """
        with self.state.lock:
            self.readers.check_accepted()

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start; positions of the last session when closed."""
        session = self.session
        _, limit, consumed, unread = session.see_positions()
        return {
            "messages": self.state.sent,
            "position": session.position,
            "position_limit": limit,
            "consumed_position": consumed,
            "unread_bytes": unread,
            "is_connected": not session.is_closed and session.core.is_connected,
            "is_rate_limited": self.errors.is_rate_limited,
            "waits": self.waits.count,
            "waited_s": self.waits.waited_ns / 1e9,
            "rejoins": session.joining.joins,
            "segment_bytes": session.core.segment_bytes,
        }
