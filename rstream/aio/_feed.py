"""What an awaited subscriber and its loops share: polls, waits, one task at a time, and the end.

Theory of operation. A reading of :mod:`rstream.stream` has a ``poll`` that never waits. It is
polled in the loop's thread. While nothing is there, the task sleeps on the descriptor that the
transport makes readable: one wake-up of the loop for all messages that have arrived by then. No
thread belongs to it, except for the moments when a lost driver is joined again.

Nothing is awaited between a poll and the hand-over of what it returned, and objects that were
polled and not handed out stay in the subscriber. So no cancellation can lose one.

A signal handler may raise as well, where a function begins, where a loop jumps back, or after a
call (stream/_stream_reading.py). So no call stands between a poll and the ``return`` of what it
found, also not in a ``finally``. And each step of the end may be made twice.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.lowlevel

from rstream._process import is_inherited
from rstream._waits import News
from rstream.aio._run import run
from rstream.aio._sleeper import Sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.aio._turns import Parts
from rstream.errors import ClosedError, ConcurrentUseError, DriverLost
from rstream.stream._internal import WAIT_FOREVER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._waits import Step, Steps
    from rstream.aio._turns import Turns
    from rstream.stream._internal import Reading

T = TypeVar("T")
R = TypeVar("R")

#: Most objects that a loop hands out before it looks whether a turn is due.
PART_MOST = 128
#: How often close() looks whether the task that reads, or a thread that joins again, has left.
CHECK_S = 0.001


class Feed(Generic[T]):
    """Reads in an event loop.

    Args:
        source: what is read.
        is_ended: whether all was read; None: as the source says.
        leave: called once at the end, with the exception that ended it; None: closes the source.
        turns: of the loop.

    Attributes:
        source: what is read; its objects are consumed through it.
        turns: when other tasks had a turn last.
        parts: of what loops over single objects hand out.
        polls: how many polls have taken what an earlier one gave.
        has_left: whether the end is over.
    """

    def __init__(
        self,
        source: Reading[T],
        is_ended: Callable[[], bool] | None,
        leave: Callable[[BaseException | None], None] | None,
        turns: Turns,
    ) -> None:
        source.set_joins_in_poll(False)
        self.source = source
        self._is_over = is_ended
        self._leave_with = leave
        self.turns = turns
        self.parts = Parts(min(PART_MOST, source.part_most))
        self.polls = 0
        self.sleeper = Sleeper()
        self.is_reading = False  # a task is inside a wait, and polls afterwards
        self.join_call: ThreadCall[None] | None = None  # it outlives a cancelled read
        self._closed = False
        self._error: BaseException | None = None  # with which the block was left
        self._is_leaving = self.has_left = False
        self._pid = os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed or self.source.is_closed

    @property
    def is_ended(self) -> bool:
        """Whether all was read, and no more will come."""
        return self.source.is_ended if self._is_over is None else self._is_over()

    # ---- reading ----

    def poll(self, limit: int | None) -> list[T]:
        """What is there, without a wait."""
        self._check_alone()
        self.check_open()
        if self._must_join:
            return []
        self.polls += 1
        return self.source.poll(limit)

    async def wait(self, deadline_s: float | None) -> bool:
        """Wait until a poll may find something; False: not before the deadline."""
        self._check_alone()
        self.is_reading = True
        try:
            if not self._must_join:
                return await self._sleep(deadline_s)
            await self._join_again()
            return True
        finally:
            self.is_reading = False
            if self._closed:
                self._follow()

    async def next(self, poll: Callable[[], R], deadline_s: float | None) -> R | None:
        """What the poll finds. None: the end, closed, or the deadline."""
        self._check_alone()
        self.is_reading = True
        try:
            await self.turns.give_if_due()
            while not self.is_closed:
                if self._must_join:
                    await self._join_again()
                self.polls += 1
                found = poll()
                if found:
                    return found  # no signal handler runs before the caller has it
                if self._must_join:
                    continue
                if self.is_ended or not await self._sleep(deadline_s):
                    break
            return None
        finally:
            self.is_reading = False
            if self._closed:
                self._follow()

    async def run(self, steps: Steps[R | None]) -> R | None:
        """Perform steps that poll the source; None also when it was closed here meanwhile."""
        self._check_alone()
        self.is_reading = True
        try:
            await self.turns.give_if_due()
            if self.is_closed:
                return None
            if self._must_join:  # in the thread of a cancelled call
                await self._join_again()
            return await run(steps, self._perform)
        except ClosedError:
            if not self.is_closed:
                raise
            return None
        finally:
            self.is_reading = False
            if self._closed:
                self._follow()

    async def _perform(self, step: Step) -> None:
        if isinstance(step, News):
            await self._sleep(time.monotonic() + step.seconds)
        else:
            await self._join_again()
        self.check_open()

    async def turn(self) -> None:
        """Give other tasks a turn if they had none for 0.2 ms."""
        if not self.turns.is_due:
            return
        self._check_alone()
        self.is_reading = True
        try:
            await self.turns.give_if_due()
        finally:
            self.is_reading = False
            if self._closed:
                self._follow()

    async def fill(self) -> None:
        """Leave what the next poll finds in ``rest`` of the source; waits while it finds nothing.
        Nothing is there: the end, or closed.
        """
        await self.next(self._fill, None)

    def _fill(self) -> bool:
        source = self.source
        if not source.rest.has_some():
            source.fill(None)
        return source.rest.has_some()

    async def next_batch(self) -> list[T] | None:
        """What the next poll finds; waits while it finds nothing. None: the end, or closed.

        It counts as consumed by ``consume`` of the source, or at the next poll.
        """
        return await self.next(self._poll_batch, None)

    def _poll_batch(self) -> list[T]:
        source = self.source
        return source.take_rest(source.prefetch) or source.poll_held(None)

    def is_latest(self, polls: int) -> bool:
        """Whether what that poll gave is still what may be counted as consumed."""
        return polls == self.polls and not self.is_closed

    # ---- one task at a time ----

    def _check_alone(self) -> None:
        if self.is_reading:
            raise ConcurrentUseError(
                f"{self.source.title}: another task is reading; one task at a time",
                hint="open one subscriber for each task, or hand the objects out through a queue",
            )

    def check_open(self) -> None:
        """Raise ClosedError if it was closed here."""
        if self.is_closed:
            raise ClosedError(f"{self.source.title}: this subscriber is closed")

    # ---- waiting ----

    async def _sleep(self, deadline_s: float | None) -> bool:
        """Sleep until a poll may find something; False: not before the deadline."""
        self.check_open()
        source = self.source
        try:
            if source.is_ready():
                await anyio.lowlevel.checkpoint()
                return True
            while True:
                left_s = WAIT_FOREVER_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0:
                    return False
                if await self.sleeper.sleep(source.watched, min(left_s, source.patience_s())):
                    return True
                source.note_quiet()
        except DriverLost:
            return True  # the next poll finds it, too
        finally:
            self.turns.note()

    @property
    def _must_join(self) -> bool:
        """Whether the driver was lost; no poll may go on before :meth:`_join_again`."""
        return self.source.must_join or (self.join_call is not None and self.join_call.is_running)

    async def _join_again(self) -> None:
        """Have a thread join again: it may have to start a driver."""
        call = self.join_call
        if call is not None and call.is_running:  # its task was cancelled
            await call.wait_done()
            return
        self.join_call = call = ThreadCall(self.source.join_again)
        await call.result()

    # ---- the end ----

    async def close(self) -> None:
        """Leave the stream, and wait until it is left."""
        self.abandon()
        while not self.has_left:  # noqa: ASYNC110 - a thread sets no event
            await anyio.sleep(CHECK_S)

    def abandon(self) -> None:
        """Leave the stream; a task that reads, and a thread that joins again, follow."""
        if is_inherited(self._pid):  # the descriptors of the event loop are the parent's, too
            self._closed = self._is_leaving = self.has_left = True
        if not self._is_leaving:
            self._closed = True
            self.source.stop_joining()
            self._follow()

    async def fail(self, error: Exception) -> None:
        """Leave the stream by an exception of the block: publishers, or ``leave``, get it."""
        self._error = error
        if is_inherited(self._pid) or self.is_reading or self._closed:
            await self.close()
            return
        self.source.stop_joining()
        call = ThreadCall(self._leave)  # telling the publishers may take seconds
        self._closed = self._is_leaving = True
        try:
            await call.result()
        finally:
            if not (self.has_left or call.is_running):  # cancelled before the thread began
                self._leave_in_thread()

    def _follow(self) -> None:
        """Leave the stream, which was closed, unless that has begun."""
        if self._is_leaving:
            return
        if self.is_reading and self.sleeper.is_sleeping:
            self.source.watched.wake()  # the task that sleeps leaves, and calls this again
            return
        if self.join_call is None or not self.join_call.when_done(self._leave):
            if self.source.closes_slowly:
                self._leave_in_thread()
            else:
                self._leave()
        self._is_leaving = True

    def _leave_in_thread(self) -> None:
        threading.Thread(target=self._leave, name="rstream-leave", daemon=True).start()

    def _leave(self) -> None:
        try:
            if self._leave_with is not None:
                self._leave_with(self._error)
            else:
                self.source.note_failure(self._error)
                self.source.close()
        except Exception:
            self._is_leaving = self.has_left = True
            raise
        self.source.rest.use_up()  # the next reader begins with it
        self.has_left = True  # last: what a signal handler has interrupted is done again
