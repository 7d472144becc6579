"""One transport subscription of a reader, with the publishers that it receives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.stream._names import uri_keys, with_endpoint
from rstream.stream._peers import Peers

if TYPE_CHECKING:
    from rstream import _core


class Input:
    """One transport subscription.

    Attributes:
        core: the subscription in C.
        channel: its channel URI.
        peers: its publishers.
        held: the batch that the last poll returned, for a reader that holds it until the next poll.
    """

    __slots__ = ("channel", "core", "held", "peers")

    def __init__(self, core: _core.Subscription, channel: str) -> None:
        self.core = core
        self.channel = channel
        self.peers = Peers()
        self.held: _core.Batch | None = None

    def close(self) -> None:
        """Release the held batch, then the subscription."""
        self.held = None
        self.core.close()

    def kept_channel(self) -> str:
        """The channel to join again. A port that the system chose (``:0``) is kept."""
        endpoint = uri_keys(self.channel).get("endpoint", "")
        address = self.core.local_address
        if endpoint.endswith(":0") and address:
            return with_endpoint(self.channel, f"{endpoint[:-2]}:{address.rpartition(':')[2]}")
        return self.channel

    def left_at(self) -> dict[int, int]:
        """Up to where each publisher that has not said its end was delivered, by session id."""
        return {
            session_id: peer.position
            for session_id, peer in self.peers.by_session.items()
            if not peer.is_done
        }
