"""What clients tell about images, receivers, counters and channels, as values."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

__all__ = (
    "ChannelStatus",
    "CounterEvent",
    "CounterReading",
    "Image",
    "ImageEvent",
    "ReceiverError",
    "SlowestReader",
    "slowest_reader_of",
)


class ChannelStatus(enum.IntEnum):
    """State of a channel's endpoint, as the driver's counter says."""

    ERRORED = -1
    INITIALISING = 0
    ACTIVE = 1
    CLOSING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEvent:
    """A publisher's session came into or went out of sight of a subscription.

    Attributes:
        kind: ``"available"`` or ``"unavailable"``; the latter comes after the last message.
        session_id: the publisher instance.
        correlation_id: the driver's number of the image.
        position: where reading starts; unavailable: up to where it was consumed.
        end_position: unavailable: where the stream ended in good order; None when it did not.
        received_position: unavailable: everything below was received.
        source: ``"ip:port"`` of the sender, or ``"aeron:ipc"``.
        evicted_ms: unavailable: since when (milliseconds since 1970) the stream goes on without this
            reader, which held it and stood still for its ``rs-evict``; 0 when it went otherwise.
    """

    kind: Literal["available", "unavailable"]
    session_id: int
    correlation_id: int
    position: int
    end_position: int | None
    received_position: int
    source: str
    evicted_ms: int = 0

    @property
    def is_available(self) -> bool:
        return self.kind == "available"

    @property
    def ended_in_order(self) -> bool:
        """Whether the publisher ended the stream and all of it was consumed."""
        return self.end_position is not None and self.position >= self.end_position


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One publisher's session as one subscription saw it when it was asked.

    Attributes:
        correlation_id: the driver's number of the image.
        session_id: the publisher instance.
        initial_term_id: term id at position 0.
        term_length: bytes of a term.
        mtu: largest frame in bytes.
        active_transports: ways over which frames came lately (0 for shared memory).
        join_position: where reading began, in bytes of the stream.
        position: consumed up to here.
        end_position: where the stream ends; None until that is known.
        is_revoked: the publisher ended the stream at once, without waiting for its readers.
        source: ``"ip:port"`` of the sender, or ``"aeron:ipc"``.
    """

    correlation_id: int
    session_id: int
    initial_term_id: int
    term_length: int
    mtu: int
    active_transports: int
    join_position: int
    position: int
    end_position: int | None
    is_revoked: bool
    source: str

    @property
    def is_end_of_stream(self) -> bool:
        """Whether the stream ended and all of it was consumed."""
        return self.end_position is not None and self.position >= self.end_position


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverError:
    """A receiver told a publication that something is wrong.

    Attributes:
        code: 13 when it rejected the publication's image.
        session_id: the publisher instance.
        receiver_id: 64 bits that tell receivers apart.
        group_tag: the receiver's ``gtag``, or None.
        destination_id: through which destination it came, or None.
        source: ``"ip:port"`` of the receiver; empty for one in the same driver.
        text: the reason that it gave.
    """

    code: int
    session_id: int
    receiver_id: int
    group_tag: int | None
    destination_id: int | None
    source: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReading:
    """A counter of the driver directory as it was read.

    Attributes:
        counter_id: its place.
        type_id: what it counts; applications use 1000 and above.
        value: 64 bits with sign.
        registration_id: the driver's number of what it belongs to.
        owner_id: the client, -1 when it is nobody's.
        reference_id: of the image or publication that it is about, or 0.
        label: text for people.
    """

    counter_id: int
    type_id: int
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterEvent:
    """A counter of some client came or went.

    Attributes:
        is_available: it came.
        counter_id: its place.
        registration_id: the driver's number of it.
    """

    is_available: bool
    counter_id: int
    registration_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestReader:
    """The reader of the least position of a publication: it holds the stream back when it is full.

    Attributes:
        publication_id: the driver's number of the publication.
        is_local: a subscriber in shared memory or a spy; else a receiver that the sender hears.
        reader_id: receiver id; local: the driver's number of the subscription.
        client_id: local: the client that subscribed; None of receivers.
        pid: local: its process; None when not known.
        source: ``"ip:port"`` of a receiver; empty when local.
        since_ms: since when no other is slower, milliseconds since 1970 (local ones to a second).
        position: consumed up to here, in bytes of the stream.
        window_bytes: how far it lets the publisher be ahead.
    """

    publication_id: int
    is_local: bool
    reader_id: int
    client_id: int | None
    pid: int | None
    source: str
    since_ms: int
    position: int
    window_bytes: int

    def fill(self, position: int) -> float:
        """How full it is, 0 to 1, of a stream that was sent up to ``position``."""
        waiting = max(0, position - self.position)
        return min(1.0, waiting / self.window_bytes) if self.window_bytes > 0 else 0.0

    @property
    def name(self) -> str:
        """Who that is, for people."""
        if not self.is_local:
            return f"receiver {self.reader_id & 0xFFFF_FFFF_FFFF_FFFF:#x} at {self.source or '?'}"
        process = f", pid {self.pid}" if self.pid is not None else ""
        return f"subscription {self.reader_id} of client {self.client_id}{process}"


def slowest_reader_of(row: tuple[int, bool, int, int, int, int, int, int, str]) -> SlowestReader:
    """A row of ``_core.read_holders``."""
    return SlowestReader(
        publication_id=row[0],
        is_local=row[1],
        reader_id=row[2],
        client_id=row[3] if row[1] else None,
        pid=row[4] or None,
        since_ms=row[5],
        position=row[6],
        window_bytes=row[7],
        source=row[8],
    )
