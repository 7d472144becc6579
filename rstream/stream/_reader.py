"""The reader runtime: several transport subscriptions of one stream, one wait, objects out.

Data's way in one poll: transport batch → headers checked → payloads of data messages decoded at
once → objects. Control messages (complete, error) change what is known of their publisher and are
not handed out. An error never overtakes data: it is kept until a poll has nothing to return.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from rstream import _core
from rstream.abc import UNBOUNDED
from rstream.codecs import Codec, describe_codec
from rstream.driver import call_site
from rstream.errors import (
    ClientTimedOut,
    ClosedError,
    CodecError,
    ConcurrentUseError,
    DriverLost,
    NameMismatch,
    PublisherLost,
    RemoteError,
    RStreamError,
)
from rstream.stream import _session
from rstream.stream._events import (
    EVENTS_MAX,
    Available,
    Completed,
    Evicted,
    Gap,
    Lost,
    SessionChanged,
    StreamEvent,
    Unavailable,
)
from rstream.stream._eviction import slow_consumer
from rstream.stream._names import (
    FLAG_ENCRYPTED,
    KIND_COMPLETE,
    KIND_ERROR,
    KIND_PLAIN,
    header_of,
    known_name,
    uri_keys,
    with_endpoint,
)
from rstream.stream._peers import Peer, Peers
from rstream.stream._subscriber import WAIT_FOREVER_S, Subscriber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.policy import Evict

log = logging.getLogger("rstream")

T = TypeVar("T")
OnLost: TypeAlias = Literal["raise", "event"]

#: How often a wait looks whether it was closed.
WAIT_SLICE_S = 0.5
#: Most messages of one transport batch.
LIMIT_MAX = 65_536


class _Source:
    """One transport subscription and its publishers."""

    __slots__ = ("channel", "core", "held", "peers")

    def __init__(self, core: _core.Subscription, channel: str) -> None:
        self.core = core
        self.channel = channel
        self.peers = Peers()
        self.held: _core.Batch | None = None


class Reader(Subscriber[T], Generic[T]):
    """Reads one stream from one or more channels; made by :func:`rstream.stream.reader`.

    When the media driver dies, ``poll`` starts it again, joins, and reports per publisher a
    :class:`Gap` from the last position handed out. A UDP port that was chosen by the system is
    kept.
    """

    def __init__(
        self,
        link: _session.Link,
        *,
        name: str,
        channels: Sequence[str],
        stream_id: int,
        codec: Codec[T],
        prefetch: int,
        on_lost: OnLost,
        is_demanded: bool = False,
        hold: bool = False,
        evict: Evict | None = None,
    ) -> None:
        self.name: str = name
        self.stream_id: int = stream_id
        self.prefetch: int = prefetch
        self._link = link
        self._codec = codec
        self._decode_many = codec.decode_many
        self._expected = header_of(KIND_PLAIN, codec.codec_id, name)
        self._name_hash = _core.name_hash(name) if name else 0
        self._on_lost = on_lost
        self._is_demanded = is_demanded
        self._hold = hold
        self._evict = evict
        self._failure: Exception | None = None  # evicted: the stream was left for good
        self._events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self._errors: deque[Exception] = deque()
        self._lock = threading.Lock()  # held by the thread inside poll or wait
        self._messages = self._polls = self._rejoins = self._refused = 0
        self._evicted = self._skipped_bytes = 0
        self._completed_count = 0  # of joins before a rejoin
        self._next = 0
        self._made_at = call_site()
        self._sources: list[_Source] = []
        self._channels = list(channels)
        self._open_gaps: dict[int, int] = {}  # session → from where nothing was delivered
        self._join(channels)
        self._closed = False

    def _join(self, channels: Sequence[str]) -> None:
        client = self._link.client
        self._waiter = client.core.waiter()
        try:
            for channel in channels:
                core = client.add_subscription(
                    channel, self.stream_id, on_demand=self._is_demanded
                ).core
                self._sources.append(_Source(core, channel))
                self._waiter.attach(core)
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        self._waiter.close()
        for source in self._sources:
            source.held = None
            source.core.close()
        self._sources.clear()

    def __repr__(self) -> str:
        channels = ", ".join(source.channel for source in self._sources)
        return f"<rstream.stream.Reader {self.name or self.stream_id!r} on {channels or 'nothing'}>"

    # ---- facts ----

    @property
    def channel(self) -> str:
        """The channels, for people."""
        return ", ".join(self._channels)

    @property
    def subscriptions(self) -> list[_core.Subscription]:
        """The transport subscriptions, in the order of the channels."""
        return [source.core for source in self._sources]

    @property
    def is_connected(self) -> bool:
        return any(source.core.is_connected for source in self._sources)

    @property
    def is_ended(self) -> bool:
        if self._errors:
            return False
        completed = self._completed_count + sum(s.peers.completed_count for s in self._sources)
        return completed > 0 and all(source.peers.open_count == 0 for source in self._sources)

    def events(self) -> list[StreamEvent]:
        if self._lock.acquire(blocking=False):  # else the reading thread collects them
            try:
                self._collect_events()
            finally:
                self._lock.release()
        return self.taken_events()

    def taken_events(self) -> list[StreamEvent]:
        """The events that polls have come across since the last call; any thread."""
        events: list[StreamEvent] = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def statistics(self) -> dict[str, int | float | bool]:
        fills = [] if self._closed else [source.core.fill for source in self._sources]
        fill_bytes, window_bytes = max(fills, default=(0, 0))
        return {
            "messages": self._messages,
            "polls": self._polls,
            "refused": self._refused,
            "rejoins": self._rejoins,
            "fill_bytes": fill_bytes,
            "window_bytes": window_bytes,
            "publishers": sum(len(source.peers.by_session) for source in self._sources),
            "completed": self._completed_count
            + sum(source.peers.completed_count for source in self._sources),
            "is_connected": not self._closed and self.is_connected,
            "waiting": 0,
            "capacity": 0,
            "dropped": 0,
            "conflated": 0,
            "evicted": self._evicted,
            "skipped_bytes": self._skipped_bytes,
        }

    # ---- reading ----

    def _enter(self) -> None:
        if not self._lock.acquire(blocking=False):
            if self._closed:
                raise self._closed_error()
            raise ConcurrentUseError(f"{self!r}: another thread is reading; one thread at a time")
        if self._closed:
            self._lock.release()
            raise self._closed_error()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"stream {self.name or self.stream_id!r}: this reader is closed")

    def poll(self, limit: int | None = None) -> list[T]:
        self._enter()
        try:
            self._polls += 1
            if self._failure is not None:
                raise self._failure
            items = self._poll_sources(min(limit or self.prefetch, LIMIT_MAX))
        finally:
            self._lock.release()
        if items:
            self._messages += len(items)
        elif self._errors:
            raise self._errors.popleft()
        elif self._failure is not None:
            raise self._failure
        return items

    def _poll_sources(self, limit: int) -> list[T]:
        try:
            self._collect_events()
            sources = self._sources
            if self._failure is not None:
                return []
            if not sources:
                raise DriverLost("not joined")  # an earlier attempt to join again has failed
            if len(sources) == 1:
                return self._take(sources[0], limit)
            items: list[T] = []
            # The next poll begins with another channel, so that a busy one starves none.
            self._next = (self._next + 1) % len(sources)
            for source in sources[self._next :] + sources[: self._next]:
                items += self._take(source, limit - len(items))
                if len(items) >= limit:
                    break
            return items
        except ClientTimedOut as error:
            # Stopped for longer than the driver waits for any client: its policy says what to do.
            if self._evict is not None:
                self._on_timed_out(self._evict, error)
            else:
                self._rejoin(error)
            return []
        except DriverLost as error:
            self._rejoin(error)
            return []

    def _take(self, source: _Source, limit: int) -> list[T]:
        core = source.core
        batch = core.poll_demanded(limit) if self._is_demanded else core.poll(limit)
        if len(batch) == 0:
            return []
        if self._hold:
            source.held = batch  # the next poll of this source releases it
            return self._take_batch(source, batch, batch.to_list())
        with batch:
            payloads = batch.to_list()
            if self._evict is not None and not batch.is_intact:
                return []  # let go while it was read: the driver may have changed it
            return self._take_batch(source, batch, payloads)

    def _take_batch(self, source: _Source, batch: _core.Batch, payloads: list[bytes]) -> list[T]:
        peers = source.peers.by_session
        if len(peers) == 1 and batch.is_plain:
            # The common case: one publisher, data only. Its session need not be looked up.
            (peer,) = peers.values()
            if peer.is_rstream and batch.headers()[0] == self._expected:
                peer.position = batch.positions()[-1]
                return self._decode(source, batch, payloads, None)
        return self._take_mixed(source, batch, payloads)

    def _take_mixed(self, source: _Source, batch: _core.Batch, messages: list[bytes]) -> list[T]:
        payloads: list[bytes] = []
        places: list[tuple[int, int]] = []
        session_ids = batch.session_ids()
        positions = batch.positions()
        for index, header in enumerate(batch.headers()):
            session_id, position = session_ids[index], positions[index]
            peer = source.peers.get(session_id)
            peer.position = position
            if header == self._expected:
                peer.is_rstream = True
            elif not self._is_data(source, session_id, peer, header, messages[index]):
                continue
            payloads.append(messages[index])
            places.append((session_id, position))
        return self._decode(source, batch, payloads, places)

    def _is_data(
        self, source: _Source, session_id: int, peer: Peer, value: int, payload: bytes
    ) -> bool:
        """Whether a message whose header is not the usual one is to be handed out."""
        header = _core.decode_header(value)
        if header is None:
            return True  # a plain Aeron message
        peer.is_rstream = True
        kind, flags, codec_id, _, name_hash = header
        if self._name_hash and name_hash not in (0, self._name_hash):
            self._refuse(source, session_id, peer, self._name_error(source, session_id, name_hash))
            return False
        if kind == KIND_COMPLETE:
            source.peers.done(session_id)
            self._events.append(Completed(session_id=session_id, position=peer.position))
            return False
        if kind == KIND_ERROR:
            source.peers.done(session_id)
            self._errors.append(
                RemoteError(
                    f"{self._where(source, session_id)}: its publisher failed: "
                    f"{payload.decode(errors='replace')}",
                    channel=source.channel,
                    stream_id=self.stream_id,
                    session_id=session_id,
                    position=peer.position,
                )
            )
            return False
        text = self._unreadable(kind, flags, codec_id)
        if text:
            self._refuse(
                source,
                session_id,
                peer,
                CodecError(f"{self._where(source, session_id)}, position {peer.position}: {text}"),
            )
            return False
        return True

    def _unreadable(self, kind: int, flags: int, codec_id: int) -> str:
        if kind != KIND_PLAIN or flags & FLAG_ENCRYPTED:
            return (
                f"a message of kind {kind} with flags {flags}, which this release cannot read; "
                "the publisher runs a newer one"
            )
        if codec_id in (0, self._codec.codec_id):
            return ""
        return (
            f"written with codec {describe_codec(codec_id)}, this reader has "
            f"{describe_codec(self._codec.codec_id)}; use the same type or codec= at both ends"
        )

    def _refuse(self, source: _Source, session_id: int, peer: Peer, error: Exception) -> None:
        """Skip a message; say so once per publisher."""
        self._refused += 1
        if not peer.is_refused:
            peer.is_refused = True
            self._errors.append(error)

    def _name_error(self, source: _Source, session_id: int, name_hash: int) -> NameMismatch:
        other = known_name(self._link.directory, session_id, self.stream_id, name_hash)
        other_text = f"{other!r}" if other else "another name"
        return NameMismatch(
            f"{self._where(source, session_id)}: its messages are for {other_text} "
            f"(hash {name_hash:#06x}), this reader's name is {self.name!r} "
            f"(hash {self._name_hash:#06x})",
            hint="the two names meet on one stream id: use the same name, or another id",
            channel=source.channel,
            stream_id=self.stream_id,
            session_id=session_id,
        )

    def _decode(
        self,
        source: _Source,
        batch: _core.Batch,
        payloads: list[bytes],
        places: list[tuple[int, int]] | None,
    ) -> list[T]:
        if not payloads:
            return []
        try:
            return self._decode_many(payloads)
        except CodecError:
            if places is None:
                places = list(zip(batch.session_ids(), batch.positions(), strict=True))
            return self._decode_singly(source, payloads, places)

    def _decode_singly(
        self, source: _Source, payloads: list[bytes], places: list[tuple[int, int]]
    ) -> list[T]:
        """Hand out what can be decoded, keep an error for each that cannot."""
        items: list[T] = []
        for payload, (session_id, position) in zip(payloads, places, strict=True):
            try:
                items += self._decode_many([payload])
            except CodecError as error:
                self._refused += 1
                self._errors.append(
                    CodecError(f"{self._where(source, session_id)}, position {position}: {error}")
                )
        return items

    def _where(self, source: _Source, session_id: int) -> str:
        stream = (
            f"stream {self.name!r} ({self.stream_id})" if self.name else f"stream {self.stream_id}"
        )
        return f"{stream} on {source.channel}, session {session_id}"

    # ---- events ----

    def _collect_events(self) -> None:
        for source in list(self._sources):
            while (event := source.core.next_event()) is not None:
                if event[0] != "available" and not self._link.is_alive:
                    continue  # its publisher may live: _rejoin reports the gap
                kind, session_id, _, position, end_position, received_position, origin = event[:7]
                if event[7] and self._evict is not None:
                    self._on_evicted(source, self._evict, event[7])
                    break  # the source is closed
                if kind == "available":
                    self._on_available(source, session_id, position, origin)
                else:
                    self._on_unavailable(
                        source, session_id, position, end_position, received_position
                    )

    def _on_available(self, source: _Source, session_id: int, position: int, origin: str) -> None:
        peer = source.peers.get(session_id)
        if peer.is_done:  # the same session once more, as after a network break
            source.peers.by_session[session_id] = peer = Peer()
        peer.source = origin
        peer.position = max(peer.position, position)
        self._events.append(Available(session_id=session_id, position=position, source=origin))
        from_position = self._open_gaps.pop(session_id, position)
        if from_position < position:
            self._skipped_bytes += position - from_position
            self._events.append(
                Gap(
                    session_id=session_id,
                    from_position=from_position,
                    to_position=position,
                    reason="joined again, not delivered in between",
                )
            )

    def _on_unavailable(
        self,
        source: _Source,
        session_id: int,
        position: int,
        end_position: int | None,
        received_position: int,
    ) -> None:
        peer = source.peers.by_session.pop(session_id, None) or Peer()
        self._events.append(
            Unavailable(
                session_id=session_id,
                position=position,
                end_position=end_position,
                is_completed=peer.is_done,
                source=peer.source,
            )
        )
        if peer.is_done:
            return
        if end_position is None or position < max(end_position, received_position):
            known_end = received_position if end_position is None else end_position
            self._events.append(
                Gap(
                    session_id=session_id,
                    from_position=position,
                    to_position=max(known_end, position),
                    reason="the stream was cut off",
                )
            )
        if peer.is_rstream:
            self._on_lost_peer(source, session_id, position, peer)

    def _on_lost_peer(self, source: _Source, session_id: int, position: int, peer: Peer) -> None:
        text = (
            f"{self._where(source, session_id)} from {peer.source or 'unknown'}: "
            f"its publisher has gone without completing the stream; last position {position}"
        )
        log.warning("%s", text)
        self._events.append(Lost(session_id=session_id, position=position, source=peer.source))
        if self._on_lost == "raise":
            self._errors.append(
                PublisherLost(
                    text,
                    hint="it died, or was cut off from the driver or the network",
                    channel=source.channel,
                    stream_id=self.stream_id,
                    session_id=session_id,
                    position=position,
                )
            )

    # ---- eviction ----

    def _on_evicted(self, source: _Source, evict: Evict, since_ms: int) -> None:
        """The driver has let this consumer go, from all publishers of a source at once."""
        self._evicted += 1
        lost = {s: p.position for s, p in source.peers.by_session.items() if not p.is_done}
        for session_id, position in lost.items():
            self._events.append(
                Evicted(session_id=session_id, position=position, since_ms=since_ms)
            )
        session_id = max(lost, key=lambda session: lost[session], default=None)
        where = f"stream {self.name or self.stream_id!r} on {source.channel}"
        if session_id is not None:
            where = f"{self._where(source, session_id)}, position {lost[session_id]}"
        error = slow_consumer(where, evict, since_ms)
        log.warning("%s", error)
        if evict.rejoin:
            self._open_gaps |= lost
            self._join_source_again(source)
            return
        error.channel, error.stream_id, error.session_id = (
            source.channel,
            self.stream_id,
            session_id,
        )
        error.position = None if session_id is None else lost[session_id]
        self._fail(error)

    def _on_timed_out(self, evict: Evict, error: ClientTimedOut) -> None:
        self._evicted += 1
        if evict.rejoin:
            self._rejoin(error)
            return
        failure = slow_consumer(repr(self), evict, round(time.time() * 1000))
        failure.__cause__ = error
        failure.channel, failure.stream_id = self.channel, self.stream_id
        self._fail(failure)

    def _fail(self, error: Exception) -> None:
        """Leave every source, so that nobody is held or misled; the error is told at every poll."""
        self._failure = error
        for source in self._sources:
            self._close_source(source)
        self._sources.clear()

    def _close_source(self, source: _Source) -> None:
        self._completed_count += source.peers.completed_count
        self._waiter.detach(source.core)
        source.held = None
        source.core.close()

    def _join_source_again(self, source: _Source) -> None:
        """Subscribe anew: it begins at what comes now. The port of the one that is just closed may be
        taken for a moment.
        """
        channel = _kept_channel(source)
        index = self._sources.index(source)
        self._close_source(source)
        del self._sources[index]
        deadline_s = time.monotonic() + _session.REJOIN_TIMEOUT_S
        while True:
            try:
                core = self._link.client.add_subscription(
                    channel, self.stream_id, on_demand=self._is_demanded
                ).core
                break
            except DriverLost:
                raise
            except RStreamError:
                if self._closed or time.monotonic() >= deadline_s:
                    raise
                time.sleep(0.05)
        self._sources.insert(index, _Source(core, channel))
        self._waiter.attach(core)

    # ---- waiting ----

    def wait(self, timeout_s: float | None = None) -> bool:
        deadline_s = time.monotonic() + (WAIT_FOREVER_S if timeout_s is None else timeout_s)
        self._enter()
        try:
            while not self._closed and not self._errors and self._sources:
                remaining_s = deadline_s - time.monotonic()
                if self._waiter.wait(max(0.0, min(remaining_s, WAIT_SLICE_S))):
                    return True
                if remaining_s <= WAIT_SLICE_S and time.monotonic() >= deadline_s:
                    if timeout_s is not None:
                        return False
                    deadline_s += WAIT_FOREVER_S
        except DriverLost:
            pass  # the next poll joins again
        finally:
            self._lock.release()
        return True

    def wake(self) -> None:
        if not self._closed:
            self._waiter.wake()

    # ---- demand, for the reactive runtime ----

    def raise_demand(self, n: int) -> None:
        # A rejoin in another thread takes the sources away; the next poll raises the demand of the new.
        with suppress(IndexError, RStreamError):
            self._sources[0].core.request(n)

    def poll_demanded(self, demand: int) -> list[T]:
        # Control messages, which are taken but not handed out, cost no demand, and a rejoin loses
        # none: it is raised to what is wanted now.
        if self._sources:
            core = self._sources[0].core
            missing = min(demand, UNBOUNDED) - core.demand
            if missing > 0:
                core.request(missing)
        return self.poll()

    # ---- life ----

    def _rejoin(self, error: Exception) -> None:
        if not self._link.is_shared:
            raise error
        why = f"driver in {self._link.directory} lost"
        log.warning("stream %r: %s; joining again", self.name or self.stream_id, why)
        self._channels = [_kept_channel(source) for source in self._sources] or self._channels
        gaps = [gap for source in self._sources for gap in _gaps_of(source, why)]
        self._completed_count = (
            0
            if gaps
            else self._completed_count
            + sum(source.peers.completed_count for source in self._sources)
        )
        self._leave()
        for gap in gaps:
            log.warning(
                "stream %r: session %d: nothing was delivered after position %d",
                self.name or self.stream_id,
                gap.session_id,
                gap.from_position,
            )
        self._events.extend(gaps)
        self._open_gaps |= {gap.session_id: gap.from_position for gap in gaps}
        while len(self._open_gaps) > EVENTS_MAX:
            del self._open_gaps[next(iter(self._open_gaps))]
        self._join_again()
        self._rejoins += 1
        self._events.append(SessionChanged(old_session_id=0, new_session_id=0, reason=why))

    def _join_again(self) -> None:
        """Try until it works: the new driver may die as well, the port of one that has just died may
        be taken for a moment.
        """
        deadline_s = time.monotonic() + _session.REJOIN_TIMEOUT_S
        while True:
            self._link = _session.renew(self._link)
            try:
                return self._join(self._channels)
            except RStreamError:
                if self._closed or time.monotonic() >= deadline_s:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._waiter.wake()
        # A thread inside wait or poll leaves within WAIT_SLICE_S; only then may the handles go.
        if not self._lock.acquire(timeout=_session.REJOIN_TIMEOUT_S):
            log.error("%r: another thread does not leave poll; left open", self)
            return
        try:
            self._leave()
        finally:
            self._lock.release()
            _session.release(self._link)


def _kept_channel(source: _Source) -> str:
    """The channel to join again: with the port that the system had chosen, if it had."""
    endpoint = uri_keys(source.channel).get("endpoint", "")
    address = source.core.local_address
    if endpoint.endswith(":0") and address:
        return with_endpoint(source.channel, f"{endpoint[:-2]}:{address.rpartition(':')[2]}")
    return source.channel


def _gaps_of(source: _Source, why: str) -> list[Gap]:
    return [
        Gap(session_id=session_id, from_position=peer.position, to_position=None, reason=why)
        for session_id, peer in source.peers.by_session.items()
        if not peer.is_done
    ]
