"""The state of a publisher: its position, its readers, and what happened to them."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from rstream import _core
from rstream._channel_uri import ChannelUri
from rstream._held_by import HeldBy
from rstream._holders import holders_of, local_process, process_at, with_process
from rstream._neighbours import (
    TYPE_SUBSCRIBER_POSITION,
    hint_for_publisher,
    last_reader,
    tell_last_reader,
)
from rstream._other_drivers import tell_others
from rstream._pickling import refuse_pickling
from rstream._process import is_inherited, quiet_when_torn_down
from rstream._publication import wanted_elements
from rstream._unclosed import call_site, warn_unclosed
from rstream.errors import MessagesLost, RemoteError
from rstream.flow.pacing import TokenBucket, bucket_of
from rstream.stream._demand import ReadersDemand
from rstream.stream._events import (
    EVENTS_MAX,
    Connected,
    Disconnected,
    Gap,
    Rejected,
    StreamEvent,
)
from rstream.stream._names import KIND_PLAIN, header_of, with_default_rate
from rstream.stream._parts import MESSAGE_LENGTH
from rstream.stream._refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from rstream._facts import SlowestReader
    from rstream.codecs import Codec
    from rstream.stream._session import Link

log = logging.getLogger("rstream")

T = TypeVar("T")

#: A publisher reads the consumed position after this many messages.
CONSUMED_EVERY = 64
#: For a short way that has no end.
NO_END = 2**63 - 1
#: Type of the counter with the number of receivers of a publication.
TYPE_RECEIVERS = 17
#: Longest label of a counter.
LABEL_MAX = 380
#: How long a reader's error over the network is an event only. A reader that is still there sends
#: a status message within 200 ms; then the error was forged, or that of another reader.
REJECTED_AFTER_NS = 500_000_000


class Seen(NamedTuple):
    """What a look at the readers has found.

    Attributes:
        news: its events.
        consumed: up to where all readers are known to have consumed.
        is_connected: whether a reader is there.
        left_count: how many readers have left this session.
    """

    news: list[StreamEvent]
    consumed: int
    is_connected: bool
    left_count: int


class PublisherFacts(_core.SendPath, Generic[T]):
    """The part of every publisher that never waits: its state, and what its readers consumed."""

    # Of a publisher that is a part of another face (_inner.py): the face, and how it logs.
    _owner: str = ""
    #: Asked while no reader is there: why none will come any more; empty: one may. Must not wait.
    _why_gone: Callable[[], str] = staticmethod(str)
    #: Asked while it closes and no reader is there: whether one comes back; None: not known yet.
    _is_coming: Callable[[], bool | None] = staticmethod(bool)
    _log_level: int = logging.WARNING

    def __init__(
        self,
        link: Link,
        *,
        name: str,
        channel: str,
        stream_id: int,
        codec: Codec[T],
        connect_timeout_s: float | None,
        wait_for: int,
        linger_s: float,
        max_message_length: int = MESSAGE_LENGTH,
        made_at: str | None = None,
    ) -> None:
        self._closed = True  # __del__ runs even when the lines below raise
        self._is_ending = False  # closing has begun: only the end may still be sent
        self._pid = os.getpid()
        self.name: str = name
        self.channel: str = channel
        self.stream_id: int = stream_id
        self.connect_timeout_s: float | None = connect_timeout_s
        self.wait_for: int = wait_for
        self.linger_s: float = linger_s
        self._link = link
        self._codec = codec
        self._encode = codec.encode
        # The same without its care for errors, or None for codecs that change nothing.
        self._quick_encode = getattr(codec, "quick_encode", codec.encode)
        self._accepts = getattr(codec, "accepts", None)
        self._header = header_of(KIND_PLAIN, codec.codec_id, name)
        self._bucket: TokenBucket | None = None
        self._events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self._refused = Refusals()
        self._untold_errors: list[_core.ReceiverError] = []  # of readers, until they are events
        self._untold_gap: Gap | None = None  # the last one, until events or wait_consumed tells it
        self._untold_bytes = 0  # of all such gaps
        self._last_gap: Gap | None = None
        self._sent = self._rejoins = 0
        self._waits: int = 0
        self._waited_ns: int = 0
        self._waiting_count: int = 0  # messages that wait for room just now, parts apart
        self._parted_length_max = max_message_length if name else 0
        self._reader_error = ""  # of one that rejected this session, until another is there
        self._reader_error_ns = 0
        self._is_failure_told = False  # it was raised
        self._end_position = _core.CLOSED  # of the end of the stream; below 0: it was not sent
        self._end_error: RemoteError | MessagesLost | None = None  # for whoever leaves the block
        self._reached = self._consumed = self._look_again = 0
        self._before = -1
        self._short_way_end = NO_END
        self._was_connected = False
        self._made_at = made_at or call_site()
        self._join(link)
        self._closed = False

    def _join(self, link: Link) -> None:
        channel = with_default_rate(self.channel)
        add = link.client._add_publication  # pyright: ignore[reportPrivateUsage] - under a lock
        added = add(channel, self.stream_id, True)
        self._left_count = 0
        self._core: _core.Publication = added.core
        # Sent, limit, consumed, and bytes that were not consumed, as they were seen last.
        self._positions = (0, 0, 0, 0)
        self._accept()
        self._is_gated = self.wait_for > 1  # no message before so many readers are there
        if self._is_gated:
            self._refuse(_core.NOT_CONNECTED)
        if link.client.is_aeron_driver:
            self._bucket = self._bucket_for(self.channel)

    def _accept(self) -> None:
        self._offer_one: Callable[[Buffer, int], int] = self._core.offer
        self._offer_parts: Callable[[list[Buffer], int], int] = self._core.offer_parts
        self._offer_many: Callable[[list[Buffer], int, int], tuple[int, int]] = (
            self._core.offer_many
        )
        # A message may fit and yet be longer than the user allows: each offer looks.
        self._is_limited = self.max_message_length < self._core.max_message_length
        self._direct = None if self._is_limited else self._core
        self._refusal = 0

    def _refuse(self, reason: int) -> None:
        """From now on every offer is answered with the reason; costs an open publisher nothing."""
        self._direct = None
        self._refusal = reason  # of what lies in a segment
        self._offer_one = lambda _data, _header: reason
        self._offer_parts = lambda _data, _header: reason
        self._offer_many = lambda _messages, _start, _header: (0, reason)

    def _bucket_for(self, channel: str) -> TokenBucket | None:
        """The bucket for ``rs-rate`` beside Aeron's driver, which does not read that key."""
        text = ChannelUri.parse(channel).get("rs-rate")
        return None if text is None else bucket_of(text, self._core.mtu, time.monotonic_ns())

    def __reduce__(self) -> NoReturn:
        refuse_pickling(
            self,
            "pass the stream's name and open a publisher there, or pass a handle "
            "(rstream.ray.reader(name).handle), whose publisher() opens one anywhere",
        )

    def __repr__(self) -> str:
        return f"<rstream.Publisher {self.name or self.stream_id!r} on {self.channel}>"

    # ---- state ----

    @property
    def session_id(self) -> int:
        """The session id; it changes when the publisher joins again."""
        return self._core.session_id

    @property
    def position(self) -> int:
        """Bytes of the stream that were sent, with frame headers and padding; also when closed."""
        position = self._core.position
        return position if position >= 0 else max(self._reached, self._positions[0])

    def _see_positions(self) -> tuple[int, int, int, int]:
        """What was sent, the limit, what was consumed, and the bytes that were not; of a session
        that is over the last.
        """
        core = self._core
        now = (core.position, core.position_limit, core.consumed_position, core.unread_bytes)
        if not core.is_closed:  # nor was it while they were read
            self._positions = now
        return self._positions

    @property
    def max_message_length(self) -> int:
        """Longest encoded object, in bytes. Without a name: :attr:`max_unparted_length`."""
        return self._parted_length_max or self._core.max_message_length

    @property
    def max_unparted_length(self) -> int:
        """Longest encoded object that travels as one message, in bytes: an eighth of a term, and 16
        MiB at most. A longer one travels in parts.
        """
        return self._core.max_message_length

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber is connected."""
        return not self._closed and self._core.is_connected

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    def _forget_inherited(self) -> bool:
        """In a forked child: closed from now on, and nothing else. False: this process made it."""
        if not is_inherited(self._pid):
            return False
        self._closed = self._is_ending = True
        return True

    @property
    def has_session(self) -> bool:
        """Whether it has a session now: it is not closed, and its driver is alive."""
        return not self._closed and not self._core.is_closed

    @property
    def is_lost(self) -> bool:
        """Whether it lost its driver and cannot join again, because the caller owns the client."""
        return not self._link.is_alive and not self._link.is_shared

    @property
    def is_rate_limited(self) -> bool:
        """Whether its own rate holds it back, and not its readers."""
        return self._is_over_rate() or (
            not self._closed and HeldBy.from_core(self._core.held_by) is HeldBy.RATE
        )

    @property
    def held_by(self) -> HeldBy | None:
        """What a send would wait for now; None: nothing, or this publisher is closed.

        Cost: about a millisecond when its readers hold it, to read their demand.
        """
        if self._closed or self._core.is_closed:
            return None
        if not self._core.is_connected or self._is_gated:
            return HeldBy.SUBSCRIBER
        if self._is_over_rate():
            return HeldBy.RATE
        if self._core.available_window > 0:
            return HeldBy.WINDOW if self._is_segment_held else None
        return self._held_by_readers()

    @property
    def _is_segment_held(self) -> bool:
        """Whether a message in a segment waits because earlier ones are not consumed."""
        return False

    def _held_by_readers(self) -> HeldBy:
        wanted = wanted_elements(self._link.directory, self._core.registration_id)
        return HeldBy.from_core(self._core.held_by, wanted)

    def _is_over_rate(self) -> bool:
        """Whether the rate kept on this side (beside Aeron's driver) lets nothing through now."""
        return self._bucket is not None and self._bucket.delay_ns(time.monotonic_ns()) > 0

    def demand(self) -> ReadersDemand | None:
        """The demand of its readers: messages requested beyond what they have consumed.

        Readers without ``request(n)`` tell as much as their ``prefetch`` says; those of
        ``rstream.Client`` without it, with ``Evict`` or untethered count as ``UNBOUNDED``. Groups
        and raw Aeron peers do not report demand. It holds pipelines back (:func:`sink`), never
        :meth:`send`.

        Reading the demand marks it as seen, for :attr:`has_new_demand` and for waiting threads. A
        pipeline that sleeps may then notice new demand up to half a second late.

        Returns:
            None: the publisher is closed, or has lost its driver.
        """
        demand = None if self._closed else self._core.demand
        if demand is None:
            return None
        return ReadersDemand(demand.position, demand.messages, demand.readers, demand.is_connected)

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start; positions in bytes of the stream, the last ones when closed.

        ``unread_bytes`` were sent, and the slowest reader has not consumed them. Large messages in
        shared memory count with their bytes there, and with 64 bytes in positions.
        ``segment_bytes``: the memory that this publisher has for them.
        """
        _, limit, consumed, unread = self._see_positions()
        return {
            "messages": self._sent,
            "position": self.position,
            "position_limit": limit,
            "consumed_position": consumed,
            "unread_bytes": unread,
            "is_connected": self.is_connected,
            "is_rate_limited": self.is_rate_limited,
            "waits": self._waits,
            "waited_s": self._waited_ns / 1e9,
            "rejoins": self._rejoins,
            "segment_bytes": self._core.segment_bytes,
        }

    def slowest_reader(self) -> SlowestReader | None:
        """The reader that has consumed least: it holds the stream back when its buffer is full.

        Cost: about a millisecond, to read the driver's counters.

        Returns:
            None: there is no reader, or the driver is Aeron's.
        """
        if self._closed:
            return None
        return self._holder(is_report=False)

    def _holder(self, is_report: bool) -> SlowestReader | None:
        """The slowest reader, or the one whose report the rate follows."""
        number, directory = self._core.registration_id, self._link.directory
        found = [
            reader
            for reader in holders_of(directory)
            if reader.publication_id == number and reader.is_report == is_report
        ]
        reader = min(found, key=lambda reader: reader.position, default=None)
        if reader is None:
            return None
        return with_process(reader, directory, self.stream_id, self._core.session_id)

    def _take_events(self) -> list[StreamEvent]:
        events = self._events
        events += self._refused.events(self._refusals())
        taken = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        self._untold_gap, self._untold_bytes = None, 0
        return taken

    @property
    def has_new_demand(self) -> bool:
        """Whether the demand changed since :meth:`demand` was called last; a tenth of its cost."""
        return self._core.has_new_demand

    # ---- the first readers ----

    def _has_readers(self) -> bool:
        """Whether a reader is there, and as many as it waits for have been there once."""
        if not self._core.is_connected:
            return False
        if self._is_gated and self._reader_count() >= self.wait_for and not self._is_ending:
            self._is_gated = False
            self._accept()
        return not self._is_gated

    def _reader_count(self) -> int:
        """The number of subscribers in shared memory, else of receivers; reads all counters."""
        number = self._core.registration_id
        counters = _core.read_counters(self._link.directory)
        if self._core.is_ipc:
            return sum(
                one.type_id == TYPE_SUBSCRIBER_POSITION and one.reference_id == number
                for one in counters
            )
        found = (
            one.value
            for one in counters
            if one.type_id == TYPE_RECEIVERS and one.registration_id == number
        )
        return next(found, 0)

    # ---- what readers consumed ----

    def _note_sent(self) -> None:
        """Look at the readers now and then, after something was sent and counted."""
        if not self._was_connected:
            self._look()
        if self._sent >= self._look_again:
            self._look_again = self._sent + CONSUMED_EVERY
            self._quick_encode = getattr(self._codec, "quick_encode", self._encode)
            self._note_consumed()

    def _note_consumed(self) -> None:
        consumed = self._core.consumed_position
        # A new reader's position hides what the last one missed. The look reports that first.
        self._look()
        if consumed > self._consumed:
            self._consumed = consumed

    def _look(self) -> None:
        """Note whether a first reader connected, the last one disconnected, or one left with an
        error.

        What it found is noted in one step: a look that a signal handler ends is made again.
        """
        self._note_rejections()
        core, is_connected, was_connected = self._core, self._core.is_connected, self._was_connected
        if not self._link.is_alive:
            return
        count, left, joined, sent = core.left
        if count == 0:
            left = joined = -1  # not known
        missed = 0 if is_connected and joined < 0 else count - self._left_count
        if missed == 0 and is_connected == was_connected:
            if not is_connected:
                self._before = -1
            return
        session_id, reached, consumed = core.session_id, self._reached, self._consumed
        news: list[StreamEvent] = []
        # When several readers left, what the earlier ones missed is not told. In shared memory each
        # began where one stopped.
        if missed > 1 and not core.is_ipc:
            left = consumed
        if missed and is_connected and was_connected:
            was_connected = False
            consumed = max(consumed, left)
            news = [self._disconnected(consumed, count)]
        gap_to, why = 0, ""
        if is_connected and not was_connected:
            # Data sent since the last look reached no reader. The new reader acknowledges from its
            # first position on.
            reached = reached if self._before < 0 else self._before
            process, source = self._first_reader()
            news += (
                Connected(session_id=session_id, position=reached, process=process, source=source),
            )
            gap_to = min(reached, core.consumed_position if joined < 0 else joined)
            why = "sent while no reader was there"
        elif was_connected and not is_connected:
            consumed = max(consumed, core.consumed_position if left < 0 else left)
            news += (self._disconnected(consumed, count),)
            # In shared memory the next reader begins where the last one stopped. On the network it
            # begins after all data that was sent. A publication that is unconnected for another
            # reason (a group that is too small, an Aeron driver) tells that with its limit. In a
            # group this is the position of the slowest reader; others may have read on.
            is_told = count > self._left_count and sent >= 0
            gap_to = min(reached, sent if is_told else core.position_limit)
            why = f"no reader left, the slowest one stopped at {consumed}"
        seen = Seen(news, consumed, is_connected, self._left_count + missed)
        self._report_gap(session_id, 0 if core.is_ipc else gap_to, why, seen)

    def _first_reader(self) -> tuple[str, str]:
        """The process of a reader in shared memory, or the address of a receiver."""
        number, directory = self._core.registration_id, self._link.directory
        if self._core.is_ipc:
            return process_at(directory, number, is_reader=True), ""
        readers = [one for one in holders_of(directory) if one.publication_id == number]
        return "", next((one.source for one in readers if not one.is_local), "")

    def _who_left(self, count: int) -> tuple[str, str]:
        """Likewise, of the one that left as the ``count``-th."""
        who = self._core.left_who
        if who.times != count:
            return "", ""
        return (local_process(who.name, who.pid), "") if self._core.is_ipc else ("", who.name)

    def _disconnected(self, consumed: int, count: int) -> Disconnected:
        process, source = self._who_left(count)
        return Disconnected(
            session_id=self._core.session_id,
            position=self._reached,
            consumed_position=consumed,
            process=process,
            source=source,
        )

    def _note_rejections(self) -> None:
        self._untold_errors += [*iter(self._core.next_error, None)]  # taken and kept in one step
        while self._untold_errors:
            told = self._untold_errors[0]
            source, process, reason = told.source, "", told.text
            if self._core.is_ipc:
                source, (process, _) = "", self._who_left(self._core.left.times)
            event = Rejected(
                session_id=told.session_id, source=source, reason=reason, process=process
            )
            self._reader_error_ns = time.monotonic_ns()
            self._untold_errors = self._untold_errors[1:]
            self._events += (event,)
            self._reader_error, self._is_failure_told = reason, False
            self._log("%s: a reader left with an error: %s", self._where(), reason)
        # The driver takes a reader off before it tells the error. So whoever is connected now is
        # another reader.
        if self._core.is_connected:
            self._reader_error = ""

    def _check_accepted(self) -> None:
        """Raise the error with which the last reader left, until another reader is there.

        Raises:
            RemoteError: the text is the reader's.
        """
        self._look()
        age_ns = time.monotonic_ns() - self._reader_error_ns
        if self._reader_error and (self._core.is_ipc or age_ns >= REJECTED_AFTER_NS):
            raise self._remote_error()

    def _failure_of_reader(self, data_end: int) -> RemoteError | None:
        """The error with which the last reader left before it had consumed all data; else None."""
        is_told = not self._reader_error or self._is_failure_told
        return None if is_told or not self._is_unread(data_end) else self._remote_error()

    @property
    def _waits_for_ever(self) -> bool:
        """Whether it waits without a limit for a reader, which gets what none has consumed yet."""
        return self.connect_timeout_s is None and self._core.is_ipc

    def _may_come(self) -> bool | None:
        """Whether it is worth while to wait for a reader at the end; None: not known yet."""
        return (self._waits_for_ever and not self._why_gone()) or self._is_coming()

    def _is_unread(self, data_end: int) -> bool:
        """Whether the last reader left before it had consumed all data."""
        left = self._core.left
        is_known = left.times > 0 and left.consumed >= 0
        return (left.consumed if is_known else self._consumed) < data_end

    def _remote_error(self) -> RemoteError:
        self._is_failure_told = True
        return RemoteError(
            f"{self._where()}: its reader has failed: {self._reader_error}",
            hint="look at the reader; what was sent and not consumed is lost",
            **self._place(),
        )

    def _report_gap(
        self, session_id: int, to_position: int, why: str, seen: Seen | None = None
    ) -> None:
        """Report a gap: data above the consumed position that we know of may not have arrived.

        Args:
            session_id: whose data.
            to_position: where the gap ends; no gap if that much is known to be consumed.
            why: for people.
            seen: what a look has found; it is noted in the same step, before the gap.
        """
        from_position = self._consumed if seen is None else seen.consumed
        gap = None
        if to_position > from_position:
            gap = Gap(
                session_id=session_id,
                from_position=from_position,
                to_position=to_position,
                reason=f"{why}: not known to be consumed by every reader",
            )
        # In one step: no signal handler runs before all of it is noted.
        if seen is not None:
            self._events += seen.news
            self._consumed, self._left_count = seen.consumed, seen.left_count
            self._was_connected, self._before = seen.is_connected, -1
        if gap is None:
            return
        self._events += (gap,)
        self._consumed = to_position
        self._untold_gap = self._last_gap = gap
        self._untold_bytes += to_position - from_position
        self._log(
            "%s: session %d: positions %d to %d (%d bytes): %s; events() has this Gap: "
            "send the data again if it must arrive",
            self._where(),
            session_id,
            from_position,
            to_position,
            to_position - from_position,
            gap.reason,
        )

    def _check_lost(self) -> None:
        """Raise, once, if something that was sent may not have been consumed.

        Raises:
            MessagesLost: :meth:`events` has not told its gap either.
        """
        gap, length_bytes = self._untold_gap, self._untold_bytes
        if gap is None:
            return
        error = MessagesLost(
            f"{self._where()}: {length_bytes} bytes that were sent may be lost, the last ones in "
            f"session {gap.session_id}, positions {gap.from_position} to {gap.to_position}: "
            f"{gap.reason}",
            hint="send again what must arrive; events() has every Gap",
            channel=self.channel,
            stream_id=self.stream_id,
            session_id=gap.session_id,
            position=gap.from_position,
        )
        error.gap = gap
        self._untold_gap, self._untold_bytes = None, 0
        raise error

    # ---- texts ----

    def say_alone(self, how_long: str) -> None:
        """Log that it waits for a subscriber."""
        self._log(
            "%s: waits for %s, %s%s; `rstream stat` shows the readers that are there",
            self._where(),
            "a subscriber" if self.wait_for == 1 else f"{self.wait_for} subscribers",
            how_long,
            self._why_alone(),
        )

    def _why_alone(self) -> str:
        """When and with what error the last reader left; and the reader that it may mean, if one
        waits here under another name; and the other drivers of this host.
        """
        directory = self._link.directory
        left_ms, why, who = last_reader(directory, self._core.registration_id)
        if why and self._reader_error.startswith(why):
            why = self._reader_error  # the log holds its beginning
        left = tell_last_reader(left_ms, why, who)
        if self._reader_error and self._reader_error not in left:
            left = left or f"the last one: {self._reader_error}"
        address = self.name, self.channel, self.stream_id
        hint = hint_for_publisher(directory, *address) if self.name else ""
        texts = *self._refused.told(self._refusals()), left, hint, tell_others(directory)
        return "".join(f"; {text}" for text in texts if text)

    def _refusals(self) -> list[str]:
        """A text for each reader that has another key than this publisher."""
        return self._refused.look(self._link.directory, (self._core.channel_status_id,))

    def _log(self, text: str, *arguments: object) -> None:
        log.log(self._log_level, text, *arguments)

    def _where(self) -> str:
        if self._owner:
            return self._owner
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

    @quiet_when_torn_down
    def __del__(self) -> None:
        if not (getattr(self, "_closed", True) or self._forget_inherited()):
            warn_unclosed(self, self._made_at)


def tell_why_gone(publisher: PublisherFacts[Any], why_gone: Callable[[], str]) -> None:
    """Have a publisher ask, while it has no reader, why none will come any more.

    Args:
        publisher: of threads, or of an event loop.
        why_gone: for people; empty: one may come. Any thread calls it, and it never waits.
    """
    publisher._why_gone = why_gone  # pyright: ignore[reportPrivateUsage] - same file


def tell_is_coming(publisher: PublisherFacts[Any], is_coming: Callable[[], bool | None]) -> None:
    """Have a publisher that closes wait, up to its ``linger_s``, for a reader that comes back.

    Args:
        publisher: of threads, or of an event loop.
        is_coming: None: not known yet. Any thread calls it, and it never waits.
    """
    publisher._is_coming = is_coming  # pyright: ignore[reportPrivateUsage] - same file


def add_stream_counter(publisher: PublisherFacts[Any], type_id: int, name: str) -> _core.Counter:
    """Add a counter on the stream of a publisher, with the label that the driver's have.

    Raises:
        DriverError: the driver refused, or has died.
    """
    core = publisher._core  # pyright: ignore[reportPrivateUsage] - same file
    client = publisher._link.client  # pyright: ignore[reportPrivateUsage]
    stream = f"{core.session_id} {publisher.stream_id} {publisher.channel}"
    label = f"{name}: {core.registration_id} {stream}"
    return client.add_counter(type_id, label[:LABEL_MAX])


def why_gone(publisher: PublisherFacts[Any]) -> str:
    """Why no reader will come any more, for people; empty: one may."""
    return publisher._why_gone()  # pyright: ignore[reportPrivateUsage] - same file
