"""The publisher for threads: its waits block the calling thread.

Two locks. ``_lock`` guards the publisher. A call holds it while it encodes, offers, joins again or
reads facts, and never during a wait. It is reentrant, so that a signal handler may use the
publisher that it interrupts. ``_room`` is held by the one thread that waits in the transport; the
others wait for ``_room``, and then look at the transport themselves. Order: ``_room`` is never
taken inside ``_lock``. What is said under ``_lock`` is logged when it is free (``_later_log.py``).
"""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rstream import _core
from rstream._checks import check_seconds, check_timeout
from rstream._greenlets import check_may_wait
from rstream._later_log import LaterLog
from rstream._process import park_at_exit, quiet_at_exit
from rstream._waits import Room, perform, run_in_turns
from rstream._with_hints import refuses_async_with
from rstream.errors import ClosedError, CodecError, ConcurrentUseError
from rstream.stream._end import is_failure, linger_after
from rstream.stream._large import GIVE_WAY_PAUSE_S
from rstream.stream._names import KIND_COMPLETE, KIND_ERROR, KIND_PLAIN, header_of
from rstream.stream._segments import SegmentSender
from rstream.stream._sender import CHUNK, SET_RATE_TIMEOUT_S, Waiting, at_hand, length_of
from rstream.stream._unsendable import add_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from rstream._waits import Step, Steps
    from rstream.codecs import Encoded
    from rstream.rate import RateLimit
    from rstream.stream._events import StreamEvent
    from rstream.stream._parts import PartedMessage
    from rstream.stream._session import Link

#: How often a wait looks in a signal handler that has interrupted another wait.
HANDLER_PAUSE_S = 0.001

T = TypeVar("T")
R = TypeVar("R")


@refuses_async_with(
    "`with rstream.publisher(...)`, or `async with rstream.aio.publisher(...)` in an event loop"
)
class Publisher(SegmentSender[T]):
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

    def __init__(self, link: Link, **address: Any) -> None:
        self._make_locks()
        self._later = LaterLog()
        super().__init__(link, **address)
        _publishers.add(self)

    def _make_locks(self) -> None:
        """New locks: in a forked child the threads that held the old ones do not exist."""
        self._lock = _core.Turn()
        self._room = _core.Turn()
        self._large_turn = _core.Turn()  # held while a message travels in parts
        self._end_turn = _core.Turn()  # held by the thread that closes

    def _run(self, steps: Steps[R]) -> R:
        try:
            return run_in_turns(steps, self._wait, self._lock)
        except ClosedError:
            self._park_at_exit()
            raise
        finally:
            if self._link.is_closed:  # a wait for readers is over, and close tells what is unread
                self._park_at_exit()
            if self._later.waiting:
                self._say()

    def _park_at_exit(self) -> None:
        if not self._owner:  # else its face knows what to do
            park_at_exit()

    def _log(self, text: str, *arguments: object) -> None:
        self._later.add(self._log_level, text, *arguments)
        self._direct = None  # the next send takes the long way, and says it

    def say_alone(self, how_long: str) -> None:
        """Log that it waits for a subscriber; not while a handler of this log waits here."""
        if self._later.may_notice:
            super().say_alone(how_long)

    def _say(self) -> None:
        """Log what was said under the lock; without it."""
        with self._lock:
            if self._refusal == 0:
                self._accept()
        self._later.say()

    def _wait(self, step: Step) -> object:
        if self._later.waiting:
            self._say()
        if not isinstance(step, Room):
            return perform(step)
        check_may_wait()
        deadline_s = time.monotonic() + step.seconds
        if self._room.is_mine:  # in a signal handler that interrupted this very wait
            time.sleep(min(step.seconds, HANDLER_PAUSE_S))
            return False
        with self._room.within(step.seconds) as is_inside:
            if not is_inside:
                return False
            core = self._core
            with suppress(ClosedError):  # the next offer says whether it was closed for good
                return core.wait(max(0.0, deadline_s - time.monotonic()))
            return True

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
        with self._lock:
            channel, bucket = self._prepare_rate(rate)
            core, is_ours = self._core, not self._link.client.is_aeron_driver
        if is_ours:
            core.set_rate(rate.to_text(), timeout_s)
        with self._lock:
            self._bucket = bucket
            self.channel = channel

    def make_waiter(self) -> _core.Waiter:
        """A waiter that wakes when the readers' demand changes, or a reader comes or goes.

        It serves the present session; after a rejoin another one is needed.
        """
        waiter = self._link.client.core.waiter()
        waiter.attach_demand(self._core)
        return waiter

    def revive(self) -> None:
        """Join again if the driver was lost: for a publisher that has nothing to send."""
        with self._lock:
            if self._closed or self._is_ending:
                return
            is_alive = self._link.is_alive
            if is_alive:
                self._look()
            is_shared = self._link.is_shared
        if self._later.waiting:
            self._say()
        if is_shared and not is_alive:
            self._run(self._rejoin_steps(None))

    def events(self) -> list[StreamEvent]:
        """The events since the last call, oldest first: readers come and gone, session changes,
        gaps. Joins again if the driver was lost (:meth:`revive`).
        """
        self.revive()
        return self._take_events()

    # ---- sending ----

    # With their docstrings. The methods behind them do more than to encode, offer and count.
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
        return self._core.sent_position

    def _send_slowly(self, obj: T, *, timeout_s: float | None = None) -> int:
        check_timeout(timeout_s)
        return self._send_encoded(self._encode_one(obj), timeout_s)

    _send_slowly.__qualname__ = "Publisher.send"  # for the text of a TypeError

    def _send_encoded(
        self, data: Encoded, timeout_s: float | None = None, kind: int = KIND_PLAIN
    ) -> int:
        """The rest of :meth:`send`; the C base calls it."""
        header = self._header
        if kind != KIND_PLAIN:
            header = header_of(kind, self._codec.codec_id, self.name)
        if self._later.waiting:
            self._say()
        with self._lock:
            if self._bucket is None:
                position = self._offer_data(data, header)
                if position > 0:
                    self._note_sent()
                    return position
            is_large = self._is_large(data)
        if is_large:
            return self._send_large(data, timeout_s)
        return self._run(self._send_steps(data, timeout_s, header))

    def _send_large(self, data: Encoded, timeout_s: float | None) -> int:
        """Send a message in parts; the lock is free between them."""
        check_timeout(timeout_s)
        if self._large_turn.is_mine:
            raise ConcurrentUseError(
                f"{self._where()}: this thread is in the middle of a message that travels in parts",
                hint="do not send such a message in a signal handler, or open another publisher",
            )
        with self._large_turn.within(float("inf") if timeout_s is None else timeout_s) as is_inside:
            if not is_inside:
                raise self._late_error(timeout_s or 0.0)
            try:
                with self._lock:
                    message = self._take_up(data)
                return self._send_rest(message, timeout_s)
            finally:
                if self._large is not None:  # at once, without a call: another interrupt may follow
                    self._untold += (self._large,)
                    self._direct = self._large = None
                    self._drop_large()

    def _drop_large(self) -> None:
        with self._lock:
            self._put_down()

    def _send_in_segment(self, message: PartedMessage, timeout_s: float | None) -> int:
        """Send a message in a shared segment; 0: it must go in parts."""
        self._run(self._pace_steps(timeout_s))
        waiting = Waiting(timeout_s)
        try:
            while self._may_use_segment(message):
                core = self._core
                number = core.fill_segment(message.buffers)  # without the lock
                if number >= 0:
                    try:
                        steps = self._segment_steps(core, number, message, waiting)
                        if (position := self._run(steps)) > 0:
                            return position
                    finally:
                        core.drop_segment(number)
                elif number == _core.BACK_PRESSURED:
                    self._run(self._free_segment_steps(waiting))
                else:
                    break
            return 0
        finally:
            if waiting.rounds:
                self._waits += 1
                self._waited_ns += int(waiting.waited_s * 1e9)

    def _send_rest(self, message: PartedMessage, timeout_s: float | None = None) -> int:
        position = 0
        if not message.is_begun:
            position = self._send_in_segment(message, timeout_s)
        while not message.is_sent:
            position = self._run(self._part_steps(message, timeout_s))
            if self._lock.is_contended:
                time.sleep(GIVE_WAY_PAUSE_S)  # else this thread would be in again first
        return position

    def _offer_slowly(self, obj: T) -> int:
        return self._offer_encoded(self._encode_one(obj))

    _offer_slowly.__qualname__ = "Publisher.offer"

    def _offer_encoded(self, data: Encoded) -> int:
        """The rest of :meth:`offer`; the C base calls it."""
        with self._lock:
            if self._is_over_rate():
                return _core.RATE_LIMITED
            position = self._offer_data(data)
            is_over = position > _core.CLOSED
            if is_over:
                position = self._note_offered(position, data)
            is_large = not is_over and self._is_large(data)
        if self._later.waiting:
            self._say()
        if is_over:
            return position
        if is_large:
            return self._offer_large(data)
        self._run(self._recover_steps(position, length_of(data)))
        with self._lock:
            return self._note_offered(self._offer_data(data), data)

    def _offer_large(self, data: Encoded) -> int:
        if self._large_turn.is_mine:  # in a signal handler
            return _core.BACK_PRESSURED
        with self._large_turn.within(0) as is_inside:
            if not is_inside:
                return _core.BACK_PRESSURED
            try:
                with self._lock:
                    message = self._take_up(data)
                    position = self._offer_first(message)
                    if _core.CLOSED < position < 0 or message.is_sent:
                        return position if position > 0 else self._note_offered(position, data)
                return self._send_rest(message)
            finally:
                if self._large is not None:  # at once, without a call: another interrupt may follow
                    self._untold += (self._large,)
                    self._direct = self._large = None
                    self._drop_large()

    def _offer_first(self, message: PartedMessage) -> int:
        """Offer a message in a segment, else its first part."""
        if self._may_use_segment(message):
            core = self._core
            if self._must_wait(core, message):  # before it is copied
                return _core.BACK_PRESSURED
            number = core.fill_segment(message.buffers)
            if number == _core.BACK_PRESSURED:
                return number
            if number >= 0:
                position = self._offer_in_segment(core, number, message)
                if position > 0:
                    self._note_segment_sent(message, position)
                else:
                    core.drop_segment(number)
                return position
        return self._offer_part(message)

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
        if self._bucket is not None:
            self._send_each(chunk, timeout_s, first)
            return
        with self._lock:
            messages, failure = self._encode_all(chunk, first)
        start = 0
        while start < len(messages):
            start = self._run(self._send_many_steps(messages, start, timeout_s, first))
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
        if self._closed or self._is_ending:
            raise self._closed_error()
        return self._run(self._all_consumed_steps(position, timeout_s))

    def fail(self, error: BaseException | str, *, linger_s: float | None = None) -> None:
        """End the stream with an error; readers raise it as :class:`RemoteError`.

        Args:
            error: the exception, or its text.
            linger_s: as for :meth:`close`.
        Raises:
            ClosedError: it has ended already; readers cannot be told any more.
        """
        if self._closed or self._is_ending:
            raise self._closed_error()
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
        if not self._forget_inherited():
            self._end(KIND_COMPLETE, self.name, linger_s)

    def _end(self, kind: int, end: BaseException | str, linger_s: float | None) -> None:
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        if self._end_turn.is_mine:  # in a signal handler
            return
        with self._end_turn.within(0) as is_inside:
            if not is_inside:
                return
            if self._closed:
                self._let_go()  # perhaps an interrupt ended that
                return
            with self._lock:
                self._is_ending = True
                self._refuse(_core.CLOSED)  # no message may follow the end
            linger_s = self.linger_s if linger_s is None else linger_s
            try:
                self._run(self._end_steps(kind, end, linger_s))
            finally:
                with self._lock:
                    self._say_end(kind, end)  # unless its steps did
                self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        linger_s = linger_after(exc, self.linger_s)
        if self._forget_inherited():  # a forked child leaves the block of its parent
            return
        if exc is not None and is_failure(exc):
            self._end(KIND_ERROR, exc, linger_s)
        else:
            self.close(linger_s=linger_s)
            if exc is None and linger_s > 0 and self._end_error is not None:
                raise self._end_error


_publishers: weakref.WeakSet[Publisher[Any]] = weakref.WeakSet()


def _make_locks_in_child() -> None:
    for publisher in list(_publishers):
        publisher._make_locks()  # pyright: ignore[reportPrivateUsage] - same file


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
    return send(data, timeout_s, kind)


def check_accepted(publisher: Publisher[Any]) -> None:
    """For whoever offers and does not wait: whether the last reader left with an error.

    Raises:
        RemoteError: it did, and no other reader is there. Over UDP half a second later.
    """
    with publisher._lock:  # pyright: ignore[reportPrivateUsage] - same file
        publisher._check_accepted()  # pyright: ignore[reportPrivateUsage]
