"""The values of :mod:`rstream.metrics`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from rstream._channel_uri import name_of
from rstream._facts import segment_fill
from rstream._held_by import HeldBy
from rstream._process_text import process_text

if TYPE_CHECKING:
    from rstream._facts import SlowestReader

__all__ = (
    "Counter",
    "ImageState",
    "Loss",
    "PathState",
    "PublicationState",
    "RateState",
    "StreamCounter",
    "SubscriptionState",
)

#: What the laws that listen begin with (transport_ext/flow/rate.h): no limit.
_RATE_MOST: Final = 1_000_000_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One counter as it was read.

    Attributes:
        id: its place in the directory.
        type_id: what it counts; applications use 1000 and above.
        value: 64 bits with sign.
        registration_id: the driver's number of the publication, subscription or image it counts
            for.
        owner_id: the client that owns it; -1: no client.
        reference_id: the publication or image that it refers to; 0: none.
        label: text for people.
    """

    id: int
    type_id: int
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    label: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The loss of one image. Each byte counts once, however often it was requested again.

    Attributes:
        observations: gaps that were seen.
        bytes_lost: bytes in them.
        first_ms, last_ms: when the first and the last gap was seen, milliseconds since 1970.
        session_id, stream_id, channel: the publisher's session.
        source: ``"ip:port"`` of the sender.
    """

    observations: int
    bytes_lost: int
    first_ms: int
    last_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StreamCounter:
    """A counter of one stream, with the parts of its label.

    Attributes:
        name: first word of the label, such as ``"pub-pos (exclusive)"`` or ``"rcv-hwm"``.
        session_id, stream_id, channel: the stream's session.
        join_position: where a subscriber began to read; None: the counter does not say.

    The other attributes are those of :class:`Counter`.
    """

    name: str
    type_id: int
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    session_id: int
    stream_id: int
    channel: str
    join_position: int | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RateState:
    """The current rate of a publication.

    Attributes:
        bytes_per_s: the rate. It does not limit large messages in shared memory.
        fill_naks: reports of a filling buffer that the sender accepted since the publication began.
        headroom: how much larger the receivers' buffer is than all that still arrives after a
            reader stops. From about 1.1 on a reader that stops loses no datagrams. None: not
            known, or the rate is not :class:`rstream.rate.Adaptive`.
    """

    bytes_per_s: int
    fill_naks: int
    headroom: float | None

    @property
    def limit_bytes_per_s(self) -> int | None:
        """The rate; None: the law has had no reason to limit yet."""
        return self.bytes_per_s if self.bytes_per_s < _RATE_MOST else None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PathState:
    """What a publication that follows the path knows of it.

    Attributes:
        bandwidth_bytes_per_s: how fast data arrived lately; None: not known yet, or its receiver
            does not tell what arrives.
        least_rtt_ns: the least round trip of the last 10 to 20 s; None: likewise.
        loss_ratio: which share of about the last 1000 datagrams was lost. They are sent again.
        under_way_bytes: sent, and neither arrived nor known to be lost, when the receiver told last
            what has arrived.
    """

    bandwidth_bytes_per_s: int | None
    least_rtt_ns: int | None
    loss_ratio: float
    under_way_bytes: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublicationState:
    """A publication as the driver sees it.

    Attributes:
        registration_id: the driver's number of the publication.
        client_id: the client that made it.
        session_id, stream_id, channel: the session that it sends.
        is_ipc: it sends through shared memory.
        position: everything below was offered.
        limit: up to here it may be offered now.
        sender_position: UDP: everything below was sent out.
        sender_limit: UDP: up to here the receivers let the sender send; 0: none has answered.
        consumed: least position of the subscribers in shared memory; None: none, or UDP.
        subscribers: subscribers in shared memory.
        slowest: the reader that has consumed least; None: no reader, or an Aeron driver.
        followed: the reader whose report its rate follows; None: its rate is its own.
        client_name, pid: the name and the process of that client; empty and None: not known.
        held_by: what the publication waits for; None: it may send, or has ended.
        is_ended: its publisher has closed it, and a reader has not consumed everything yet.
        left_ms, left_why, left_who: while it has no reader: when the last one left (ms since 1970),
            the error with which it left, if it said one, and its program and pid, or ``ip:port``;
            0 and empty: none has left, or it is not known.
        storage_needed, storage_usable: bytes that its next term needs, and that are usable in the
            directory (-1: the driver could not open the log); both 0 unless ``held_by`` is storage.
        rate: its rate; None: unlimited, or an Aeron driver.
        path: what it knows of the path; None: it does not follow it.
        demand: messages that its readers want beyond what they have consumed (``request(n)``);
            None: no limit, or they do not tell.
        large_bytes: bytes of all large messages that were sent in shared memory. Positions count
            64 bytes of each.
        waiting_bytes: bytes of one that waits until readers have consumed earlier ones; 0: none.
        segments: of the newest of them, in order: the position behind it, and the bytes of all
            that were sent before it.
        job_held_ms: of shared work: since when its reader has had the oldest job that it has not
            acknowledged (ms since 1970); 0: for less than a second, or it has none.
    """

    registration_id: int
    client_id: int
    session_id: int
    stream_id: int
    channel: str
    is_ipc: bool
    position: int
    limit: int
    sender_position: int | None
    sender_limit: int | None
    consumed: int | None
    subscribers: int
    slowest: SlowestReader | None = None
    followed: SlowestReader | None = None
    client_name: str = ""
    pid: int | None = None
    held_by: HeldBy | None = None
    is_ended: bool = False
    left_ms: int = 0
    left_why: str = ""
    left_who: str = ""
    storage_needed: int = 0
    storage_usable: int = 0
    rate: RateState | None = None
    path: PathState | None = None
    demand: int | None = None
    large_bytes: int = 0
    waiting_bytes: int = 0
    segments: tuple[tuple[int, int], ...] = ()
    job_held_ms: int = 0

    @property
    def fill(self) -> float:
        """How full the buffer of the slowest reader is, 0 to 1; 0 when no reader is known.

        Of a reader in shared memory also how much it has not consumed of the large messages that
        its publisher may have there: 32, and 260 MiB.
        """
        position = self._consumed_position
        if position is None:
            return 0.0
        unread = sum(end > position for end, _ in self.segments)
        unread_bytes = self.large_bytes - self._large_bytes_below(position)
        log_fill = 0.0 if self.slowest is None else self.slowest.fill(self.sent)
        return max(log_fill, segment_fill(unread_bytes, unread))

    @property
    def _consumed_position(self) -> int | None:
        """Up to where the slowest reader has consumed; None: no reader."""
        return self.consumed if self.slowest is None else self.slowest.position

    @property
    def name(self) -> str | None:
        """The stream's name; None: it has only a stream id."""
        return name_of(self.channel)

    @property
    def waits_for(self) -> HeldBy | None:
        """:attr:`held_by`, or ``SUBSCRIBER`` without a reader; None: nothing, or it has ended."""
        if self.is_ended:
            return None
        return HeldBy.SUBSCRIBER if self.is_alone else self.held_by

    @property
    def is_alone(self) -> bool:
        """Whether it has no reader: none has come yet, or the last one has left."""
        is_first_awaited = self.subscribers == 0 if self.is_ipc else not self.sender_limit
        return is_first_awaited or self.left_ms > 0

    @property
    def holder(self) -> SlowestReader | None:
        """The reader for which the publication waits; None: for none, or it is not known.

        Under a law of rate that follows reports it is the reader that asks for the least.
        """
        match self.waits_for:
            case HeldBy.WINDOW | HeldBy.DEMAND | HeldBy.BUDGET | HeldBy.PATH:
                return self.slowest
            case HeldBy.RATE:
                return self.followed
            case _:
                return None

    @property
    def process(self) -> str:
        """The publisher's program and pid, for people; empty: not known."""
        return process_text(self.client_name, self.pid)

    @property
    def sent(self) -> int:
        """Everything below has left the publisher: in shared memory all that was offered."""
        return self._offered if self.sender_position is None else self.sender_position

    @property
    def _offered(self) -> int:
        """As :attr:`position`, which the driver brings up to date later than the publisher what it
        says of its large messages.
        """
        return max(self.position, self.segments[-1][0] if self.segments else 0)

    @property
    def offered_bytes(self) -> int:
        """As :attr:`position`, with the bytes of large messages in shared memory."""
        return self._offered + self.large_bytes

    def _large_bytes_below(self, position: int) -> int:
        return next((before for end, before in self.segments if end > position), self.large_bytes)

    def bytes_below(self, position: int) -> int:
        """The bytes of the stream below a position, with those of large messages in shared memory.

        Exact where some reader has not consumed the stream beyond it.
        """
        return position + self._large_bytes_below(position)

    @property
    def sent_bytes(self) -> int:
        """As :attr:`sent`, with the bytes of large messages in shared memory."""
        return self.sent + self.large_bytes

    @property
    def consumed_bytes(self) -> int | None:
        """The bytes that the slowest reader has consumed, counted alike; None: no reader."""
        position = self._consumed_position
        return None if position is None else min(self.bytes_below(position), self.sent_bytes)

    @property
    def queued_bytes(self) -> int | None:
        """Bytes that were sent and that the slowest reader has not consumed, counted alike; None:
        no reader.
        """
        consumed = self.consumed_bytes
        return None if consumed is None else self.sent_bytes - consumed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionState:
    """One subscription, whether a publisher is there or not.

    Attributes:
        registration_id: the driver's number.
        client_id: the client that subscribed.
        stream_id, channel: what it reads.
        since_ms: when it was added, milliseconds since 1970.
        images: sessions that it reads now; 0: it waits for a publisher.
        client_name, pid: the name and the process of that client; empty and None: not known.
    """

    registration_id: int
    client_id: int
    stream_id: int
    channel: str
    since_ms: int
    images: int
    client_name: str = ""
    pid: int | None = None

    @property
    def process(self) -> str:
        """The reader's program and pid, for people; empty: not known."""
        return process_text(self.client_name, self.pid)

    @property
    def name(self) -> str | None:
        """The stream's name; None: it has only a stream id."""
        return name_of(self.channel)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageState:
    """One subscriber of one image: how much was received, and how much of it was consumed.

    Attributes:
        session_id, stream_id, channel: the session that it reads.
        client_id: the client that subscribed.
        consumed: everything below was consumed.
        received: everything below was received; None: shared memory, where the publication's
            position says so.
        highest: highest position that was received; above ``received`` when there is a gap.
        registration_id: the driver's number of the subscription.
        client_name, pid: the name and the process of that client; empty and None: not known.
        wanted_window_bytes: the window that the subscription wants, where the socket's receive
            buffer bounds it; 0: it has what it wants.
    """

    session_id: int
    stream_id: int
    channel: str
    client_id: int
    consumed: int
    received: int | None
    highest: int | None
    registration_id: int = 0
    client_name: str = ""
    pid: int | None = None
    wanted_window_bytes: int = 0

    @property
    def process(self) -> str:
        """The reader's program and pid, for people; empty: not known."""
        return process_text(self.client_name, self.pid)

    @property
    def name(self) -> str | None:
        """The stream's name; None: it has only a stream id."""
        return name_of(self.channel)
