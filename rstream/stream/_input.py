"""One transport subscription of a reader, with the publishers that it receives."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING

from rstream.stream._names import uri_keys, with_endpoint
from rstream.stream._peers import Left, Peers
from rstream.stream._tally import Lot

if TYPE_CHECKING:
    from rstream import _core
    from rstream.flow.chunk import Chunk
    from rstream.stream._tally import Tally


class Input:
    """One transport subscription.

    Attributes:
        core: the subscription in C.
        channel: its channel URI.
        chunk: how much demand its publishers are told; None: what a subscriber requests.
        peers: its publishers.
        held: the batch that the last poll returned and that is not released yet.
        held_count: objects made of it.
        held_indexes: the message of each object in it; None: every message is an object.
        held_end: how many of its messages count as consumed with these objects, while more of it is
            to be handed out (_cut.py); None: all.
        takes_views: objects may be views of a batch, which then stays for them (``Batch.keep``).
        tally: says what counts as consumed; None: nothing waits in a queue behind the reader.
    """

    __slots__ = (
        "channel",
        "chunk",
        "core",
        "held",
        "held_count",
        "held_end",
        "held_indexes",
        "peers",
        "takes_views",
        "tally",
    )

    def __init__(
        self,
        core: _core.Subscription,
        channel: str,
        chunk: Chunk | None,
        takes_views: bool = False,
    ) -> None:
        self.core = core
        self.channel = channel
        self.chunk = chunk
        self.peers = Peers()
        self.held: _core.Batch | None = None
        self.held_count = 0
        self.held_indexes: list[int] | None = None
        self.held_end: int | None = None
        self.takes_views = takes_views
        self.tally: Tally | None = None
        self.tell_demand()

    def tell_demand(self) -> None:
        """Tell the publishers what is wanted behind what was consumed. Call it when no batch is
        held: at the start, and after each release.
        """
        chunk = self.chunk
        if chunk is not None and chunk.outstanding <= chunk.renew_at:
            self.core.tell_demand(chunk.request(monotonic_ns()))

    def note_wait(self, count: int) -> None:
        """Note that a poll found nothing, or the first messages after such a poll."""
        chunk = self.chunk
        if chunk is None:
            return
        if count > 0:
            chunk.arrived(monotonic_ns())
        elif not chunk.is_waiting:
            chunk.empty(monotonic_ns())

    def is_used_up(self) -> bool:
        """Whether publishers may make nothing more before the held batch counts as consumed."""
        return self.held is not None and self.core.demand == 0

    def hold(self, batch: _core.Batch, count: int, indexes: list[int] | None) -> None:
        """Keep a batch until its objects are consumed."""
        self.held, self.held_count, self.held_indexes = batch, count, indexes

    def hold_part(self, indexes: list[int], end: int | None) -> None:
        """Note which objects of the held batch are handed out now.

        Args:
            indexes: the message of each.
            end: how many messages count as consumed with them; None: all, they are the last ones.
        """
        self.held_count, self.held_indexes, self.held_end = len(indexes), indexes, end

    def release(self) -> None:
        """Count the held batch as consumed, as far as it was handed out."""
        if self.held is None:
            return
        if self.tally is not None and not self.takes_views:
            self._lend(self.held, self.tally)
        elif self.held_end is None:
            self.let_go(self.held)
            self.held = None
            self.tell_demand()
        elif not self.takes_views:  # the memory of a view cannot be given back in parts
            self.held.consume(self.held_end)

    def _lend(self, batch: _core.Batch, tally: Tally) -> None:
        """Leave it to the tally when the held batch counts as consumed."""
        tally.add(Lot(batch, tally.polled, self.held_count, self.held_indexes, self.held_end))
        tally.polled += self.held_count
        if self.held_end is None:
            batch.set_aside()
            self.held = None

    def let_go(self, batch: _core.Batch) -> None:
        """End the lease of a batch. Views of it stay valid."""
        if self.takes_views:
            batch.keep()
        else:
            batch.release()

    def consume(self, count: int) -> None:
        """Count the first objects of the held batch as consumed. Idempotent; no effect without."""
        batch = self.held
        if batch is None or count < 1:
            return
        if count >= self.held_count:
            self.release()
        elif not self.takes_views:
            indexes = self.held_indexes
            batch.consume(count if indexes is None else indexes[count - 1] + 1)

    def close(self) -> None:
        """Leave the stream. What the held batch has beyond :meth:`consume` stays unread."""
        if self.held is not None:
            if self.takes_views:
                self.held.keep()
            else:
                self.held.give_back()
            self.held = None
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
            session_id: Left(peer.position, peer.initial_term_id, self.channel, peer.source)
            for session_id, peer in self.peers.by_session.items()
            if not peer.is_done
        }
