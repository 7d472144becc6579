"""The counters of a driver directory as typed snapshots.

Reading needs no client and does not disturb the driver. Positions and limits are in bytes of the
stream, frame headers and padding included, and 64 bytes of each large message in shared memory.
Names that end in ``_bytes`` count these messages with all of their bytes. Times are milliseconds
since 1970. Any thread may call these functions::

    for state in rstream.metrics.publications("/dev/shm/rstream-me"):
        print(state.name, state.position, state.waits_for, state.slowest)
    for image in rstream.metrics.images("/dev/shm/rstream-me"):
        print(image.name, image.consumed)
    for one in rstream.metrics.subscriptions("/dev/shm/rstream-me"):
        print(one.name, "reads", one.images, "sessions")
    for loss in rstream.metrics.losses("/dev/shm/rstream-me"):
        print(loss.source, loss.bytes_lost)

Closer to the counters::

    published, read = rstream.metrics.sessions("/dev/shm/rstream-me")  # cheap, says less
    all_of_them = rstream.metrics.counters("/dev/shm/rstream-me")
    of_streams = rstream.metrics.stream_counters("/dev/shm/rstream-me")
    readers = rstream.metrics.slowest_readers("/dev/shm/rstream-me")
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from rstream import _core
from rstream._held_by import HeldBy
from rstream._holders import Process, clients_of, holders_of, with_process
from rstream._metrics_values import (
    Counter,
    ImageState,
    Loss,
    PathState,
    PublicationState,
    RateState,
    StreamCounter,
    SubscriptionState,
)
from rstream._neighbours import last_reader
from rstream._publication import wanted_elements
from rstream.errors import RStreamError

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
    "counters",
    "images",
    "losses",
    "publications",
    "sessions",
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
TYPE_JOB_HELD = 7315
TYPE_PATH_BANDWIDTH = 7316
TYPE_PATH_RTT = 7317
TYPE_PATH_LOSS = 7318
TYPE_PATH_UNDER_WAY = 7319
TYPE_WINDOW_BOUND = 7320
TYPE_KEY_REFUSED = 7321
TYPE_KEY = 7322
#: Half of the least burst of a rate in shared memory: four frames.
IDLE_BYTES = 2 * 1408
SHORT_WINDOW_BYTES = 64 * 1408
STREAM_TYPES = frozenset(
    {1, 2, 3, 4, 5, 9, 12, 13, 17, 19, 20, TYPE_SUBSCRIPTION, TYPE_JOB_HELD, TYPE_WINDOW_BOUND}
)


def losses(dir: str) -> list[Loss]:
    """The loss report of a driver directory, in the order in which images first lost something."""
    return [
        Loss(
            observations=one.observations,
            bytes_lost=one.bytes_lost,
            first_ms=one.first_ms,
            last_ms=one.last_ms,
            session_id=one.session_id,
            stream_id=one.stream_id,
            channel=one.channel,
            source=one.source,
        )
        for one in _core.read_losses(dir)
    ]


def counters(driver_dir: str) -> list[Counter]:
    """All allocated counters of the directory, also those of a dead driver or of Aeron's.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    return [
        Counter(
            id=one.id,
            type_id=one.type_id,
            value=one.value,
            registration_id=one.registration_id,
            owner_id=one.owner_id,
            reference_id=one.reference_id,
            label=one.label,
        )
        for one in _core.read_counters(driver_dir)
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
    return [reader for reader in holders_of(driver_dir) if not reader.is_report]


def publications(driver_dir: str) -> list[PublicationState]:
    """Every publication of the directory.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    found = counters(driver_dir)
    slowest: dict[int, SlowestReader] = {}
    followed: dict[int, SlowestReader] = {}
    for reader in holders_of(driver_dir):
        if reader.is_report:
            followed[reader.publication_id] = reader
            continue
        other = slowest.get(reader.publication_id)
        if other is None or reader.position < other.position:
            slowest[reader.publication_id] = reader
    clients = clients_of(driver_dir)

    def known(state: PublicationState, reader: SlowestReader | None) -> SlowestReader | None:
        if reader is None:
            return None
        return with_process(reader, driver_dir, state.stream_id, state.session_id)

    states = [
        dataclasses.replace(
            state,
            **_named(clients, state.client_id),
            slowest=_as_of_now(state, known(state, slowest.get(state.registration_id))),
            followed=known(state, followed.get(state.registration_id)),
            **_laws(found, state.registration_id),
            demand=wanted_elements(driver_dir, state.registration_id),
        )
        for state in _publications(_stream_counters(found))
    ]
    return [
        dataclasses.replace(
            state,
            **_segments(driver_dir, state) | _held_by(driver_dir, state) | _left(driver_dir, state),
        )
        for state in states
    ]


def _named(clients: dict[int, Process], client_id: int) -> dict[str, Any]:
    """Name and process of a client, as fields of a state."""
    process = clients.get(client_id, Process("", None))
    return {"client_name": process.name, "pid": process.pid}


def sessions(driver_dir: str) -> tuple[list[PublicationState], list[ImageState]]:
    """As :func:`publications` and :func:`images`, from one reading of the counters.

    It looks into no log, so publications lack ``slowest``, ``held_by``, ``is_ended``, ``rate``,
    ``path``, ``demand`` and ``segments``. Cost: about 20 µs for each session, where
    :func:`publications` takes 300.
    """
    found = stream_counters(driver_dir)
    return _publications(found), _images(found)


def _laws(found: list[Counter], registration_id: int) -> dict[str, Any]:
    """What the laws of its rate and of the path say of a publication, as fields of its state."""
    own = {
        counter.type_id: counter.value
        for counter in found
        if counter.registration_id == registration_id
    }
    return {"rate": _rate(own), "path": _path(own)}


def _path(own: dict[int, int]) -> PathState | None:
    if TYPE_PATH_BANDWIDTH not in own:
        return None
    return PathState(
        bandwidth_bytes_per_s=own[TYPE_PATH_BANDWIDTH] or None,
        least_rtt_ns=own.get(TYPE_PATH_RTT) or None,
        loss_ratio=own.get(TYPE_PATH_LOSS, 0) / 1e6,
        under_way_bytes=own.get(TYPE_PATH_UNDER_WAY, 0),
    )


def _rate(own: dict[int, int]) -> RateState | None:
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
    so the driver notes rate, budget, path and missing storage in the log's metadata.
    """
    try:
        cause = _core.read_held_by(driver_dir, state.registration_id)
    except RStreamError:  # the publication was closed a moment ago
        cause = _core.LimitCause((_core.HELD_BY_WINDOW, 0, 0))
    held_by = HeldBy.from_core(cause.held_by, state.demand)
    if cause.held_by == _core.HELD_BY_ENDED:
        return {"is_ended": True, "held_by": None}
    if held_by in (HeldBy.RATE, HeldBy.PATH) and _is_idle(state):
        return {}
    is_full = state.position >= state.limit or (
        held_by is HeldBy.WINDOW and _fills_short_window(state)
    )
    if held_by is HeldBy.WINDOW and is_full and (reader := state.slowest) is not None:
        held_by = HeldBy.PATH if reader.waits_for_path(state.sent) else held_by
    if held_by in (HeldBy.WINDOW, HeldBy.DEMAND, HeldBy.STORAGE) and not is_full:
        return {}
    return {
        "held_by": held_by,
        "storage_needed": cause.needed_bytes,
        "storage_usable": cause.usable_bytes,
    }


def _left(driver_dir: str, state: PublicationState) -> dict[str, Any]:
    """When, why and who left last from a publication without readers, as fields of its state."""
    if state.subscribers:
        return {}
    names = "left_ms", "left_why", "left_who"
    return dict(zip(names, last_reader(driver_dir, state.registration_id), strict=True))


def _fills_short_window(state: PublicationState) -> bool:
    """Whether the window is short, and at least half full.

    Before a reader of few items it is two of its takings (flow/reader_window.h): the publisher
    waits for most of the time, and has room for a moment after each taking.
    """
    if state.slowest is None:
        return False
    waiting, room = state.position - state.slowest.position, state.limit - state.position
    return waiting >= room and waiting + room < SHORT_WINDOW_BYTES


def _is_idle(state: PublicationState) -> bool:
    """Whether a publication under a rate has room, and all is sent or most of a burst is left.

    A rate leaves a burst of 10 ms to a publisher that sends less (flow/allowance.h).
    """
    if state.sender_position is not None:
        return state.sender_position >= state.position and state.position < state.limit
    burst = (0 if state.rate is None else state.rate.bytes_per_s) * 0.01
    return state.limit - state.position > max(burst / 2, IDLE_BYTES)


def _segments(driver_dir: str, state: PublicationState) -> dict[str, Any]:
    """The large messages in shared memory, as fields of its state; none: there were none."""
    if not state.is_ipc:
        return {}
    try:
        facts = _core.read_segments(driver_dir, state.registration_id)
    except RStreamError:
        return {}  # the publication was closed a moment ago
    found: dict[str, Any] = {
        "large_bytes": facts.length_bytes,
        "waiting_bytes": facts.waiting_bytes,
        "segments": tuple(sorted(facts.newest)),
    }
    if facts.waiting_bytes:
        found["held_by"] = HeldBy.from_core(_core.HELD_BY_WINDOW, state.demand)
    return found


def _as_of_now(state: PublicationState, reader: SlowestReader | None) -> SlowestReader | None:
    """A local reader with the position that the counters say now, if all readers are local."""
    if reader is None or not reader.is_local or state.consumed is None:
        return reader
    return dataclasses.replace(reader, position=max(reader.position, state.consumed))


def _publications(found: list[StreamCounter]) -> list[PublicationState]:
    by_id: dict[int, dict[int, StreamCounter]] = {}
    for counter in found:
        if counter.type_id in (1, 2, 9, 12, TYPE_JOB_HELD):
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
                job_held_ms=types[TYPE_JOB_HELD].value if TYPE_JOB_HELD in types else 0,
            )
        )
    return states


def images(driver_dir: str) -> list[ImageState]:
    """Every subscriber with the image that it reads; raises as :func:`publications`."""
    clients = clients_of(driver_dir)
    return [
        dataclasses.replace(state, **_named(clients, state.client_id))
        for state in _images(stream_counters(driver_dir))
    ]


def _images(found: list[StreamCounter]) -> list[ImageState]:
    received = {c.registration_id: c.value for c in found if c.type_id == TYPE_RECEIVER_POSITION}
    highest = {c.registration_id: c.value for c in found if c.type_id == TYPE_RECEIVER_HWM}
    wanted = {c.registration_id: c.value for c in found if c.type_id == TYPE_WINDOW_BOUND}
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
            wanted_window_bytes=wanted.get(c.registration_id, 0),
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
    clients = clients_of(driver_dir)
    return [
        SubscriptionState(
            **_named(clients, c.owner_id),
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
