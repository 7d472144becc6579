"""The publishers of a reader: which have come, completed, failed or gone. Pure book-keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Left(NamedTuple):
    """Where a reader left a publisher that had not ended.

    Attributes:
        position: handed out up to here, in bytes of its stream.
        initial_term_id: of its stream; None: not to be compared.
        channel: where this reader had it.
        source, process: as of :class:`Peer`.
    """

    position: int
    initial_term_id: int | None
    channel: str = ""
    source: str = ""
    process: str = ""


@dataclass(slots=True)
class Peer:
    """One publisher of a stream.

    Attributes:
        position: handed out up to here, in bytes of its stream.
        again_until: what comes again up to here was handed out before this reader joined again; 0:
            nothing comes again.
        source: ``ip:port`` or ``aeron:ipc``.
        process: its program, pid and host, if it is on this host; empty: not known.
        initial_term_id: of its stream; None: not known.
        is_rstream: a message with rstream's header came from it.
        is_done: it said complete, or error.
        refused_at: the position of the message whose name or codec does not fit and that was
            reported; 0: none.
        is_warned: a message of it that cannot be used was reported.
    """

    position: int = 0
    again_until: int = 0
    source: str = ""
    process: str = ""
    initial_term_id: int | None = None
    is_rstream: bool = False
    is_done: bool = False
    refused_at: int = 0
    is_warned: bool = False


class Peers:
    """The publishers of one transport subscription, by session id."""

    __slots__ = ("by_session", "completed_count")

    def __init__(self) -> None:
        self.by_session: dict[int, Peer] = {}
        self.completed_count: int = 0

    def get(self, session_id: int) -> Peer:
        """The peer; a new one when it was not known."""
        peer = self.by_session.get(session_id)
        if peer is None:
            peer = self.by_session[session_id] = Peer()
        return peer

    def done(self, session_id: int, *, counts: bool = True) -> None:
        """Note that a peer has ended its stream; ``counts``: as one that has completed."""
        peer = self.get(session_id)
        if not peer.is_done:
            # No signal handler runs between the two.
            peer.is_done = True
            self.completed_count += counts

    @property
    def open_count(self) -> int:
        """Peers that are here and have not ended their stream."""
        return sum(not peer.is_done for peer in self.by_session.values())
