"""One transport subscription of a reader, with the publishers that it receives."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING

from rstream.stream._names import uri_keys, with_endpoint
from rstream.stream._reading._peers import Left, Peers

if TYPE_CHECKING:
    from rstream import _core
    from rstream.flow.chunk import Chunk


class Input:
    """One transport subscription.

    Attributes:
        core: the subscription in C.
        channel: its channel URI.
        chunk: how much demand its publishers are told; None: what a subscriber requests.
        is_telling: a request of the chunk is on its way to the publishers.
        peers: its publishers.
        takes_views: objects may be views of a batch, which then stays for them (``Batch.keep``).
    """

    __slots__ = ("channel", "chunk", "core", "is_telling", "peers", "takes_views")

    def __init__(
        self,
        core: _core.Subscription,
        channel: str,
        chunk: Chunk | None,
        takes_views: bool = False,
    ) -> None:
        self.core: _core.Subscription = core
        self.channel: str = channel
        self.chunk: Chunk | None = chunk
        self.peers: Peers = Peers()
        self.is_telling: bool = False
        self.takes_views: bool = takes_views
        self.tell_demand()

    def tell_demand(self) -> None:
        """Tell the publishers what is wanted behind what has arrived, if it is time. An interrupt
        may have come between the request of the chunk and the publishers; it is told anew then.
        """
        chunk = self.chunk
        if chunk is None or not (self.is_telling or chunk.outstanding <= chunk.renew_at):
            return
        if self.is_telling:
            chunk.outstanding = self.core.demand
            if chunk.outstanding > chunk.renew_at:  # it was told, and not noted any more
                self.is_telling = False
                return
        self.is_telling = True
        count = chunk.request(monotonic_ns())
        if count > 0:  # 0: a signal handler that closes the reader has come in between, and told it
            self.core.tell_demand(count)
        self.is_telling = False

    def note_wait(self, count: int) -> None:
        """Note that a poll found nothing, or the first messages after such a poll."""
        chunk = self.chunk
        if chunk is None:
            return
        if count > 0:
            chunk.arrived(monotonic_ns())
        elif not chunk.is_waiting:
            chunk.empty(monotonic_ns())

    def close(self) -> None:
        """Leave the stream. What was not consumed of the last batch stays unread."""
        self.core.close()

    def kept_channel(self) -> str:
        """The channel to join again. A port that the system chose (``:0``) is kept."""
        endpoint = uri_keys(self.channel).get("endpoint", "")
        address = self.core.local_address
        if endpoint.endswith(":0") and address:
            return with_endpoint(self.channel, f"{endpoint[:-2]}:{address.rpartition(':')[2]}")
        return self.channel

    def left_at(self) -> dict[int, Left]:
        """Where each publisher that has not said its end is left, by session id."""
        return {
            session_id: Left(
                peer.position, peer.initial_term_id, self.channel, peer.source, peer.process
            )
            for session_id, peer in self.peers.by_session.items()
            if not peer.is_done
        }
