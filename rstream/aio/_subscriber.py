"""The subscriber for event loops: its waits are awaited.

Theory of operation. A subscriber of :mod:`rstream.stream` reads, and its ``poll`` never waits. This
one polls it in the loop's thread. While nothing is there, its task sleeps on the descriptor that
the transport makes readable: one wake-up of the loop for all messages that have arrived by then. No
thread belongs to it, except for the moments when a lost driver is joined again.

Nothing is awaited between a poll and the hand-over of what it returned, and objects that were
polled and not handed out stay in the subscriber. So no cancellation can lose one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

import anyio
import anyio.lowlevel

from rstream._checks import check_timeout
from rstream._unclosed import call_site
from rstream.aio._iterators import Batches, Items
from rstream.aio._sleeper import Sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.aio._turns import Parts, Turns, turns_here
from rstream.errors import ClosedError, ConcurrentUseError, DriverLost, ReadTimeout, StreamEnded
from rstream.stream._subscriber import WAIT_FOREVER_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rstream.stream import Subscriber as BlockingSubscriber
    from rstream.stream._events import StreamEvent

T = TypeVar("T")

#: Most objects that a loop hands out before it looks whether a turn is due.
PART_MOST = 128
#: How often close() looks whether the task that reads, or a thread that joins again, has left.
CHECK_S = 0.001


class Subscriber(Generic[T]):
    """Receives the objects of a stream in an event loop; :func:`rstream.aio.subscriber` makes it.

    ``async for item in subscriber`` ends when every publisher seen has completed; before the first
    one comes it waits. A loop that is left, cancelled or failed loses nothing: the next loop,
    :meth:`poll` or :meth:`get` goes on behind the last object that was handed out.

    Objects that are there already are handed out without a turn of the event loop for 0.2 ms, and
    at most 128 at a time. The first turn comes after the first object.

    Thread rule: the loop's thread alone uses it, and one task at a time reads. Any number of
    subscribers may be read in one loop.

    Example::

        async with rstream.aio.subscriber("ticks") as sub:
            async for tick in sub:
                print(tick)
    """

    def __init__(
        self,
        source: BlockingSubscriber[T],
        *,
        is_ended: Callable[[], bool] | None = None,
        leave: Callable[[BaseException | None], None] | None = None,
        turns: Turns | None = None,
        made_at: str | None = None,
    ) -> None:
        source.joins_in_poll = False
        source.made_at = made_at or call_site()
        self._source = source
        self._is_over = is_ended
        self._leave_with = leave
        self._sleeper = Sleeper()
        self._is_reading = False  # a task is inside a wait, and polls afterwards
        self.turns: Turns = turns or turns_here()
        self.parts: Parts = Parts(PART_MOST)  # of what loops over items hand out
        self.polls: int = 0  # that have taken what a loop had polled
        self._join_call: ThreadCall[None] | None = None  # it outlives a cancelled read
        self._closed = False
        self._error: BaseException | None = None  # with which the block was left
        self._is_leaving = self._has_left = False

    def __repr__(self) -> str:
        return f"<rstream.aio.Subscriber over {self._source!r}>"

    # ---- facts ----

    @property
    def prefetch(self) -> int:
        """Most objects handed over at once."""
        return self._source.prefetch

    @property
    def is_connected(self) -> bool:
        """Whether a publisher is there."""
        return not self._closed and self._source.is_connected

    @property
    def is_ended(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out."""
        return self._source.is_ended if self._is_over is None else self._is_over()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed or self._source.is_closed

    def events(self) -> list[StreamEvent]:
        """The events since the last call (publishers come and gone, gaps), oldest first. Never
        waits.
        """
        return self._source.events()

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start, as :meth:`rstream.stream.Subscriber.statistics`."""
        return self._source.statistics()

    # ---- reading ----

    def __aiter__(self) -> Items[T]:
        """Iterate over single objects.

        Raises:
            RStreamError: as :meth:`poll`; a new iteration goes on behind the error.
        """
        return Items(self, self._source)

    def batches(self) -> Batches[T]:
        """Iterate over lists of 1 to :attr:`prefetch` objects, as they have arrived.

        A list counts as consumed when the loop asks for the next one, or is left.

        Raises:
            RStreamError: as :meth:`poll`; a new iteration goes on behind the error.

        Example::

            async for ticks in sub.batches():
                total += len(ticks)
        """
        return Batches(self, self._source)

    def poll(self, limit: int | None = None) -> list[T]:
        """Return up to ``limit`` objects that have arrived; never waits, gives the loop no turn.

        Args:
            limit: most objects; None: :attr:`prefetch`.
        Raises:
            PublisherLost, RemoteError, NameMismatch, CodecError, MessagesLost, SlowConsumer: as
                :meth:`rstream.stream.Subscriber.poll`.
            ClosedError: closed here.
            ConcurrentUseError: another task is reading.
        """
        self._check_alone()
        self._check_open()
        if self._must_join:
            return []
        self.polls += 1
        return self._source.poll(limit)

    async def get(self, *, timeout_s: float | None = None) -> T:
        """Wait for the next object and return it; ``async for`` and :meth:`batches` cost less.

        A cancelled ``get`` has taken nothing.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes. 0: only what is there.
        Raises:
            ReadTimeout: nothing came within ``timeout_s``.
            StreamEnded: every publisher seen has completed or failed.
            RStreamError: as :meth:`poll`.

        Example::

            tick = await sub.get(timeout_s=1.0)
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        items = await self._next(lambda: self._source.poll(1), deadline_s)
        if items:
            return items[0]
        self._check_open()
        if self.is_ended:
            raise StreamEnded(
                f"{self!r}: the stream has ended; every publisher has completed it or failed"
            )
        raise ReadTimeout(
            f"{self!r}: no message within {timeout_s:g} s",
            hint="`rstream stat` shows whether a publisher sends to this reader",
        )

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until something may be there: messages, events, the end.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Returns:
            False: nothing within ``timeout_s``.
        Raises:
            ClosedError: closed here. ConcurrentUseError: another task is reading.
            RStreamError: a lost driver could not be joined again.
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._enter()
        try:
            if not self._must_join:
                return await self._sleep(deadline_s)
            await self._join_again()
            return True
        finally:
            self._exit()

    async def _next(self, poll: Callable[[], list[T]], deadline_s: float | None) -> list[T]:
        """What the poll finds. Empty: the end, closed, or the deadline."""
        self._enter()
        try:
            await self.turns.give_if_due()
            while not self.is_closed:
                if self._must_join:
                    await self._join_again()
                items = poll()
                if items:
                    self.polls += 1
                    return items
                if self._must_join:
                    continue
                if self.is_ended or not await self._sleep(deadline_s):
                    break
            return []
        finally:
            self._exit()

    # ---- for the loops (_iterators.py) ----

    async def turn(self) -> None:
        """Give other tasks a turn if they had none for 0.2 ms."""
        if not self.turns.is_due:
            return
        self._enter()
        try:
            await self.turns.give_if_due()
        finally:
            self._exit()

    async def next_batch(self) -> list[T]:
        """What the next poll finds; waits while it finds nothing. Empty: the end, or closed.

        It counts as consumed by ``consume`` of the source, or at the next poll.
        """
        return await self._next(self._poll_batch, None)

    def _poll_batch(self) -> list[T]:
        source = self._source
        return source.take_rest(source.prefetch) or source.poll_held(None)

    def is_latest(self, polls: int) -> bool:
        """Whether what that poll gave is still what may be counted as consumed."""
        return polls == self.polls and not self.is_closed

    # ---- one task at a time ----

    def _check_alone(self) -> None:
        if self._is_reading:
            raise ConcurrentUseError(
                f"{self!r}: another task is reading; one task at a time",
                hint="open one subscriber for each task, or hand the objects out through a queue",
            )

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedError(f"{self!r}: this subscriber is closed")

    def _enter(self) -> None:
        self._check_alone()
        self._is_reading = True

    def _exit(self) -> None:
        self._is_reading = False
        if self._closed and not self._is_leaving:
            self._let_go()

    # ---- waiting ----

    async def _sleep(self, deadline_s: float | None) -> bool:
        """Sleep until a poll may find something; False: not before the deadline."""
        self._check_open()
        source = self._source
        try:
            if source.is_ready():
                await anyio.lowlevel.checkpoint()
                return True
            while True:
                left_s = WAIT_FOREVER_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0:
                    return False
                if await self._sleeper.sleep(source.watched, min(left_s, source.patience_s())):
                    return True
                source.note_quiet()
        except DriverLost:
            return True  # the next poll finds it, too
        finally:
            self.turns.note()

    @property
    def _must_join(self) -> bool:
        """Whether the driver was lost; no poll may go on before :meth:`_join_again`."""
        return self._source.must_join or (
            self._join_call is not None and self._join_call.is_running
        )

    async def _join_again(self) -> None:
        """Have a thread join again: it may have to start a driver."""
        call = self._join_call
        if call is not None and call.is_running:  # its task was cancelled
            await call.wait_done()
            return
        self._join_call = call = ThreadCall(self._source.join_again)
        await call.result()

    # ---- the end ----

    async def close(self) -> None:
        """Leave the stream; ends a loop in another task. Idempotent.

        A cancelled ``close`` leaves all the same.
        """
        self.abandon()
        while not self._has_left:  # noqa: ASYNC110 - a thread sets no event
            await anyio.sleep(CHECK_S)

    def abandon(self) -> None:
        """As :meth:`close`, but it does not wait for a task that reads to leave."""
        if not self._closed:
            self._closed = True
            self._source.stop_joining()
            self._let_go()

    def _let_go(self) -> None:
        if self._is_reading and self._sleeper.is_sleeping:
            self._source.watched.wake()  # the task that sleeps leaves, and calls this again
            return
        self._is_leaving = True
        if self._join_call is not None and self._join_call.when_done(self._leave):
            return
        if self._source.closes_slowly:
            threading.Thread(target=self._leave, name="rstream-leave", daemon=True).start()
        else:
            self._leave()

    def _leave(self) -> None:
        try:
            if self._leave_with is not None:
                self._leave_with(self._error)
            else:
                self._source.close()
        finally:
            for _ in self._source.rest:
                pass  # a loop hands nothing more out: the next reader begins with it
            self._has_left = True

    def __reduce__(self) -> NoReturn:
        self._source.__reduce__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, Exception) and self._leave_with is not None:
            self._error = exc
            if not (self._is_reading or self._closed):
                self._closed = self._is_leaving = True
                self._source.stop_joining()
                await ThreadCall(self._leave).result()  # telling the publishers may take seconds
                return
        if exc is not None and not isinstance(exc, Exception):
            self.abandon()  # a thread that starts a driver would hold the cancelled task
        else:
            await self.close()
