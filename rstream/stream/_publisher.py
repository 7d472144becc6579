"""The sending face of a stream."""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from typing_extensions import Buffer

from rstream import _core
from rstream._facts import slowest_reader_of
from rstream.driver import call_site
from rstream.errors import (
    BackPressured,
    ClosedError,
    DriverError,
    DriverLost,
    MaxPositionExceeded,
    MessageTooLarge,
    NotConnected,
    RStreamError,
)
from rstream.flow.pacing import TokenBucket, bucket_of
from rstream.stream import _session
from rstream.stream._demand import ReadersDemand
from rstream.stream._events import (
    EVENTS_MAX,
    Connected,
    Disconnected,
    Gap,
    SessionChanged,
    StreamEvent,
)
from rstream.stream._names import (
    KIND_COMPLETE,
    KIND_ERROR,
    KIND_PLAIN,
    header_of,
    uri_keys,
    with_rate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from rstream._facts import SlowestReader
    from rstream.codecs import Codec, Encoded
    from rstream.rate import RateLimit

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Messages that send_many encodes and offers at once.
CHUNK = 256
#: When send says that it waits for a subscriber.
NOTICE_AFTER_S = 2.0
#: How often a wait looks at the state of the client.
WAIT_SLICE_S = 0.5
#: After how many messages a publisher looks again how far the readers are.
CONSUMED_EVERY = 64
#: How long a change of rate waits for the driver.
SET_RATE_TIMEOUT_S = 10.0
ERROR_TEXT_BYTES_MAX = 4096


class Publisher(Generic[T]):
    """Sends objects into a stream; made by :func:`rstream.publisher`.

    Thread rule: one thread at a time. Each publisher is a session of its own, so several of one
    name may live in one process or in many. When the media driver dies, the next call starts it
    again, joins with a new session, and reports what was not known to be consumed as a
    :class:`Gap` in :meth:`events`; so it does when its last reader goes.
    """

    def __init__(
        self,
        link: _session.Link,
        *,
        name: str,
        channel: str,
        stream_id: int,
        codec: Codec[T],
        connect_timeout_s: float,
        linger_s: float,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._closed = True  # until everything is there, for __del__
        self.name: str = name
        self.channel: str = channel
        self.stream_id: int = stream_id
        self.connect_timeout_s: float = connect_timeout_s
        self.linger_s: float = linger_s
        self._link = link
        self._codec = codec
        self._encode = codec.encode
        self._header = header_of(KIND_PLAIN, codec.codec_id, name)
        self._sleep = sleep
        self._now_ns = now_ns
        self._bucket: TokenBucket | None = None
        self._events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self._sent = self._waits = self._rejoins = 0
        self._waited_ns = 0
        self._receiver_error = ""
        self._reached = self._consumed = self._look_again = 0
        self._was_connected = False
        self._made_at = call_site()
        self._join()
        self._closed = False

    def _join(self) -> None:
        added = self._link.client.add_publication(self.channel, self.stream_id, exclusive=True)
        self._core: _core.Publication = added.core
        self._offer_one = self._core.offer
        if self._link.client.is_aeron_driver:
            self._bucket = self._bucket_for(self.channel)

    def __repr__(self) -> str:
        return f"<rstream.Publisher {self.name or self.stream_id!r} on {self.channel}>"

    # ---- facts ----

    @property
    def session_id(self) -> int:
        """This publisher among those of the stream; another one after a rejoin."""
        return self._core.session_id

    @property
    def position(self) -> int:
        """Bytes sent, frames and padding included."""
        return self._core.position

    @property
    def max_message_length(self) -> int:
        """Longest encoded object, in bytes."""
        return self._core.max_message_length

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber is there."""
        return not self._closed and self._core.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    @property
    def is_lost(self) -> bool:
        """Whether its driver was lost and it cannot join again: the client is the caller's."""
        return not self._link.is_alive and not self._link.is_shared

    @property
    def is_rate_limited(self) -> bool:
        """Whether its own rate holds it back, and not what its readers have room for."""
        if self._bucket is not None and self._bucket.delay_ns(self._now_ns()) > 0:
            return True
        return not self._closed and self._core.held_by == _core.HELD_BY_RATE

    def set_rate(self, rate: RateLimit, *, timeout_s: float = SET_RATE_TIMEOUT_S) -> None:
        """Another rate from now on, such as ``rate.Fixed("50MB/s")``.

        Args:
            rate: the law, which begins anew; also for what comes after a driver was lost.
            timeout_s: how long to wait for the driver.
        Raises:
            DriverError: it refused, or did not answer. ClosedError: closed here.
            NotSupported: an Aeron driver, and the law is neither fixed nor unlimited.
        """
        if self._closed:
            raise ClosedError(f"{self._where()}: this publisher is closed", channel=self.channel)
        channel = with_rate(self.channel, rate)
        if self._link.client.is_aeron_driver:
            self._bucket = self._bucket_for(channel)
        else:
            self._core.set_rate(rate.to_text(), timeout_s)
        self.channel = channel

    def demand(self) -> ReadersDemand | None:
        """What its readers ask for by request(n) behind what they have consumed.

        None: it is closed, or without its driver. Readers that take what comes want ``UNBOUNDED``; groups and
        raw Aeron peers do not say.
        """
        told = None if self._closed else self._core.demand
        return None if told is None else ReadersDemand(*told)

    def make_waiter(self) -> _core.Waiter:
        """A waiter that wakes when its readers ask for more, or come or go; for the session of now."""
        waiter = self._link.client.core.waiter()
        waiter.attach_demand(self._core)
        return waiter

    def revive(self) -> None:
        """Join again if the driver was lost, so that a publisher with nothing to send learns it too."""
        if not self._closed:
            if self._link.is_alive:
                self._look()
            elif self._link.is_shared:
                self._rejoin(None)

    def events(self) -> list[StreamEvent]:
        """What happened since the last call, oldest first: readers come and gone, session changes,
        gaps. Looks itself, so that a publisher with nothing to send learns it too.
        """
        self.revive()
        events = list(self._events)
        self._events.clear()
        return events

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start; positions in bytes of the stream."""
        core = self._core
        closed = self._closed
        return {
            "messages": self._sent,
            "position": 0 if closed else core.position,
            "position_limit": 0 if closed else core.position_limit,
            "consumed_position": 0 if closed else core.consumed_position,
            "is_connected": self.is_connected,
            "is_rate_limited": self.is_rate_limited,
            "waits": self._waits,
            "waited_s": self._waited_ns / 1e9,
            "rejoins": self._rejoins,
        }

    def slowest_reader(self) -> SlowestReader | None:
        """Which reader has consumed least, and since when: who holds this stream back when it is full.

        Reads the driver's counters, about a millisecond; None: no reader, or a driver of Aeron's.
        """
        if self._closed:
            return None
        rows = _core.read_holders(self._link.directory)
        found = [slowest_reader_of(row) for row in rows if row[0] == self._core.registration_id]
        return min(found, key=lambda reader: reader.position, default=None)

    # ---- sending ----

    def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Send one object; wait for room, and for a first subscriber.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for room; None: as long as readers are there.
        Returns:
            The position after it, in bytes of the stream.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: longer than :attr:`max_message_length`.
            NotConnected: no subscriber for ``connect_timeout_s`` (a notice is logged after 2 s).
            BackPressured: no room within ``timeout_s``.
            ClosedError: closed here.
        """
        data = self._encode(obj)
        bucket = self._bucket
        if bucket is not None:
            self._pace(bucket, _length_of(data), timeout_s)
        position = self._offer(data)
        if position <= 0:
            position = self._send_slowly(data, self._header, position, timeout_s)
        self._note_sent(position)
        return position

    def offer(self, obj: T) -> int:
        """Try to send one object at once.

        Returns:
            The position after it, or below 0 when it was not taken: Aeron's reason
            (:data:`rstream.NOT_CONNECTED` -1, BACK_PRESSURED -2: the readers have no room,
            ADMIN_ACTION -3), or RATE_LIMITED -7: it is held back by its own rate.
        Raises:
            CodecError, MessageTooLarge, ClosedError: as for :meth:`send`.
        """
        data = self._encode(obj)
        bucket = self._bucket
        if bucket is not None and bucket.delay_ns(self._now_ns()) > 0:
            return _core.RATE_LIMITED
        position = self._offer(data)
        if position <= _core.CLOSED:
            self._recover(position, _length_of(data))
            position = self._offer(data)
        if position > 0:
            self._note_sent(position)
            if bucket is not None:
                bucket.spend(_length_of(data))
        elif position == _core.NOT_CONNECTED:
            self._look()
        elif position == _core.BACK_PRESSURED and self.is_rate_limited:
            return _core.RATE_LIMITED
        return position

    def send_many(self, objects: Iterable[T], *, timeout_s: float | None = None) -> int:
        """Send all objects in order, in chunks of 256: the fastest way.

        Objects of a slow iterable wait for their chunk; use :meth:`send` there.

        Args:
            objects: what the codec takes.
            timeout_s: most seconds to wait for room for one object.
        Returns:
            How many were sent: all. On an exception, those before the one that failed were sent,
            as far as whole chunks go.
        Raises:
            RStreamError: as for :meth:`send`.
        """
        count = 0
        iterator = iter(objects)
        while chunk := list(islice(iterator, CHUNK)):
            if self._bucket is None:
                self._send_chunk([self._encode(obj) for obj in chunk], timeout_s)
            else:
                for obj in chunk:
                    self.send(obj, timeout_s=timeout_s)
            count += len(chunk)
        return count

    def _send_chunk(self, messages: list[Encoded], timeout_s: float | None) -> None:
        if any(type(message) is list for message in messages):
            for message in messages:
                position = self._offer(message)
                if position <= 0:
                    position = self._send_slowly(message, self._header, position, timeout_s)
                self._note_sent(position)
            return
        whole: list[Buffer] = messages  # pyright: ignore[reportAssignmentType] - no list among them
        start = 0
        while start < len(whole):
            taken, position = self._core.offer_many(whole, start, self._header)
            if taken == 0:
                position = self._send_slowly(whole[start], self._header, position, timeout_s)
                taken = 1
            start += taken
            self._note_sent(position, taken)

    def flush(self) -> None:
        """Nothing to do: what was sent is in the log already."""

    def _note_sent(self, position: int, count: int = 1) -> None:
        """Remember how far it came: a lost driver takes this knowledge along."""
        if not self._was_connected:
            self._look()
        self._reached = position
        self._sent += count
        if self._sent >= self._look_again:
            self._look_again = self._sent + CONSUMED_EVERY
            self._note_consumed()

    def _note_consumed(self) -> None:
        self._look()  # first: a new reader's position hides what the last one did not get
        consumed = self._core.consumed_position
        if consumed > self._consumed:
            self._consumed = consumed

    def _look(self) -> None:
        """Note that a reader came, or that the last one went."""
        is_connected = self._core.is_connected
        if is_connected == self._was_connected or not self._link.is_alive:
            return
        self._was_connected = is_connected
        session_id, reached, consumed = (
            self._core.session_id,
            self._reached,
            self._core.consumed_position,
        )
        if is_connected:
            self._events.append(Connected(session_id=session_id, position=reached))
            if not self._core.is_ipc:
                # What went out after the last look, to nobody. The new reader acknowledges from
                # where it begins.
                self._report_gap(
                    session_id, min(reached, consumed), "sent while no reader was there"
                )
            return
        self._consumed = max(self._consumed, consumed)
        self._events.append(
            Disconnected(session_id=session_id, position=reached, consumed_position=self._consumed)
        )
        # In shared memory the next reader begins where the last one stopped. On the network it
        # begins after what was sent out, and that is where the limit stands without readers.
        if not self._core.is_ipc:
            self._report_gap(session_id, min(reached, self._core.position_limit), "no reader left")

    def _report_gap(self, session_id: int, to_position: int, why: str) -> None:
        """Say that what was sent from the known consumed position on may not have arrived."""
        from_position = self._consumed
        if to_position <= from_position:
            return
        self._consumed = to_position
        reason = f"{why}: not known to be consumed"
        self._events.append(
            Gap(
                session_id=session_id,
                from_position=from_position,
                to_position=to_position,
                reason=reason,
            )
        )
        log.warning(
            "%s: session %d: positions %d to %d: %s",
            self._where(),
            session_id,
            from_position,
            to_position,
            reason,
        )

    def _offer(self, data: Encoded, header: int | None = None) -> int:
        reserved = self._header if header is None else header
        if type(data) is list:
            return self._core.offer_parts(data, reserved)
        return self._offer_one(data, reserved)  # pyright: ignore[reportArgumentType] - not a list

    def _send_slowly(self, data: Encoded, header: int, reason: int, timeout_s: float | None) -> int:
        """What send does when the log did not take the message at once; the position after it."""
        started_ns = time.monotonic_ns()
        deadline_ns = None if timeout_s is None else started_ns + int(timeout_s * 1e9)
        rounds = 0
        self._waits += 1
        try:
            while True:
                if reason == _core.NOT_CONNECTED:
                    self._await_subscriber(deadline_ns)
                elif reason == _core.BACK_PRESSURED:
                    self._await_room(deadline_ns, rounds)
                    rounds += 1
                elif reason != _core.ADMIN_ACTION:
                    self._recover(reason, _length_of(data))
                reason = self._offer(data, header)
                if reason > 0:
                    return reason
        finally:
            self._waited_ns += time.monotonic_ns() - started_ns

    def _await_room(self, deadline_ns: int | None, rounds: int) -> None:
        remaining_s = WAIT_SLICE_S
        if deadline_ns is not None:
            remaining_s = min(remaining_s, (deadline_ns - time.monotonic_ns()) / 1e9)
            if remaining_s <= 0:
                raise self._rate_error() if self.is_rate_limited else self._room_error()
        self._wait_core(remaining_s, rounds)

    def _wait_core(self, timeout_s: float, rounds: int = 0) -> None:
        self._note_consumed()
        try:
            is_ready = self._core.wait(timeout_s)
        except DriverLost as error:
            self._rejoin(error)
            return
        if is_ready and rounds > 1:
            self._sleep(0.0002)  # room for something, but not for this: do not spin
        elif not is_ready and not self._link.is_alive:
            self._recover(_core.CLOSED, 0)

    def _await_subscriber(self, deadline_ns: int | None) -> None:
        started_ns = time.monotonic_ns()
        has_noticed = False
        self._look()
        while not self._core.is_connected:
            now_ns = time.monotonic_ns()
            waited_s = (now_ns - started_ns) / 1e9
            is_late = deadline_ns is not None and now_ns >= deadline_ns
            if is_late or waited_s >= self.connect_timeout_s:
                raise NotConnected(
                    f"{self._where()}: no subscriber for {waited_s:.1f} s"
                    f"{self._last_receiver_error()}",
                    hint="is the reader there, in the same driver directory, with the same name? "
                    "In UDP the endpoint is the reader's address; `rstream stat` shows who is",
                    **self._place(),
                )
            if waited_s >= NOTICE_AFTER_S and not has_noticed:
                has_noticed = True
                self.say_alone(f"up to {self.connect_timeout_s:g} s")
            self._wait_core(0.05)
            if not self._core.is_connected:
                self._sleep(0.001)

    def say_alone(self, how_long: str) -> None:
        """Log that it waits for a subscriber."""
        log.warning(
            "%s: waits for a subscriber, %s%s; `rstream stat` shows who is there",
            self._where(),
            how_long,
            self._last_receiver_error(),
        )

    def _last_receiver_error(self) -> str:
        """Why the last reader went, if one said so or was given up: ``"; the last one: ..."``."""
        while (error := self._core.next_error()) is not None:
            self._receiver_error = f"; the last one: {error[-1]}"
        return self._receiver_error

    def _pace(self, bucket: TokenBucket, length_bytes: int, timeout_s: float | None) -> None:
        waited_s = 0.0
        while (delay_ns := bucket.delay_ns(self._now_ns())) > 0:
            delay_s = min(delay_ns / 1e9, 0.1)
            if timeout_s is not None and waited_s + delay_s > timeout_s:
                raise self._rate_error()
            self._sleep(delay_s)
            waited_s += delay_s
        bucket.spend(length_bytes)

    def _bucket_for(self, channel: str) -> TokenBucket | None:
        """Only beside Aeron's driver: it does not read rs-rate, and ours keeps it itself."""
        text = uri_keys(channel).get("rs-rate")
        return None if text is None else bucket_of(text, self._core.mtu, self._now_ns())

    def _rate_error(self) -> BackPressured:
        error = BackPressured(
            f"{self._where()}: its rate left no room in time",
            hint="send less, wait longer, or give it another rate (set_rate)",
            **self._place(),
        )
        error.held_by = "rate"
        return error

    def _room_error(self) -> BackPressured:
        is_budget = self._core.held_by == _core.HELD_BY_BUDGET
        budget = ", and as much is under way as their driver grants this host" if is_budget else ""
        error = BackPressured(
            f"{self._where()}: no room; the readers have consumed up to "
            f"{self._core.consumed_position} of {self._core.position}{budget}",
            hint="they are slower than this publisher, or stand still",
            **self._place(),
        )
        error.held_by = "budget" if is_budget else "window"
        return error

    # ---- trouble ----

    def _where(self) -> str:
        stream = (
            f"stream {self.name!r} ({self.stream_id})" if self.name else f"stream {self.stream_id}"
        )
        return f"{stream} on {self.channel}"

    def _place(self) -> dict[str, Any]:
        core = self._core
        return {
            "channel": self.channel,
            "stream_id": self.stream_id,
            "session_id": core.session_id,
            "position": core.position,
        }

    def _recover(self, reason: int, length_bytes: int) -> None:
        """Raise what the reason means, or join again when the driver was lost."""
        if self._closed:
            raise ClosedError(f"{self._where()}: this publisher is closed", channel=self.channel)
        if reason == _core.MAX_POSITION_EXCEEDED:
            raise MaxPositionExceeded(
                f"{self._where()}: all 2**31 terms are used",
                hint="open a new publisher, or one with longer terms",
                **self._place(),
            )
        if not self._link.is_alive or (self._core.is_closed and self._link.is_shared):
            self._rejoin(None)
        elif length_bytes > self._core.max_message_length:
            raise MessageTooLarge(
                f"{self._where()}: a message of {length_bytes} bytes; at most "
                f"{self._core.max_message_length} fit",
                hint="an eighth of the term, at most 16 MiB: raise term-length, or cut the message",
                **self._place(),
            )
        elif reason == _core.CLOSED:
            raise ClosedError(f"{self._where()}: its publication was closed", **self._place())
        elif reason == _core.ERROR:
            raise RStreamError(f"{self._where()}: the message was refused: {_core.last_error()}")

    def _rejoin(self, error: Exception | None) -> None:
        if not self._link.is_shared:
            raise error or DriverLost(
                f"{self._where()}: the driver was lost, and the client is yours"
            )
        old_session_id = self._core.session_id
        why = f"driver in {self._link.directory} lost"
        log.warning("%s: session %d: %s; joining again", self._where(), old_session_id, why)
        self._join_again()
        self._rejoins += 1
        self._events.append(
            SessionChanged(
                old_session_id=old_session_id, new_session_id=self._core.session_id, reason=why
            )
        )
        self._report_gap(old_session_id, self._reached, why)
        self._reached = self._consumed = 0
        self._was_connected = False

    def _join_again(self) -> None:
        deadline_s = time.monotonic() + _session.REJOIN_TIMEOUT_S
        while True:
            self._link = _session.renew(self._link)
            try:
                return self._join()
            except DriverError:  # this one may have died as well
                if time.monotonic() >= deadline_s:
                    raise
                self._sleep(0.05)

    # ---- the end ----

    def wait_consumed(self, position: int | None = None, *, timeout_s: float | None = None) -> bool:
        """Wait until every reader has consumed up to ``position`` (UDP: as status messages say).

        Args:
            position: bytes of the stream; None: what was sent so far.
            timeout_s: None waits for ever.
        Returns:
            False: not within ``timeout_s``.
        """
        wanted = self._core.position if position is None else position
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        return self._wait_consumed(wanted, deadline_s, give_up_alone=False)

    def _wait_consumed(self, wanted: int, deadline_s: float | None, *, give_up_alone: bool) -> bool:
        # Consumption wakes nobody, so this looks again in growing steps of 50 µs to 2 ms.
        pause_s = 0.00005
        while self._core.consumed_position < wanted:
            self._note_consumed()
            if deadline_s is not None and time.monotonic() >= deadline_s:
                return False
            if not self._link.is_alive:
                raise DriverLost(f"{self._where()}: the driver was lost while waiting for readers")
            if give_up_alone and not self._core.is_connected:
                return False
            self._sleep(pause_s)
            pause_s = min(0.002, pause_s * 1.5)
        self._note_consumed()
        return True

    def fail(self, error: BaseException | str) -> None:
        """End the stream with an error: readers raise :class:`RemoteError` with the text."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._end(KIND_ERROR, text.encode()[:ERROR_TEXT_BYTES_MAX], self.linger_s)

    def close(self, *, linger_s: float | None = None) -> None:
        """Say that the stream is complete, and wait until readers have consumed it. Idempotent.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with. What is left then
                is still delivered while the driver lives.
        """
        self._end(
            KIND_COMPLETE, self.name.encode(), self.linger_s if linger_s is None else linger_s
        )

    def _end(self, kind: int, text: bytes, linger_s: float) -> None:
        if self._closed:
            return
        deadline_s = time.monotonic() + linger_s
        try:
            if self._tell_end(header_of(kind, self._codec.codec_id, self.name), text, deadline_s):
                self._wait_consumed(self._core.position, deadline_s, give_up_alone=True)
            self._look()
            if self._link.is_alive and not self._core.is_connected:
                self._report_gap(self._core.session_id, self._reached, "closed without readers")
        except DriverError as error:
            log.warning("%s: closed without its driver: %s", self._where(), error)
            self._report_gap(self._core.session_id, self._reached, "closed without its driver")
        finally:
            self._closed = True
            self._core.close()
            _session.release(self._link)

    def _tell_end(self, header: int, text: bytes, deadline_s: float) -> bool:
        while True:
            reason = self._core.offer(text, header)
            if reason > 0:
                return True
            if reason not in (_core.BACK_PRESSURED, _core.ADMIN_ACTION):
                return False
            remaining_s = deadline_s - time.monotonic()
            if remaining_s <= 0:
                log.warning(
                    "%s: its end could not be sent, readers stand still; they will see it as lost",
                    self._where(),
                )
                return False
            self._core.wait(min(remaining_s, WAIT_SLICE_S))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is None:
            self.close()
        else:
            self.fail(exc)

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            warnings.warn(
                f"{self!r} was not closed; made at {self._made_at}",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )


def _length_of(data: Encoded) -> int:
    if type(data) is list:
        return sum(memoryview(part).nbytes for part in data)
    if isinstance(data, bytes):
        return len(data)
    return memoryview(data).nbytes  # pyright: ignore[reportArgumentType] - not a list


def make_publisher(link: _session.Link, *, codec: Codec[Any], **address: Any) -> Publisher[Any]:
    """A publisher that lets go of its link when it cannot be made."""
    try:
        return Publisher(link, codec=codec, **address)
    except BaseException:
        _session.release(link)
        raise
