"""The counters of a driver directory as typed snapshots.

Reading needs no client and does not disturb the driver. Positions and limits are in bytes of the
stream, frame headers and padding included. Times are milliseconds since 1970. Any thread may call
these functions::

    for state in rstream.metrics.publications("/dev/shm/rstream-me"):
        print(state.stream_id, state.position, state.held_by)
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from rstream import _core
from rstream._channel_uri import name_of
from rstream._facts import SlowestReader, slowest_reader_of
from rstream._held_by import HeldBy
from rstream._publication import wanted_elements
from rstream.errors import RStreamError

__all__ = (
    "Counter",
    "ImageState",
    "Loss",
    "PublicationState",
    "RateState",
    "StreamCounter",
    "SubscriptionState",
    "counters",
    "images",
    "losses",
    "publications",
    "slowest_readers",
    "stream_counters",
    "subscriptions",
)

_STREAM_LABEL = re.compile(
    r"^(?P<name>[^:]+): (?P<registration>-?\d+) (?P<session>-?\d+) (?P<stream>-?\d+) "
    r"(?P<channel>.*?)(?: @(?P<join>-?\d+))?$"
)

TYPE_SYSTEM = 0
TYPE_PUBLISHER_LIMIT = 1
TYPE_SENDER_POSITION = 2
TYPE_RECEIVER_HWM = 3
TYPE_SUBSCRIBER_POSITION = 4
TYPE_RECEIVER_POSITION = 5
TYPE_SENDER_LIMIT = 9
TYPE_CLIENT_HEARTBEAT = 11
TYPE_PUBLISHER_POSITION = 12
TYPE_RATE = 7305
TYPE_FILL_NAKS = 7306
TYPE_HEADROOM = 7307
TYPE_DESTINATION_FAILED = 7312
TYPE_SUBSCRIPTION = 7313
#: What the laws that listen begin with (transport_ext/flow/rate.h): no limit.
_RATE_MOST = 1_000_000_000_000
STREAM_TYPES = frozenset({1, 2, 3, 4, 5, 9, 12, 13, 17, 19, 20, TYPE_SUBSCRIPTION})


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
        bytes_per_s: the rate.
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
        held_by: what the publication waits for; None: it may send, or has ended.
        is_ended: its publisher has closed it, and a reader has not consumed everything yet.
        storage_needed, storage_usable: bytes that its next term needs, and that are usable in the
            directory; both 0 unless ``held_by`` is storage.
        rate: its rate; None: unlimited, or an Aeron driver.
        demand: messages that its readers want beyond what they have consumed (``request(n)``);
            None: no limit, or they do not tell.
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
    held_by: HeldBy | None = None
    is_ended: bool = False
    storage_needed: int = 0
    storage_usable: int = 0
    rate: RateState | None = None
    demand: int | None = None

    @property
    def fill(self) -> float:
        """How full the buffer of the slowest reader is, 0 to 1; 0 when no reader is known."""
        if self.slowest is None:
            return 0.0
        return self.slowest.fill(self.sent)

    @property
    def name(self) -> str | None:
        """The stream's name; None: it has only a stream id."""
        return name_of(self.channel)

    @property
    def waits_for(self) -> HeldBy | None:
        """:attr:`held_by`, or ``SUBSCRIBER`` without a reader; None: nothing, or it has ended."""
        if self.is_ended:
            return None
        is_alone = self.subscribers == 0 if self.is_ipc else not self.sender_limit
        return HeldBy.SUBSCRIBER if is_alone else self.held_by

    @property
    def sent(self) -> int:
        """Everything below has left the publisher: in shared memory :attr:`position`."""
        return self.position if self.sender_position is None else self.sender_position

    @property
    def queued_bytes(self) -> int | None:
        """Bytes that were sent and that the slowest reader has not consumed; None: no reader."""
        consumed = self.consumed if self.slowest is None else self.slowest.position
        return None if consumed is None else max(0, self.sent - consumed)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionState:
    """One subscription, whether a publisher is there or not.

    Attributes:
        registration_id: the driver's number.
        client_id: the client that subscribed.
        stream_id, channel: what it reads.
        since_ms: when it was added, milliseconds since 1970.
        images: sessions that it reads now; 0: it waits for a publisher.
    """

    registration_id: int
    client_id: int
    stream_id: int
    channel: str
    since_ms: int
    images: int

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
    """

    session_id: int
    stream_id: int
    channel: str
    client_id: int
    consumed: int
    received: int | None
    highest: int | None
    registration_id: int = 0

    @property
    def name(self) -> str | None:
        """The stream's name; None: it has only a stream id."""
        return name_of(self.channel)


def losses(dir: str) -> list[Loss]:
    """The loss report of a driver directory, in the order in which images first lost something."""
    names = [field.name for field in dataclasses.fields(Loss)]
    return [
        Loss(**dict(zip(names, row, strict=True)))  # pyright: ignore[reportArgumentType]
        for row in _core.read_losses(dir)
    ]


def counters(driver_dir: str) -> list[Counter]:
    """All allocated counters of the directory, also those of a dead driver or of Aeron's.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    return [
        Counter(
            id=row[0],
            type_id=row[1],
            value=row[2],
            registration_id=row[3],
            owner_id=row[4],
            reference_id=row[5],
            label=row[6],
        )
        for row in _core.read_counters(driver_dir)
    ]


def stream_counters(driver_dir: str) -> list[StreamCounter]:
    """The counters that belong to a stream."""
    return _stream_counters(counters(driver_dir))


def _stream_counters(all_of_them: list[Counter]) -> list[StreamCounter]:
    found: list[StreamCounter] = []
    for counter in all_of_them:
        match = _STREAM_LABEL.match(counter.label) if counter.type_id in STREAM_TYPES else None
        if match is None:
            continue
        join = match["join"]
        found.append(
            StreamCounter(
                name=match["name"],
                type_id=counter.type_id,
                value=counter.value,
                registration_id=int(match["registration"]),
                owner_id=counter.owner_id,
                reference_id=counter.reference_id,
                session_id=int(match["session"]),
                stream_id=int(match["stream"]),
                channel=match["channel"],
                join_position=int(join) if join is not None else None,
            )
        )
    return found


def slowest_readers(driver_dir: str) -> list[SlowestReader]:
    """For every publication the receiver and the local reader that have consumed least.

    Either may be missing. Aeron's drivers tell of neither.
    """
    return [slowest_reader_of(row) for row in _core.read_holders(driver_dir)]


def publications(driver_dir: str) -> list[PublicationState]:
    """Every publication of the directory.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    found = counters(driver_dir)
    slowest: dict[int, SlowestReader] = {}
    for reader in slowest_readers(driver_dir):
        other = slowest.get(reader.publication_id)
        if other is None or reader.position < other.position:
            slowest[reader.publication_id] = reader
    states = [
        dataclasses.replace(
            state,
            slowest=_as_of_now(state, slowest.get(state.registration_id)),
            rate=_rate(found, state.registration_id),
            demand=wanted_elements(driver_dir, state.registration_id),
        )
        for state in _publications(_stream_counters(found))
    ]
    return [dataclasses.replace(state, **_held_by(driver_dir, state)) for state in states]


def _rate(found: list[Counter], registration_id: int) -> RateState | None:
    own = {
        counter.type_id: counter.value
        for counter in found
        if counter.registration_id == registration_id
    }
    if TYPE_RATE not in own:
        return None
    thousandths = own.get(TYPE_HEADROOM, 0)
    return RateState(
        bytes_per_s=own[TYPE_RATE],
        fill_naks=own.get(TYPE_FILL_NAKS, 0),
        headroom=thousandths / 1000 if thousandths > 0 else None,
    )


def _held_by(driver_dir: str, state: PublicationState) -> dict[str, Any]:
    """What holds a publication back, as fields of its state; none: nothing does.

    Only a full window shows in the counters. A rate leaves the limit a little above the position,
    so the driver notes rate, budget and missing storage in the log's metadata.
    """
    try:
        number, needed, usable = _core.read_held_by(driver_dir, state.registration_id)
    except RStreamError:
        number = needed = usable = 0  # the publication was closed a moment ago
    held_by = HeldBy.from_core(number, state.demand)
    if number == _core.HELD_BY_ENDED:
        return {"is_ended": True}
    if held_by in (HeldBy.WINDOW, HeldBy.DEMAND, HeldBy.STORAGE) and state.position < state.limit:
        return {}
    return {"held_by": held_by, "storage_needed": needed, "storage_usable": usable}


def _as_of_now(state: PublicationState, reader: SlowestReader | None) -> SlowestReader | None:
    """A local reader with the position that the counters say now, if all readers are local."""
    if reader is None or not reader.is_local or state.consumed is None:
        return reader
    return dataclasses.replace(reader, position=max(reader.position, state.consumed))


def _publications(found: list[StreamCounter]) -> list[PublicationState]:
    by_id: dict[int, dict[int, StreamCounter]] = {}
    for counter in found:
        if counter.type_id in (1, 2, 9, 12):
            by_id.setdefault(counter.registration_id, {})[counter.type_id] = counter
    states: list[PublicationState] = []
    for registration_id, types in by_id.items():
        position = types.get(TYPE_PUBLISHER_POSITION)
        limit = types.get(TYPE_PUBLISHER_LIMIT)
        if position is None or limit is None:
            continue
        readers = [
            counter.value
            for counter in found
            if counter.type_id == TYPE_SUBSCRIBER_POSITION
            and counter.reference_id == registration_id
        ]
        sender_position, sender_limit = (
            types.get(TYPE_SENDER_POSITION),
            types.get(TYPE_SENDER_LIMIT),
        )
        states.append(
            PublicationState(
                registration_id=registration_id,
                client_id=position.owner_id,
                session_id=position.session_id,
                stream_id=position.stream_id,
                channel=position.channel,
                is_ipc=position.channel.startswith("aeron:ipc"),
                position=position.value,
                limit=limit.value,
                sender_position=sender_position.value if sender_position else None,
                sender_limit=sender_limit.value if sender_limit else None,
                consumed=min(readers, default=None),
                subscribers=len(readers),
            )
        )
    return states


def images(driver_dir: str) -> list[ImageState]:
    """Every subscriber with the image that it reads; raises as :func:`publications`."""
    return _images(stream_counters(driver_dir))


def _images(found: list[StreamCounter]) -> list[ImageState]:
    received = {c.registration_id: c.value for c in found if c.type_id == TYPE_RECEIVER_POSITION}
    highest = {c.registration_id: c.value for c in found if c.type_id == TYPE_RECEIVER_HWM}
    return [
        ImageState(
            session_id=c.session_id,
            stream_id=c.stream_id,
            channel=c.channel,
            client_id=c.owner_id,
            consumed=c.value,
            received=received.get(c.reference_id),
            highest=highest.get(c.reference_id),
            registration_id=c.registration_id,
        )
        for c in found
        if c.type_id == TYPE_SUBSCRIBER_POSITION
    ]


def subscriptions(driver_dir: str) -> list[SubscriptionState]:
    """Every subscription, also without a publisher; raises as :func:`publications`.

    Aeron's drivers tell only of those that have one, in :func:`images`.
    """
    found = stream_counters(driver_dir)
    readers = [c.registration_id for c in found if c.type_id == TYPE_SUBSCRIBER_POSITION]
    return [
        SubscriptionState(
            registration_id=c.registration_id,
            client_id=c.owner_id,
            stream_id=c.stream_id,
            channel=c.channel,
            since_ms=c.value,
            images=readers.count(c.registration_id),
        )
        for c in found
        if c.type_id == TYPE_SUBSCRIPTION
    ]
