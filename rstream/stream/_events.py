"""The events of a stream, which ``events()`` returns oldest first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rstream.errors import RemoteError


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """A publisher's image has come.

    Attributes:
        session_id: which publisher.
        position: where this reader joined, in bytes of the stream.
        source: ``ip:port`` or ``aeron:ipc``.
        process: the publisher's program, pid and host, if it is on this host; empty: not known.
    """

    session_id: int
    position: int
    source: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """A publisher's image has gone, all that it held was read.

    Attributes:
        session_id: which publisher.
        position: consumed up to here.
        end_position: where the stream ended in good order; None when it did not.
        is_completed: whether the publisher had said that it was done.
        source: ``ip:port`` or ``aeron:ipc``.
        process: the publisher's program, pid and host, if it is on this host; empty: not known.
    """

    session_id: int
    position: int
    end_position: int | None
    is_completed: bool
    source: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A publisher has completed its stream; every message before was handed out.

    Attributes:
        session_id: which publisher.
        position: after its last message.
    """

    session_id: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A publisher of rstream has gone without a word: it died or was cut off.

    Attributes:
        session_id: which publisher.
        position: consumed up to here.
        source: ``ip:port`` or ``aeron:ipc``.
        process: the publisher's program, pid and host, if it is on this host; empty: not known.
    """

    session_id: int
    position: int
    source: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A publisher has ended its stream with an error; every message before was handed out.

    Attributes:
        session_id: which publisher.
        position: after its last message.
        source: ``ip:port`` or ``aeron:ipc``.
        process: the publisher's program, pid and host, if it is on this host; empty: not known.
        reason: the publisher's text.
        error: what a reader raises that does not get the failures as events only.
    """

    session_id: int
    position: int
    source: str
    reason: str
    error: RemoteError = field(repr=False, compare=False)
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A message was skipped because this reader cannot use it.

    The message cannot be decoded, was written with another codec, or carries another name.

    Attributes:
        session_id: which publisher.
        position: after the message.
        source: ``ip:port`` or ``aeron:ipc``.
        process: the publisher's program, pid and host, if it is on this host; empty: not known.
        reason: why, for people.
    """

    session_id: int
    position: int
    source: str
    reason: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Positions that were not delivered, or (publisher) are not known to have been consumed.

    A reader of a group that went on without it learns the gap when it has read everything before
    it (``on_gap``). A reader whose driver died does not know yet where a gap ends; when the
    publisher's session is still there (its driver was another one), a second gap tells it.

    Attributes:
        session_id: which publisher.
        from_position: delivered or consumed up to here.
        to_position: sent up to here; None when only the other side could know.
        reason: why, for people.
    """

    session_id: int
    from_position: int
    to_position: int | None
    reason: str

    @property
    def length_bytes(self) -> int | None:
        """Bytes of the stream in the gap, with frame headers; None when its end is not known."""
        return None if self.to_position is None else self.to_position - self.from_position


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """This reader stood still for longer than its ``policy.Evict`` allows: the driver let it go. A
    :class:`Gap` follows when it has joined again.

    Attributes:
        session_id: which publisher.
        position: handed out up to here.
        since_ms: since when the stream goes on without it, milliseconds since 1970.
    """

    session_id: int
    position: int
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged:
    """The media driver died, and this end has joined again: a publisher under a new session.

    Attributes:
        old_session_id: the publisher's session before; None at a reader, which has no session of
            its own. Its :class:`Available` tells each publisher's.
        new_session_id: the publisher's session now; None at a reader.
        reason: what was lost, for people.
    """

    old_session_id: int | None
    new_session_id: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """A publisher has a reader again, or its first one. While it has one, others come and go
    without an event.

    Attributes:
        session_id: the publisher's session.
        position: sent up to here by then.
        process: the reader's program, pid and host, in shared memory; of several one. Empty: not
            known, as of a client of Aeron's, or of a reader that had left before the publisher
            looked: in ``send`` and ``events``.
        source: ``ip:port`` of the reader, if it is known yet; empty in shared memory.
    """

    session_id: int
    position: int
    process: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected:
    """The last reader of a publisher has gone: closed, died, or cut off. A :class:`Gap` follows
    when bytes were on the way to it. Bytes that no reader has taken yet wait for the next reader.

    A reader that is killed counts until the driver has noticed its death, a few milliseconds later.
    If the next one has joined by then, the publisher had a reader all the time, and there is no
    event; in shared memory the next reader begins where the killed one stopped. Several that left
    between two looks of the publisher are told as one.

    Attributes:
        session_id: the publisher's session.
        position: sent up to here.
        consumed_position: known to be consumed up to here; of several readers that left, up to
            where the first one is known to have come. Over a network it is what the reader's
            driver has told last, so the reader may have consumed a little more.
        process: the program, pid and host of the reader that left last, in shared memory; empty:
            not known.
        source: its ``ip:port``; empty in shared memory.
    """

    session_id: int
    position: int
    consumed_position: int
    process: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A reader of a publisher has left with an error. :class:`Disconnected` follows if it was the
    last one; then ``send`` raises :class:`rstream.errors.RemoteError` until another reader comes.

    Attributes:
        session_id: the publisher's session.
        source: ``ip:port`` of the reader; empty in shared memory.
        reason: the reader's text.
        process: the reader's program, pid and host, in shared memory; empty: not known.
    """

    session_id: int
    source: str
    reason: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRefused:
    """A peer has another key than this end, or none (:mod:`rstream.keys`), or is none of the
    ``sources`` that are taken: its datagrams are refused, and nothing flows between the two.
    ``events`` tells each peer once.

    Attributes:
        reason: the peer's ``ip:port``, its key's id and the one that is asked for, for people.
    """

    reason: str


def note_refusals(reasons: list[str], told: set[str]) -> list[PeerRefused]:
    """Events for the reasons that were not told before; of those that are over, none is kept."""
    news = [PeerRefused(reason=reason) for reason in reasons if reason not in told]
    told.intersection_update(reasons)
    told.update(reasons)
    return news


StreamEvent: TypeAlias = (
    Available
    | Unavailable
    | Completed
    | Lost
    | Failed
    | Refused
    | Gap
    | Evicted
    | SessionChanged
    | Connected
    | Disconnected
    | Rejected
    | PeerRefused
)

#: Most events kept for ``events()``; older ones are dropped and counted.
EVENTS_MAX = 1024
