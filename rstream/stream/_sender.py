"""Sending objects: at once, or in steps of waiting that a thread and an event loop share."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from rstream import _core
from rstream._channel_uri import ChannelUri
from rstream._checks import check_timeout
from rstream._held_by import HeldBy
from rstream._process import raise_of_handler
from rstream._waits import Pause, Room, Steps, Work
from rstream.driver import runs_here
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    DriverError,
    DriverLost,
    MaxPositionExceeded,
    MessagesLost,
    MessageTooLarge,
    NotConnected,
    RStreamError,
    StorageError,
)
from rstream.stream import _session
from rstream.stream._events import SessionChanged
from rstream.stream._names import header_of, with_rate
from rstream.stream._publisher_facts import PublisherFacts
from rstream.stream._remote import encode_failure
from rstream.stream._unsendable import NO_BUFFER, add_index, buffer_error, encode_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Buffer

    from rstream.codecs import Encoded
    from rstream.flow.pacing import TokenBucket
    from rstream.rate import RateLimit

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Messages that send_many encodes and offers at once.
CHUNK = 256
#: What to do about readers that are slow.
SLOW_HINT = (
    "they are slower than this publisher, or stand still: look with `rstream why`, raise "
    "timeout_s, or open them with on_slow="
)
#: What BackPressured says more, and its hint.
HELD_TEXTS = {
    HeldBy.WINDOW: ("", SLOW_HINT),
    HeldBy.DEMAND: (
        ", and one has requested no more",
        "it must call request(n), or finish what it has taken",
    ),
    HeldBy.PATH: (
        ", and the path takes no more now",
        "the link is slower than this publisher: send less, or raise timeout_s",
    ),
    HeldBy.BUDGET: (
        ", and as much is under way as their driver grants this host",
        SLOW_HINT,
    ),
}
#: Seconds without a subscriber after which send logs that it waits.
NOTICE_AFTER_S = 2.0
#: Seconds that close waits for the error of a reader that has just left; and for the readers to see
#: the end when they have consumed all data, and the driver belongs to this process.
END_LINGER_S = 0.1
#: How long a closing publisher looks for the news that a reader that has left comes back, and after
#: that news for the reader.
RETURN_S = 0.6
#: Seconds that send waits for storage in the driver directory, however long its timeout is.
STORAGE_PATIENCE_S = 2.0
#: Seconds between two looks of a wait at the state of the client.
WAIT_SLICE_S = 0.5
#: Most seconds that a change of rate waits for the driver.
SET_RATE_TIMEOUT_S = 10.0


class Alone:
    """Since when a waiting publisher has no reader."""

    def __init__(self) -> None:
        self._since_ns = time.monotonic_ns()
        self.has_noticed = False

    @property
    def waited_s(self) -> float:
        return (time.monotonic_ns() - self._since_ns) / 1e9


class Return:
    """Whether a reader that has left a closing publisher comes back.

    Args:
        is_coming: whether one comes; None: not known yet. It never waits.
    """

    def __init__(self, is_coming: Callable[[], bool | None]) -> None:
        self._is_coming = is_coming
        self._until_s = time.monotonic() + RETURN_S
        self.is_promised = False

    def may_be(self) -> bool:
        """False: it does not come, as far as is known by now."""
        is_coming = self._is_coming()
        if is_coming:
            self.is_promised = True
            self._until_s = time.monotonic() + RETURN_S
        return is_coming is not False and time.monotonic() < self._until_s


class Waiting:
    """How long a refused message has waited, and until when it may.

    Attributes:
        deadline_ns: monotonic time; None: as long as readers are there.
        rounds: how often it has waited for room.
        storage_since_ns: since when storage has been missing; 0: it is not.
        has_noticed: whether it was logged that it waits long.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self._since_ns = time.monotonic_ns()
        self.deadline_ns = (
            None if timeout_s is None else self._since_ns + int(min(timeout_s, 1e9) * 1e9)
        )
        self.rounds = self.storage_since_ns = 0
        self.has_noticed = False

    @property
    def waited_s(self) -> float:
        return (time.monotonic_ns() - self._since_ns) / 1e9


class Sender(PublisherFacts[T]):
    """The sending and waiting that the blocking and the awaited publisher share.

    A method named ``_…_steps`` is a generator of :mod:`rstream._waits`: it yields each wait, and
    the publisher that runs it sleeps or awaits. While it runs, no other one does; during its waits
    others may, so it looks anew at everything after each wait.
    """

    # ---- at once ----

    def _offer_data(self, data: Encoded, header: int | None = None, messages: int = 1) -> int:
        """Offer and, in the same step, count; then comes :meth:`_note_sent`."""
        if self._is_limited:
            self._is_large(data)
        offer = self._offer_parts if type(data) is list else self._offer_one
        try:
            return self._take(messages, offer, data, self._header if header is None else header)
        except RStreamError:
            raise
        except NO_BUFFER as error:
            raise self._buffer_error(data, error) from error

    def _offer_from(self, messages: list[Buffer], start: int) -> tuple[int, int]:
        if self._is_limited:
            position = self._offer_data(messages[start])
            return int(position > 0), position
        try:
            return self._take(0, self._offer_many, messages, start, self._header)
        except RStreamError:
            raise
        except NO_BUFFER as error:  # the first one: those before another one would be taken
            raise self._buffer_error(messages[start], error) from error

    def _encode_all(
        self, objects: Sequence[T], first: int
    ) -> tuple[list[Encoded], Exception | None]:
        """The messages of the objects before the first one that fails, and the failure.

        Args:
            objects: what the codec takes.
            first: how many objects the call sent before these, for the failure.
        """
        messages: list[Encoded] = []
        encode = self._encode
        try:
            for obj in objects:
                messages.append(encode(obj))  # noqa: PERF401 - keeps those before a failure
        except Exception as error:
            raise_of_handler(error)
            failure = self._encode_error(objects[len(messages)], error)
            add_index(failure, first + len(messages))
            failure.__cause__ = error
            return messages, failure
        return messages, None

    def _note_offered(self, position: int, data: Encoded) -> int:
        """Note the result of one offer; returns what ``offer()`` returns to its caller."""
        if position > 0:
            self._note_sent()
            if self._bucket is not None:
                self._bucket.spend(length_of(data))
        elif position == _core.NOT_CONNECTED:
            self._look()
            self._has_readers()  # the next offer may find enough of them
        elif position == _core.BACK_PRESSURED and self.is_rate_limited:
            return _core.RATE_LIMITED
        return position

    def _prepare_rate(self, rate: RateLimit) -> tuple[str, TokenBucket | None]:
        """The channel with another rate, and the token bucket if the publisher limits the rate."""
        if self._closed:
            raise self._closed_error()
        channel = with_rate(self.channel, rate)
        is_kept_here = self._link.client.is_aeron_driver
        return channel, self._bucket_for(channel) if is_kept_here else None

    # ---- waiting ----

    def _offer_again_steps(
        self, data: Encoded, reason: int, timeout_s: float | None, header: int | None = None
    ) -> Steps[int]:
        """Offer a refused message again until it is taken; returns the position after it.

        Before each offer it waits until the cause of the last refusal is gone: no reader, no room,
        or a lost driver.
        """
        waiting = Waiting(timeout_s)
        self._waits += 1
        self._waiting_count += 1
        try:
            while True:
                yield from self._cause_steps(waiting, reason, length_of(data))
                reason = self._offer_data(data, header)
                if reason > 0:
                    return reason
        finally:
            self._waiting_count -= 1
            self._waited_ns += int(waiting.waited_s * 1e9)

    def _cause_steps(self, waiting: Waiting, reason: int, length_bytes: int) -> Steps[None]:
        """Wait until the cause of a refusal is gone: no reader, no room, or a lost driver."""
        if reason == _core.NOT_CONNECTED:
            yield from self._wait_reader_steps(waiting.deadline_ns)
        elif reason == _core.BACK_PRESSURED:
            waiting.storage_since_ns = self._check_storage(waiting.storage_since_ns)
            yield from self._wait_room_steps(waiting.deadline_ns, waiting.rounds)
            waiting.rounds += 1
        elif reason != _core.ADMIN_ACTION:
            yield from self._recover_steps(reason, length_bytes)

    def _send_many_steps(
        self, messages: list[Encoded], start: int, timeout_s: float | None, first: int
    ) -> Steps[int]:
        """Send messages in order, each time as many as there is room for.

        Args:
            messages: encoded objects.
            start: the first of them to send.
            timeout_s: most seconds to wait for room for one.
            first: how many objects the call sent before these, for an error.
        Returns:
            The index of the first one that is not sent, because it travels in parts; or their
            number.
        """
        check_timeout(timeout_s)
        has_buffers = any(type(message) is list for message in messages)
        whole: list[Buffer] = messages  # pyright: ignore[reportAssignmentType] - no list among them
        try:
            while start < len(messages):
                if has_buffers:
                    taken, position = 0, self._offer_data(messages[start])
                else:
                    taken, position = self._offer_from(whole, start)
                if position <= 0:
                    if self._is_large(messages[start]):
                        return start
                    position = yield from self._offer_again_steps(
                        messages[start], position, timeout_s
                    )
                start += taken or 1
                self._note_sent()
            return start
        except CodecError as error:
            add_index(error, first + start)
            raise

    def _send_steps(
        self, data: Encoded, timeout_s: float | None, header: int | None = None
    ) -> Steps[int]:
        """Send one message, within the publisher's own rate if it has one; returns the position."""
        check_timeout(timeout_s)
        began_s = time.monotonic()
        yield from self._pace_steps(timeout_s)
        position = self._offer_data(data, header)
        if position <= 0:
            left_s = (
                None if timeout_s is None else max(0.0, timeout_s - (time.monotonic() - began_s))
            )
            position = yield from self._offer_again_steps(data, position, left_s, header)
        if self._bucket is not None:
            self._bucket.spend(length_of(data))
        self._note_sent()
        return position

    def _pace_steps(self, timeout_s: float | None) -> Steps[None]:
        waited_s = 0.0
        # The bucket is read anew each time: another task may change the rate meanwhile.
        while (
            self._bucket is not None
            and (delay_ns := self._bucket.delay_ns(time.monotonic_ns())) > 0
        ):
            delay_s = min(delay_ns / 1e9, 0.1)
            if timeout_s is not None and waited_s + delay_s > timeout_s:
                raise self._rate_error()
            yield Pause(delay_s)
            waited_s += delay_s

    def _wait_room_steps(self, deadline_ns: int | None, rounds: int) -> Steps[None]:
        remaining_s = WAIT_SLICE_S
        if deadline_ns is not None:
            remaining_s = min(remaining_s, (deadline_ns - time.monotonic_ns()) / 1e9)
            if remaining_s <= 0:
                raise self._held_error()
        yield from self._wait_once_steps(remaining_s, rounds)

    def _check_storage(self, since_ns: int) -> int:
        """Raise when storage has been missing for too long; returns since when it is (0: not)."""
        if self._core.held_by != _core.HELD_BY_STORAGE:
            return 0
        now_ns = time.monotonic_ns()
        if since_ns and now_ns - since_ns >= STORAGE_PATIENCE_S * 1e9:
            raise self._held_error()
        return since_ns or now_ns

    def _wait_once_steps(self, timeout_s: float, rounds: int = 0) -> Steps[None]:
        self._note_consumed()
        try:
            is_ready = yield Room(timeout_s)
        except DriverLost as error:
            yield from self._rejoin_steps(error)
            return
        if self._closed or self._is_ending:
            raise self._closed_error()
        if is_ready and rounds > 1:
            yield Pause(0.0002)  # the room is too small for this message: do not spin
        elif not is_ready and not self._link.is_alive:
            yield from self._recover_steps(_core.CLOSED, 0)

    def _wait_reader_steps(self, deadline_ns: int | None) -> Steps[None]:
        alone = Alone()
        self._look()
        while not self._has_readers():
            self._check_alone(alone)
            if deadline_ns is not None and time.monotonic_ns() >= deadline_ns:
                raise self._alone_error(alone.waited_s)
            yield from self._wait_once_steps(0.05)
            if not self._core.is_connected or self._is_gated:
                yield Pause(0.001)

    def _check_alone(self, alone: Alone) -> None:
        """Note that no reader is there: log it once, and do not wait for ever.

        Raises:
            NotConnected: none came within ``connect_timeout_s``, or none will.
            RemoteError: the last one left with an error.
        """
        self._check_accepted()
        limit_s, waited_s = self.connect_timeout_s, alone.waited_s
        if self._why_gone() or (limit_s is not None and waited_s >= limit_s):
            raise self._alone_error(waited_s)
        if waited_s >= NOTICE_AFTER_S and not alone.has_noticed:
            alone.has_noticed = True
            self.say_alone("without a limit" if limit_s is None else f"up to {limit_s:g} s")

    def _all_consumed_steps(self, position: int | None, timeout_s: float | None) -> Steps[bool]:
        """What ``wait_consumed`` of each face does.

        Raises:
            MessagesLost: see :meth:`_check_lost`.
        """
        if not self._reader_error:  # which says more, and is raised while no other reader comes
            self._check_lost()
        wanted = self._core.position if position is None else position
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        is_consumed = yield from self._wait_consumed_steps(wanted, deadline_s, give_up_alone=False)
        self._look()  # a reader that came meanwhile may stand behind what the last one missed
        self._check_lost()
        return is_consumed

    def _wait_consumed_steps(
        self, wanted: int, deadline_s: float | None, *, give_up_alone: bool
    ) -> Steps[bool]:
        """Wait until every reader has consumed up to a position; False at the deadline."""
        # Consumption wakes no thread, so this looks again after growing pauses of 50 µs to 2 ms.
        pause_s = 0.00005
        core = self._core
        alone: Alone | None = None
        awaited: Return | None = None
        while core.consumed_position < wanted:
            if self._closed:
                raise self._closed_error()
            self._note_consumed()
            if deadline_s is not None and time.monotonic() >= deadline_s:
                return False
            if not self._link.is_alive or self._core is not core:
                raise DriverLost(f"{self._where()}: the driver was lost while waiting for readers")
            if self._core.is_connected:
                alone = awaited = None
            elif give_up_alone:
                awaited = awaited or Return(self._may_come)
                if not self._may_return(awaited):
                    return False
            else:
                alone = alone or Alone()
                self._check_alone(alone)
                # The driver tells a reader's error, which says more, a moment after it has left.
                if not self._reader_error and alone.waited_s >= END_LINGER_S:
                    self._check_lost()
            yield Pause(pause_s)
            pause_s = min(0.002, pause_s * 1.5)
        self._note_consumed()
        return True

    def _may_return(self, awaited: Return) -> bool:
        """For a closing publisher without a reader: whether to wait for one."""
        was_promised = awaited.is_promised
        if self._reader_error or not awaited.may_be():
            return False
        if awaited.is_promised and not was_promised:
            self._log(
                "%s: closes, and no reader is there for what is unread: waits for one, "
                "linger_s at most",
                self._where(),
            )
        return True

    # ---- errors ----

    def _encode_one(self, obj: T) -> Encoded:
        """The message. Raises CodecError, which says what cannot be encoded, and where."""
        with self._lock:
            try:
                return self._encode(obj)
            except Exception as error:
                raise_of_handler(error)
                raise self._encode_error(obj, error) from error

    def _on_unencodable(self, obj: T, error: Exception) -> Encoded:
        """The C base calls it when the quick encoder has raised."""
        raise_of_handler(error)
        if self._quick_encode == self._encode:
            raise self._encode_error(obj, error) from error
        data = self._encode_one(obj)  # the codec's own encode raises a better error
        self._quick_encode = self._encode  # the next objects may be like this one
        return data

    def _encode_error(self, obj: object, error: Exception) -> CodecError:
        return encode_error(self._where(), obj, error)

    def _buffer_error(self, data: Encoded, error: Exception) -> CodecError:
        return buffer_error(self._where(), self._codec, data, error)

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"{self._where()}: this publisher is closed", channel=self.channel)

    def _alone_error(self, waited_s: float) -> NotConnected:
        missing = "no subscriber"
        hint = (
            f"start the reader with the same driver directory ({self._link.directory}) and the "
            "same name; over UDP the endpoint is the reader's address; `rstream stat` lists the "
            "readers"
        )
        if why := self._why_gone():
            missing = f"{missing} any more: {why}; it was away"
            hint = "open another reader, and give its handle to the writers"
        if self._is_gated:
            missing = f"{self._reader_count()} of {self.wait_for} subscribers"
        elif (wanted := ChannelUri.parse(self.channel).group_size) > 1 and self._reader_count():
            missing = f"{self._reader_count()} of {wanted} receivers of its group"
            hint = (
                "the channel's fc= says how many receivers it waits for; readers of one driver at "
                "one address are one receiver"
            )
        return NotConnected(
            f"{self._where()}: {missing} for {waited_s:.1f} s"
            f"{self._why_alone()}{self._last_seen()}",
            hint=hint,
            **self._place(),
        )

    def _last_seen(self) -> str:
        if self._reached == 0:
            return ""
        consumed, gap = self._consumed, self._last_gap
        if gap is not None and (gap.session_id, gap.to_position) == (
            self._core.session_id,
            consumed,
        ):
            consumed = gap.from_position
        return f"; the last reader had consumed up to {consumed} of {self._reached}"

    def _late_error(self, waited_s: float) -> BackPressured | StorageError | NotConnected:
        """The error of a message not sent in time: no room, or no reader."""
        return self._held_error() if self._has_readers() else self._alone_error(waited_s)

    def _too_large(self, length_bytes: int, most_bytes: int | None = None) -> MessageTooLarge:
        if self.name:
            hint = "give the publisher and its readers a larger max_message_length, or cut it"
        else:
            hint = (
                "a stream without a name takes an eighth of its term, and 16 MiB at most: raise "
                "term-length, or give the stream a name, so that long messages travel in parts"
            )
        return MessageTooLarge(
            f"{self._where()}: a message of {length_bytes} bytes; at most "
            f"{most_bytes or self.max_message_length} fit",
            hint=hint,
            **self._place(),
        )

    def _rate_error(self) -> BackPressured:
        reader = None if self._closed or self._is_over_rate() else self._holder(is_report=True)
        why, hint = "", "send less, wait longer, or give it another rate (set_rate)"
        if reader is not None:
            why = f": it follows what {reader.name} takes"
            hint = "make that reader faster (`rstream why`), send less, or wait longer"
        error = BackPressured(
            f"{self._where()}: its rate left no room in time{why}", hint=hint, **self._place()
        )
        error.held_by = HeldBy.RATE
        return error

    def _storage_error(self, needed: int, usable: int) -> StorageError:
        if usable < 0:
            return StorageError(
                f"{self._where()}: no room: its log stands at position {self._core.position}, and "
                f"the driver in {self._link.directory} could not open it to make room",
                hint="`rstream errors` says why; too many open files: raise the driver's limit "
                "(ulimit -n, LimitNOFILE=)",
            )
        error = StorageError(
            f"{self._where()}: no room: its log stands at position {self._core.position}, the next "
            f"term needs {needed} bytes, and {usable} are usable in {self._link.directory}: "
            f"{needed - usable} bytes are missing",
            hint="enlarge that file system (Docker: --shm-size), use smaller terms (term-length) "
            "or fewer streams, or choose another driver directory (RSTREAM_DIR)",
        )
        error.needed, error.missing = needed, max(0, needed - usable)
        return error

    def _held_error(self) -> BackPressured | StorageError:
        """The error when there was no room in time; ``held_by`` names the cause."""
        if self.is_rate_limited:
            return self._rate_error()
        needed, usable = self._core.storage
        if needed > 0:
            return self._storage_error(needed, usable)
        held_by = self._held_by_readers()
        more, hint = HELD_TEXTS.get(held_by, HELD_TEXTS[HeldBy.WINDOW])
        reader = self._holder(is_report=False)
        whose = "" if reader is None else f"; the slowest reader is {reader.name}"
        error = BackPressured(
            f"{self._where()}: no room; the readers have consumed up to "
            f"{self._core.consumed_position} of {self._core.position}, "
            f"{self._core.unread_bytes} bytes are unread{more}{whose}",
            hint=hint,
            **self._place(),
        )
        error.held_by = held_by
        return error

    # ---- refused offers and a lost driver ----

    def _must_join_again(self, reason: int, length_bytes: int) -> bool:
        """Raise the error of a refused offer. True: the driver was lost. False: offer again."""
        if self._closed or self._is_ending:
            raise self._closed_error()
        if reason == _core.MAX_POSITION_EXCEEDED:
            raise MaxPositionExceeded(
                f"{self._where()}: all 2**31 terms are used",
                hint="open a new publisher, or one with longer terms",
                **self._place(),
            )
        if not self._link.is_alive or (self._core.is_closed and self._link.is_shared):
            return True
        if length_bytes > self._core.max_message_length:
            raise self._too_large(length_bytes)
        if reason == _core.CLOSED:
            raise ClosedError(f"{self._where()}: its publication was closed", **self._place())
        if reason == _core.ERROR:
            raise RStreamError(f"{self._where()}: the message was refused: {_core.last_error()}")
        return False

    def _is_large(self, data: Encoded) -> bool:
        """Whether a message travels in parts.

        Raises:
            MessageTooLarge: it is longer than this publisher may send.
        """
        length_bytes = length_of(data)
        if length_bytes > self.max_message_length:
            raise self._too_large(length_bytes)
        return length_bytes > self._core.max_message_length

    def _recover_steps(self, reason: int, length_bytes: int) -> Steps[None]:
        """Raise the error of a refused offer, or join again when the driver was lost."""
        if self._must_join_again(reason, length_bytes):
            yield from self._rejoin_steps(None)

    def _rejoin_steps(self, error: Exception | None) -> Steps[None]:
        """Join again through a living driver, which is started if there is none."""
        if self._link.is_closed:
            raise ClosedError(f"{self._where()}: its client was closed", channel=self.channel)
        if not self._link.is_shared:
            raise error or DriverLost(
                f"{self._where()}: the driver was lost, "
                "and the caller's own client cannot join again"
            )
        if self._has_joined:
            return
        if self._is_ending:
            raise self._closed_error()
        self._log(
            "%s: session %d: %s; joining again",
            self._where(),
            self._core.session_id,
            self._link.why_lost,
        )
        deadline_s = time.monotonic() + _session.REJOIN_TIMEOUT_S
        while not self._has_joined:
            try:
                yield Work(self._join_again)
                return
            except DriverError as why:  # the new driver may have died as well
                if time.monotonic() >= deadline_s:
                    raise
                self._log("driver directory %s: not yet back: %s", self._link.directory, why)
            yield Pause(0.1)

    @property
    def _has_joined(self) -> bool:
        """Whether it has a driver: another thread may have joined during a wait."""
        return self._link.is_alive and not self._core.is_closed

    def _join_again(self) -> None:
        """One attempt, with its events: the caller that waits for it may have been cancelled."""
        old_session_id, reached = self._core.session_id, self._reached
        why = self._link.why_lost
        link = _session.renew(self._link, timeout_s=0)
        try:
            self._join(link)
        finally:
            self._link = link
        self._rejoins += 1
        self._events.append(
            SessionChanged(
                old_session_id=old_session_id, new_session_id=self._core.session_id, reason=why
            )
        )
        self._report_gap(old_session_id, reached, why)
        self._reached = self._consumed = 0
        self._before = -1
        self._was_connected = False

    # ---- the end ----

    def _end_steps(self, kind: int, end: BaseException | str, linger_s: float) -> Steps[None]:
        """Send the end of the stream, and wait until readers have consumed what was sent before it.

        The caller calls :meth:`_let_go` afterwards.
        """
        deadline_s = time.monotonic() + linger_s
        data_end = self._core.position
        try:
            if (yield from self._send_end_steps(kind, end, deadline_s)):
                is_read = yield from self._wait_consumed_steps(
                    data_end, deadline_s, give_up_alone=True
                )
                if is_read:
                    yield from self._wait_end_seen_steps(deadline_s)
                elif self._core.is_connected and linger_s > 0:
                    end_bytes = self._core.position - data_end  # of what was sent just now
                    self._log(
                        "%s: closed after linger_s=%g with %d bytes unread; readers get them while "
                        "the driver lives",
                        self._where(),
                        linger_s,
                        self._core.unread_bytes - end_bytes,
                    )
            self._look()
            if linger_s > 0:
                yield from self._reason_steps(data_end)
            if self._link.is_alive and not self._core.is_connected:
                self._end_error = self._failure_of_reader(data_end) or self._lost_to(data_end)
                self._report_gap(self._core.session_id, self._reached, "closed without readers")
        except DriverError as error:
            self._log("%s: closed without its driver: %s", self._where(), error)
            self._report_gap(self._core.session_id, self._reached, "closed without its driver")

    def _lost_to(self, data_end: int) -> MessagesLost | None:
        """The error of what a reader had not consumed, if none will ever come; else None."""
        why = self._why_gone()
        if self._waits_for_ever:
            why = why or "its last reader has left, and no other one came"
        if not why or not self._is_unread(data_end):
            return None
        return MessagesLost(
            f"{self._where()}: not all that was sent is known to be consumed: {why}",
            hint="events() says from which position on; send that to another reader",
        )

    def _reason_steps(self, data_end: int) -> Steps[None]:
        """Wait for the error of a reader that has just left: the driver tells it a moment later."""
        until_s = time.monotonic() + END_LINGER_S
        while (
            self._is_unread(data_end)
            and not (self._reader_error or self._core.is_connected)
            and self._link.is_alive
            and time.monotonic() < until_s
        ):
            yield Pause(0.001)
            self._look()

    def _wait_end_seen_steps(self, deadline_s: float) -> Steps[None]:
        """Give the readers a moment to see the end if the driver may go when this has returned.

        A shared driver keeps the end for a reader that is busy, or has all it wants and never asks.
        A driver of this process often ends next, with what its readers have not seen.
        """
        if runs_here(self._link.directory):
            soon_s = min(deadline_s, time.monotonic() + END_LINGER_S)
            yield from self._wait_consumed_steps(self._core.position, soon_s, give_up_alone=True)

    def _send_end_steps(
        self, kind: int, end: BaseException | str, deadline_s: float
    ) -> Steps[bool]:
        """Send the end of the stream, which does not wait behind data. False: no reader is there.

        It waits only while the publisher's limit lies far below what was sent, as after readers
        have left.
        """
        awaited: Return | None = None
        while True:
            reason = self._say_end(kind, end)
            if reason > 0:
                return True
            if reason == _core.NOT_CONNECTED and self._is_unread(self._core.position):
                awaited = awaited or Return(self._may_come)
                if time.monotonic() >= deadline_s or not self._may_return(awaited):
                    return False
                yield Pause(0.002)
                continue
            if reason not in (_core.BACK_PRESSURED, _core.ADMIN_ACTION):
                return False
            remaining_s = deadline_s - time.monotonic()
            if remaining_s <= 0:
                self._log(
                    "%s: its end could not be sent; readers will see it as lost", self._where()
                )
                return False
            yield Room(min(remaining_s, WAIT_SLICE_S))

    def _say_end(self, kind: int, end: BaseException | str) -> int:
        """Try to send the end of the stream; the position if that was done, now or before."""
        if self._end_position <= 0 and not self._core.is_closed:
            header = header_of(kind, self._codec.codec_id, self.name)
            data = encode_failure(end, self._core.max_control_length)
            self._end_position = self._core.offer_control(data, header)
        return self._end_position

    def _let_go(self) -> None:
        """Closed from now on; takes about a millisecond. It may be called again."""
        self._closed = True
        self._see_positions()
        self._core.close()
        _session.release(self._link)


def at_hand(objects: Iterable[T]) -> Sequence[T] | None:
    """The objects if all are there at once: a list, tuple or range.

    The next object of another iterable may take long.
    """
    if isinstance(objects, (list, tuple, range)):
        return objects  # pyright: ignore[reportReturnType] - T is int with a range
    return None


def length_of(data: Encoded) -> int:
    """Bytes of an encoded object; 0: it has none, and its offer will raise."""
    try:
        if type(data) is list:
            return sum(memoryview(part).nbytes for part in data)
        if isinstance(data, bytes):
            return len(data)
        return memoryview(data).nbytes  # pyright: ignore[reportArgumentType] - not a list
    except NO_BUFFER:
        return 0
