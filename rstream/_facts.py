"""Images, receivers, counters and channels as values that clients return."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from rstream._process_text import process_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rstream import _core

__all__ = (
    "COPIED_MAX",
    "ChannelStatus",
    "CounterEvent",
    "CounterReading",
    "Fill",
    "Image",
    "ImageEvent",
    "ReceiverError",
    "SlowestReader",
    "fullest",
    "segment_fill",
)

#: What a publisher may have in shared segments that a reader has not consumed: bytes, messages.
SEGMENT_BYTES_MAX: Final = 260 << 20
SEGMENTS_MAX: Final = 32
#: Most bytes that one transport batch copies, unless its first message has more: memory for more
#: would be fresh each time, and its pages cost more than the copies.
COPIED_MAX: Final = 1 << 20


class Fill(NamedTuple):
    """What waits for a reader.

    Attributes:
        fill_bytes: received and not consumed. A message in a shared segment counts with its bytes.
        window_bytes: how much of it the log may hold. Segments hold 260 MiB beside it.
        ratio: how full the log is, or the segments if they are fuller: 0 to 1.
    """

    fill_bytes: int
    window_bytes: int
    ratio: float


def segment_fill(length_bytes: int, messages: int) -> float:
    """How much is used of what a publisher may have in shared segments, 0 to 1."""
    return min(1.0, max(length_bytes / SEGMENT_BYTES_MAX, messages / SEGMENTS_MAX))


def fullest(subscriptions: Iterable[_core.Subscription]) -> Fill:
    """What waits in the fullest of these subscriptions; all 0 without any."""
    return max(map(_fill_of, subscriptions), key=lambda fill: fill.ratio, default=Fill(0, 0, 0.0))


def _fill_of(core: _core.Subscription) -> Fill:
    log_bytes, window_bytes = core.fill
    segments = core.segments
    log_ratio = min(1.0, log_bytes / window_bytes) if window_bytes else 0.0
    ratio = max(log_ratio, segment_fill(segments.unread_bytes, segments.unread_messages))
    return Fill(log_bytes + segments.unread_bytes, window_bytes, ratio)


class ChannelStatus(enum.IntEnum):
    """State of a channel's endpoint; the driver keeps it in a counter."""

    ERRORED = -1
    INITIALISING = 0
    ACTIVE = 1
    CLOSING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEvent:
    """A subscription began or ceased to receive a publisher's session.

    Attributes:
        kind: ``"available"`` or ``"unavailable"``; the latter comes after the last message.
            ``"gap"``: an unreliable stream has lost messages. ``"skipped"``: a message that came in
            parts is not handed out.
        session_id: the publisher's session.
        correlation_id: the driver's number of the image.
        position: available: reading starts here; unavailable: everything below was consumed; gap:
            the messages from here on are lost.
        end_position: unavailable: where the stream ended in order; None: it did not. gap: where
            the next message begins.
        received_position: unavailable: everything below was received. gap: bytes lost in it; all,
            unless more than 256 gaps had to wait for this call: then they are told as one.
        source: ``"ip:port"`` of the sender, or ``"aeron:ipc"``.
        evicted_ms: unavailable: when the driver evicted this reader, because it held the stream
            back and stood still for its ``rs-evict``; milliseconds since 1970. 0: not evicted.
        goes_on_at: unavailable: where the stream goes on in an image that follows, because its
            group has left this reader behind: what lies between is lost. 0: not left behind.
        message_length: skipped: bytes of the message; 0: not known.
        skip_reason: skipped: number of the reason, as ``rst_skip_reason_t`` in ``rstream.h``.
        segment: skipped: number of the shared segment in which the message lies; -1: in none.
    """

    kind: Literal["available", "unavailable", "gap", "skipped"]
    session_id: int
    correlation_id: int
    position: int
    end_position: int | None
    received_position: int
    source: str
    evicted_ms: int = 0
    goes_on_at: int = 0
    message_length: int = 0
    skip_reason: int = 0
    segment: int = -1

    @property
    def is_available(self) -> bool:
        """Whether the kind is ``"available"``."""
        return self.kind == "available"

    @property
    def ended_in_order(self) -> bool:
        """Whether the publisher ended the stream and all of it was consumed."""
        return self.end_position is not None and self.position >= self.end_position


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One publisher's session as a subscription receives it; a snapshot.

    Attributes:
        correlation_id: the driver's number of the image.
        session_id: the publisher's session.
        initial_term_id: term id at position 0.
        term_length: bytes of a term.
        mtu: largest frame in bytes.
        active_transports: number of paths on which frames arrived lately (0 for shared memory).
        join_position: where reading began, in bytes of the stream.
        position: everything below was consumed.
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
    """An error that a receiver reported to a publication.

    Attributes:
        code: Aeron's error code; 13: it rejected the publication's image.
        session_id: the publisher's session.
        receiver_id: 64 bits that tell receivers apart.
        group_tag: the receiver's ``gtag``, or None.
        destination_id: the destination over which the error arrived, or None.
        source: ``"ip:port"`` of the receiver; empty for one in the same driver.
        text: the receiver's reason.
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
    """A counter of the driver directory; a snapshot.

    Attributes:
        counter_id: its place in the directory.
        type_id: what it counts; applications use 1000 and above.
        value: 64 bits with sign.
        registration_id: the driver's number of the publication or subscription it belongs to.
        owner_id: the client that owns it; -1: no client.
        reference_id: the image or publication that it refers to; 0: none.
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
    """A counter of some client was added or removed.

    Attributes:
        is_available: True: added; False: removed.
        counter_id: its place in the directory.
        registration_id: the driver's number of the counter.
    """

    is_available: bool
    counter_id: int
    registration_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestReader:
    """A reader that may hold a publication back, with the process behind it.

    It is the one that has consumed least, or the one whose report the publication's rate follows.

    Attributes:
        publication_id: the driver's number of the publication.
        is_local: True: a subscriber in shared memory or a spy; False: a receiver on the network.
        reader_id: receiver id; local: the driver's number of the subscription.
        client_id: the client that subscribed; None: a receiver whose client is not known here.
        pid: its process; None: not known.
        source: ``"ip:port"`` of a receiver; local: empty.
        since_ms: since when it is the slowest, milliseconds since 1970 (local: to the second).
        position: everything below was consumed, in bytes of the stream; 0 of a report.
        window_bytes: how far the publisher may be ahead of it; 0 of a report.
        client_name: its client's name, by default program and pid; empty: not known.
        host: the host of its process; empty: not known.
        received_position: of a receiver: everything below has arrived in order, and what lies
            behind is on the way, or lost and to be sent again; None: not known.
        is_report: the publication's rate follows it.
        drain_bytes_per_s: of a report: what it takes.
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
    client_name: str = ""
    host: str = ""
    received_position: int | None = None
    is_report: bool = False
    drain_bytes_per_s: int | None = None

    def fill(self, position: int) -> float:
        """How full its buffer is, 0 to 1, when the stream was sent up to ``position``."""
        waiting = max(0, position - self.position)
        return min(1.0, waiting / self.window_bytes) if self.window_bytes > 0 else 0.0

    def waits_for_path(self, position: int) -> bool:
        """Whether most of what was sent up to ``position`` has not arrived: it has read the rest.

        Then the path holds the stream, and not this reader.
        """
        if self.received_position is None or self.is_report:
            return False
        waiting = max(0, position - self.position)
        return 2 * max(0, self.received_position - self.position) < waiting

    @property
    def process(self) -> str:
        """Program, pid and host, as ``"prices.py, pid 4711 on ada"``; empty: not known."""
        return process_text(self.client_name, self.pid, self.host)

    @property
    def name(self) -> str:
        """The process, and what kind of reader it is and where, for people."""
        kind = f"subscription {self.reader_id} of client {self.client_id}"
        if not self.is_local:
            place = self.source or "?"
            kind = f"receiver {self.reader_id & 0xFFFF_FFFF_FFFF_FFFF:#x} at {place}"
        return f"{self.process} ({kind})" if self.process else kind
