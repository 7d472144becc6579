"""The publisher for threads: its waits block the calling thread (``_thread_turns.py``)."""

from __future__ import annotations

import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from rstream import _core
from rstream._checks import check_seconds, check_timeout
from rstream._later_log import LaterLog
from rstream._process import quiet_at_exit
from rstream._unclosed import call_site
from rstream._with_hints import refuses_async_with
from rstream.errors import CodecError, ConcurrentUseError
from rstream.stream._end import is_failure, linger_after
from rstream.stream._names import KIND_COMPLETE, KIND_ERROR, KIND_PLAIN
from rstream.stream._publisher_facts import PublisherFacts
from rstream.stream._sending import (
    CHUNK,
    GIVE_WAY_PAUSE_S,
    Sending,
    SendSettings,
    Waiting,
    at_hand,
    length_of,
)
from rstream.stream._thread_turns import ThreadTurns
from rstream.stream._unsendable import add_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from rstream._facts import SlowestReader
    from rstream._session import Link
    from rstream.codecs import Codec, Encoded
    from rstream.rate import RateLimit
    from rstream.stream._events import StreamEvent
    from rstream.stream._parts import PartedMessage

__all__ = ("SET_RATE_TIMEOUT_S", "Publisher", "send_encoded")

#: Most seconds that a change of rate waits for the driver.
SET_RATE_TIMEOUT_S = 10.0
#: Refusals that are waited for; a new offer at once would most likely be refused again.
HELD = (_core.BACK_PRESSURED, _core.NOT_CONNECTED)

T = TypeVar("T")


@final
@refuses_async_with(
    "`with rstream.publisher(...)`, or `async with rstream.aio.publisher(...)` in an event loop"
)
class Publisher(PublisherFacts[T]):
    """Sends objects into a stream; made by :func:`rstream.publisher`.

    Threads may share it. Messages go out whole, and those of one thread in its order. A call that
    waits holds no other one up: meanwhile they send, or wait too. The lock costs a ``send`` about
    75 ns (docs/reference/performance.md).

    A message longer than :attr:`max_unparted_length` travels in parts of 64 KiB; messages of other
    threads pass between them, also a shorter one that another thread sends later. Of two such
    long messages the second one waits for the first.

    Each publisher is a session of its own, so several of one name may live in one process or in
    many. When the media driver dies, the next call starts it again and joins with a new session.
    Bytes that may not have been consumed are reported as a :class:`Gap` in :meth:`events`; so they
    are when the last reader goes.
    """

    def __init__(self, link: Link, settings: SendSettings, codec: Codec[T]) -> None:
        later = LaterLog()
        sending = Sending(link, settings, codec, later)
        self._turns = ThreadTurns(sending, later)
        self._bind(sending, call_site())
        _publishers.add(self)

    @quiet_at_exit
    def set_rate(self, rate: RateLimit, *, timeout_s: float = SET_RATE_TIMEOUT_S) -> None:
        """Another rate from now on, such as ``rate.Fixed("50MB/s")``.

        Args:
            rate: the law, which begins anew; it also holds after a driver was lost.
            timeout_s: how long to wait for the driver.
        Raises:
            DriverError: it refused, or did not answer. ClosedError: closed here.
            NotSupported: an Aeron driver, and the law is neither fixed nor unlimited.
        """
        check_timeout(timeout_s)
        session, lock = self._sending.session, self._sending.state.lock
        with lock:
            channel, bucket = session.prepare_rate(rate)
            core, is_ours = session.core, not session.link.client.is_aeron_driver
        if is_ours:
            core.set_rate(rate.to_text(), timeout_s)
        with lock:
            session.state.bucket = bucket
            session.settings.channel = channel

    def slowest_reader(self) -> SlowestReader | None:
        """The reader that has consumed least: it holds the stream back when its buffer is full.

        Cost: about a millisecond, to read the driver's counters.

        Returns:
            None: there is no reader, or the driver is Aeron's.
        """
        return None if self.is_closed else self._sending.readers.slowest()

    def revive(self) -> None:
        """Join again if the driver was lost: for a publisher that has nothing to send."""
        session = self._sending.session
        with session.state.lock:
            if session.is_closed or session.is_ending:
                return
            is_alive = session.link.is_alive
            if is_alive:
                self._sending.readers.look()
            is_shared = session.link.is_shared
        self._turns.say()
        if is_shared and not is_alive:
            self._turns.run(self._sending.rejoin.steps(None))

    def events(self) -> list[StreamEvent]:
        """The events since the last call, oldest first: readers come and gone, session changes,
        gaps. Joins again if the driver was lost (:meth:`revive`).
        """
        self.revive()
        return self._sending.losses.take_events()

    # ---- sending ----

    # At run time these are methods of C, which have the docstrings. The methods of Python below do
    # what is more than to encode, offer and count.
    if TYPE_CHECKING:

        def send(self, obj: T, *, timeout_s: float | None = None) -> int:
            """Send one object; wait for room, and for a first subscriber."""
            ...

        def offer(self, obj: T) -> int:
            """Try to send one object at once."""
            ...

    else:
        send = _core.SendPath._send
        offer = _core.SendPath._offer

    @property
    def sent_position(self) -> int:
        """Position behind what was sent last; 0: nothing yet, below 0: closed. An offer that is
        refused leaves it: only :attr:`position` counts the padding at the end of a term.
        """
        return self._sending.session.core.sent_position

    def _send_slowly(self, obj: T, *, timeout_s: float | None = None) -> int:
        check_timeout(timeout_s)
        return self._send_encoded(self._sending.offers.encode(obj), timeout_s=timeout_s)

    _send_slowly.__qualname__ = "Publisher.send"  # for the text of a TypeError

    def _send_encoded(
        self,
        data: Encoded,
        refusal: int = 0,
        *,
        timeout_s: float | None = None,
        kind: int = KIND_PLAIN,
    ) -> int:
        """The rest of :meth:`send`; the C base calls it.

        Args:
            data: the message.
            refusal: with which its offer was refused a moment ago; 0: it was not offered.
            timeout_s: as for :meth:`send`.
            kind: of the message.
        """
        sending = self._sending
        header = None if kind == KIND_PLAIN else sending.offers.header(kind)
        self._turns.say()
        with sending.state.lock:
            if refusal not in HELD and sending.state.bucket is None:
                refusal = sending.offers.offer(data, header)
                if refusal > 0:
                    sending.offers.note_sent()
                    return refusal
            is_large = sending.offers.is_large(data)
        if is_large:
            return self._send_large(data, timeout_s)
        if refusal not in HELD:  # another thread may mend it before the steps begin
            refusal = 0
        return self._turns.run(sending.waits.send_steps(data, timeout_s, header, refusal))

    def _send_large(self, data: Encoded, timeout_s: float | None) -> int:
        """Send a message in parts; the lock is free between them."""
        check_timeout(timeout_s)
        sending, turn = self._sending, self._turns.large
        if turn.is_mine:
            raise ConcurrentUseError(
                f"{sending.settings.where()}: this thread is in the middle of a message that "
                "travels in parts",
                hint="do not send such a message in a signal handler, or open another publisher",
            )
        with turn.within(float("inf") if timeout_s is None else timeout_s) as is_inside:
            if not is_inside:
                raise sending.errors.late(timeout_s or 0.0)
            large = sending.under_way
            try:
                with sending.state.lock:
                    message = sending.parted.take_up(data)
                return self._send_rest(message, timeout_s)
            finally:
                if large.message is not None:  # at once, without a call: another may interrupt
                    large.untold += (large.message,)
                    sending.state.direct = large.message = None
                    self._drop_large()

    def _drop_large(self) -> None:
        with self._sending.state.lock:
            self._sending.parted.put_down()

    def _send_in_segment(self, message: PartedMessage, timeout_s: float | None) -> int:
        """Send a message in a shared segment; 0: it must go in parts."""
        sending, turns = self._sending, self._turns
        turns.run(sending.waits.pace_steps(timeout_s))
        waiting = Waiting(timeout_s)
        try:
            while sending.segments.may_use(message):
                core = sending.session.core
                number = core.fill_segment(message.buffers)  # without the lock
                if number >= 0:
                    try:
                        steps = sending.segments.steps(core, number, message, waiting)
                        if (position := turns.run(steps)) > 0:
                            return position
                    finally:
                        core.drop_segment(number)
                elif number == _core.BACK_PRESSURED:
                    turns.run(sending.segments.free_steps(waiting))
                else:
                    break
            return 0
        finally:
            if waiting.rounds:
                sending.waits.count += 1
                sending.waits.waited_ns += int(waiting.waited_s * 1e9)

    def _send_rest(self, message: PartedMessage, timeout_s: float | None = None) -> int:
        position = 0
        if not message.is_begun:
            position = self._send_in_segment(message, timeout_s)
        while not message.is_sent:
            position = self._turns.run(self._sending.parted.part_steps(message, timeout_s))
            if self._sending.state.lock.is_contended:
                time.sleep(GIVE_WAY_PAUSE_S)  # else this thread would be in again first
        return position

    def _offer_slowly(self, obj: T) -> int:
        return self._offer_encoded(self._sending.offers.encode(obj))

    _offer_slowly.__qualname__ = "Publisher.offer"

    def _offer_encoded(self, data: Encoded, _refusal: int = 0) -> int:
        """The rest of :meth:`offer`; the C base calls it."""
        sending = self._sending
        offers = sending.offers
        with sending.state.lock:
            if sending.session.is_over_rate():
                return _core.RATE_LIMITED
            position = offers.offer(data)
            is_over = position > _core.CLOSED
            if is_over:
                position = offers.note_offered(position, data)
            is_large = not is_over and offers.is_large(data)
        self._turns.say()
        if is_over:
            return position
        if is_large:
            return self._offer_large(data)
        self._turns.run(sending.waits.recover_steps(position, length_of(data)))
        with sending.state.lock:
            return offers.note_offered(offers.offer(data), data)

    def _offer_large(self, data: Encoded) -> int:
        sending, turn = self._sending, self._turns.large
        if turn.is_mine:  # in a signal handler
            return _core.BACK_PRESSURED
        with turn.within(0) as is_inside:
            if not is_inside:
                return _core.BACK_PRESSURED
            large = sending.under_way
            try:
                with sending.state.lock:
                    message = sending.parted.take_up(data)
                    position = self._offer_first(message)
                    if _core.CLOSED < position < 0 or message.is_sent:
                        offers = sending.offers
                        return position if position > 0 else offers.note_offered(position, data)
                return self._send_rest(message)
            finally:
                if large.message is not None:  # at once, without a call: another may interrupt
                    large.untold += (large.message,)
                    sending.state.direct = large.message = None
                    self._drop_large()

    def _offer_first(self, message: PartedMessage) -> int:
        """Offer a message in a segment, else its first part."""
        segments = self._sending.segments
        if segments.may_use(message):
            core = self._sending.session.core
            if segments.must_wait(core, message):  # before it is copied
                return _core.BACK_PRESSURED
            number = core.fill_segment(message.buffers)
            if number == _core.BACK_PRESSURED:
                return number
            if number >= 0:
                position = segments.offer(core, number, message)
                if position > 0:
                    segments.note_sent(message, position)
                else:
                    core.drop_segment(number)
                return position
        return self._sending.parted.offer_part(message)

    def send_many(self, objects: Iterable[T], *, timeout_s: float | None = None) -> int:
        """Send all objects in order: the fastest way to send a list.

        A list, tuple or range is sent in chunks of 256. Of any other iterable each object is sent
        before the next one is asked for, because that may take long. After a signal handler that
        raised, an iterator may have given objects that were not sent, and
        ``statistics()["messages"]`` says how many were: to go on exactly, give a list.

        Args:
            objects: what the codec takes.
            timeout_s: most seconds to wait for room for one object.
        Returns:
            How many were sent: all.
        Raises:
            RStreamError: as for :meth:`send`. The objects before the one that failed were sent; a
                CodecError says which one it is.
            Exception: of the iterable; the objects that it gave before were sent.
        """
        ready = at_hand(objects)
        if ready is None:
            return self._send_each(objects, timeout_s, 0)
        for start in range(0, len(ready), CHUNK):
            self._send_chunk(ready[start : start + CHUNK], timeout_s, start)
        return len(ready)

    def _send_each(self, objects: Iterable[T], timeout_s: float | None, first: int) -> int:
        count = first
        for obj in objects:
            try:
                self.send(obj, timeout_s=timeout_s)
            except CodecError as error:
                add_index(error, count)
                raise
            count += 1
        return count

    def _send_chunk(self, chunk: Sequence[T], timeout_s: float | None, first: int) -> None:
        sending = self._sending
        if sending.state.bucket is not None:
            self._send_each(chunk, timeout_s, first)
            return
        with sending.state.lock:
            messages, failure = sending.offers.encode_all(chunk, first)
        start = 0
        while start < len(messages):
            steps = sending.waits.send_many_steps(messages, start, timeout_s, first)
            start = self._turns.run(steps)
            if start < len(messages):
                self._send_large(messages[start], timeout_s)
                start += 1
        if failure is not None:
            raise failure

    def flush(self) -> None:
        """Does nothing: a message that was sent is in the log already."""

    # ---- the end ----

    def wait_consumed(self, position: int | None = None, *, timeout_s: float | None = None) -> bool:
        """Wait until every reader has consumed up to ``position`` (UDP: as status messages say).

        What a reader's ``poll`` or ``get`` returned is consumed. The items of a loop are when it
        asks for more than it has polled, or in parts when it is slow. A policy with a queue
        consumes for its reader. What waits in an operator of :mod:`rstream.rx` is not consumed.

        Args:
            position: bytes of the stream; None: what was sent so far.
            timeout_s: None: as long as readers are there.
        Returns:
            False: not within ``timeout_s``.
        Raises:
            MessagesLost: something that was sent before may be lost: the driver ended, or the last
                reader left without it. Once for each such :class:`Gap`, and not if :meth:`events`
                has told it. The next call waits for the rest.
            NotConnected: no reader for ``connect_timeout_s`` (a notice is logged after 2 s).
            RemoteError: the last reader left with an error.
            ClosedError: closed here.
        """
        check_timeout(timeout_s)
        self._check_open()
        return self._turns.run(self._sending.waits.all_consumed_steps(position, timeout_s))

    def _check_open(self) -> None:
        self._sending.session.check_open()

    def fail(self, error: BaseException | str, *, linger_s: float | None = None) -> None:
        """End the stream with an error; readers raise it as :class:`RemoteError`.

        Args:
            error: the exception, or its text.
            linger_s: as for :meth:`close`.
        Raises:
            ClosedError: it has ended already; readers cannot be told any more.
        """
        self._check_open()
        self._end(KIND_ERROR, error, linger_s)

    def close(self, *, linger_s: float | None = None) -> None:
        """Say that the stream is complete, and wait until readers have consumed what was sent.
        Idempotent.

        From then on sending and waiting raise :class:`ClosedError`, also a wait under way. While
        one thread closes, ``close`` of another one returns at once. In a forked child it does
        nothing: the stream is the parent's.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with. What is left then,
                and the end, are still delivered while the driver lives. A driver of this process
                (:class:`rstream.Driver`) may not live long: with one, close also waits for
                readers to see the end, 0.1 s at most.
        """
        if not self._sending.session.forget_inherited():
            self._end(KIND_COMPLETE, self.name, linger_s)

    def _end(self, kind: int, end: BaseException | str, linger_s: float | None) -> None:
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        sending, turn = self._sending, self._turns.end
        if turn.is_mine:  # in a signal handler
            return
        with turn.within(0) as is_inside:
            if not is_inside:
                return
            if sending.session.is_closed:
                sending.ending.let_go()  # perhaps an interrupt ended that
                return
            with sending.state.lock:
                sending.session.is_ending = True
                sending.session.refuse(_core.CLOSED)  # no message may follow the end
            linger_s = self.linger_s if linger_s is None else linger_s
            try:
                self._turns.run(sending.ending.steps(kind, end, linger_s))
            finally:
                with sending.state.lock:
                    sending.ending.say(kind, end)  # unless its steps did
                sending.ending.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        linger_s = linger_after(exc, self.linger_s)
        # A forked child leaves the block of its parent.
        if self._sending.session.forget_inherited():
            return
        if exc is not None and is_failure(exc):
            self._end(KIND_ERROR, exc, linger_s)
        else:
            self.close(linger_s=linger_s)
            error = self._sending.ending.error
            if exc is None and linger_s > 0 and error is not None:
                raise error


_publishers: weakref.WeakSet[Publisher[Any]] = weakref.WeakSet()


def _make_locks_in_child() -> None:
    for publisher in list(_publishers):
        publisher._turns.renew()  # pyright: ignore[reportPrivateUsage] - same file


os.register_at_fork(after_in_child=_make_locks_in_child)


def send_encoded(
    publisher: Publisher[Any], data: Encoded, timeout_s: float | None, *, kind: int = KIND_PLAIN
) -> int:
    """As :meth:`Publisher.send`, for what is encoded by a codec like this publisher's.

    Args:
        publisher: whose stream.
        data: the message.
        timeout_s: as for :meth:`Publisher.send`.
        kind: another one than plain goes with a short message only.
    """
    send = publisher._send_encoded  # pyright: ignore[reportPrivateUsage] - same file
    return send(data, timeout_s=timeout_s, kind=kind)
