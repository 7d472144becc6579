"""Reading with a queue: a thread reads eagerly, the policy decides what is dropped.

One lock, the condition ``_changed``, guards the queue, the errors and the flags. The thread
(_queue_pump.py) is the only one that polls the reader; it stores under the lock and notifies. The
consumer takes under the lock, and waits on the condition, never in the reader. An error stands
behind the items that waited in the queue when it came.

The program has the one that takes, and the thread has the pump, which does not know it: so one that
the program drops is collected, and its thread leaves the stream.

What waits does not count as consumed (_queue_hold.py).
"""

from __future__ import annotations

import weakref
from functools import partial
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Generic, Self, TypeVar, final

from rstream._process import quiet_when_torn_down
from rstream.errors import ClosedError
from rstream.stream._reading._queue_pump import QueuePump
from rstream.stream._reading._reading import Reading
from rstream.stream._reading._rest import NOTHING

if TYPE_CHECKING:
    from rstream import policy
    from rstream._waits import Bell
    from rstream.flow.queues import Queue
    from rstream.stream._events import StreamEvent
    from rstream.stream._reading._stream_reading import StreamReading
    from rstream.stream._tally import Tally

T = TypeVar("T")


@final
class BufferedReading(Reading[T], Generic[T]):
    """Takes from a queue that a thread fills. Only a full ``Buffer(n)`` slows the publisher down.

    When the policy fails, or the user's key or merge function raises, the stream is left at once,
    so that this consumer does not hold the publisher. The items in the queue are still handed
    out; after them every poll raises.
    """

    closes_slowly: bool = True
    _has_left: bool = True  # __del__ runs even when the constructor raises

    def __init__(
        self, reader: StreamReading[T], queue: Queue[T], on_slow: policy.SlowPolicy
    ) -> None:
        super().__init__(reader.prefetch, made_at=reader.made_at)
        self._reader = reader
        self._queue = queue
        self._taken: list[T] = []  # from the queue, by a call that was interrupted
        self._pump = pump = QueuePump(reader, queue, on_slow)
        self._changed = pump.changed
        self._hold = pump.hold
        self._errors = pump.errors
        self._tally: Tally | None = None  # of queues behind the consumer
        self._demand: int | None = None  # of a reactive subscriber; None: the caller polls itself
        self.is_closed = self._has_left = False

    def start(self) -> Self:
        """Begin to read: apart from the constructor, after which an interrupt may come before the
        caller has this subscriber, and nobody would close it.
        """
        try:
            self._pump.thread.start()
        except BaseException:
            self.close()
            raise
        return self

    def __repr__(self) -> str:
        return f"<rstream.Subscriber over {self._reader!r}>"

    @property
    def title(self) -> str:
        return self._reader.title

    @property
    def reader(self) -> StreamReading[T]:
        """The reader behind the queue; for its facts only, because the pump thread polls it."""
        return self._reader

    def poll(self, limit: int | None = None) -> list[T]:
        limit = limit or self.prefetch
        hold, rest = self._hold, self.rest
        if self.is_closed or not rest.has_some():
            self._take_up(limit)
            taken = self._taken
            done = hold.taken - max(0, len(taken) - limit)
            self._taken, hold.done = taken[limit:], done
            return taken[:limit]  # given: no signal handler has run since
        self.consume(rest.handed_out())
        left = length_hint(rest.left)
        base, done = rest.end - left, hold.taken - len(self._taken) - max(0, left - limit)
        chosen = islice(rest.left, limit)
        items = [*chosen]  # likewise
        rest.base, hold.done = base, done
        return items

    def poll_held(self, limit: int | None) -> list[T]:
        return self._take_held(limit or self.prefetch)

    def poll_demanded(self, demand: int) -> list[T]:
        self._demand = demand
        return self._take_held(min(demand, self.prefetch))

    def _take_held(self, limit: int) -> list[T]:
        self._take_up(limit)
        taken = self._taken
        count = min(len(taken), limit)
        self._note_polled(count)  # the last call: no signal handler runs behind it
        rest = self.rest
        rest.left, rest.end, rest.base, rest.is_given = NOTHING, count, 0, False
        self._taken = taken[limit:]
        return taken[:limit]

    def fill(self, limit: int | None) -> None:
        self._take_up(limit or self.prefetch)
        rest, left, end = self.rest, iter(self._taken), len(self._taken)
        self._note_polled(end)
        # In one step: no signal handler runs before a loop can hand them out.
        rest.left, rest.end, rest.base, rest.is_given, self._taken = left, end, 0, True, []

    def _note_polled(self, count: int) -> None:
        tally = self._tally
        if tally is not None:
            tally.base, tally.polled = tally.polled, tally.polled + count

    def lend_to(self, tally: Tally) -> bool:
        if self.is_closed:
            return False
        last = self.rest.end - self.rest.base
        self._hold.lend(tally, self._hold.taken - len(self._taken) - last)
        tally.polled = tally.base + last
        self._tally = tally
        self._pump.tally = weakref.ref(tally)
        return True

    def consume(self, count: int) -> None:
        if self._tally is not None:
            self._tally.returned(count)
            return
        self._note_done(count)
        self._hold.settle()

    def _note_done(self, count: int) -> None:
        """The first objects of the last call are handled; they count when the hold settles."""
        hold = self._hold
        done = hold.taken - len(self._taken) - (self.rest.end - self.rest.base - count)
        if done > hold.done:
            hold.done = done

    def _take_up(self, limit: int) -> None:
        """Take from the queue, unless a call that was interrupted has left something."""
        if self.is_closed:
            raise ClosedError(f"{self.title}: this subscriber is closed")
        if self._tally is None:
            self.consume(self.rest.handed_out())
        else:
            self._begin_poll(self._tally)
        is_due = False
        with self._changed:
            self._pump.is_woken = False
            if not self._taken:
                is_due = self._errors.is_due
                count = min(self._errors.most(limit), len(self._queue))
                self._taken = self._queue.take(count)
                self._hold.taken += count
                self._errors.gone += count
            if is_due or (self._pump.is_blocking and self._taken):
                self._pump.note_change()
            # No demand for what waits; an error never overtakes data.
            failure = None if self._taken or len(self._queue) else self._pump.failure
        if is_due:
            raise self._errors.take()
        if failure is not None:
            raise failure

    def _begin_poll(self, tally: Tally) -> None:
        with self._changed:
            let_go = self._hold.let_go()
        tally.begin_poll()
        if let_go is not None:
            tally.let_go = let_go
            tally.settle()

    def wait(self, timeout_s: float | None = None) -> bool:
        return self._pump.wait(self.is_ready, timeout_s)

    @property
    def watched(self) -> Bell:
        return self._pump.watched(self.is_ready)

    def is_ready(self) -> bool:
        if self.rest.has_some() or self._errors.is_due:
            return True
        if self._taken or len(self._queue):
            return self._demand != 0 or self.is_closed or self._pump.is_woken
        return bool(self._pump.failure or self.is_closed or self._pump.is_woken)

    def wake(self) -> None:
        self._pump.wake()

    def nudge(self) -> None:
        self._pump.is_woken = True
        self._changed.nudge()

    def events(self) -> list[StreamEvent]:
        return self._reader.taken_events()

    def statistics(self) -> dict[str, int | float | bool]:
        statistics = self._reader.statistics()
        with self._changed:
            statistics |= {
                "waiting": len(self._queue) + len(self._taken),
                "capacity": self._queue.capacity,
                "dropped": self._queue.dropped,
                "conflated": self._queue.conflated,
            }
        return statistics

    @property
    def is_connected(self) -> bool:
        return self._reader.is_connected

    @property
    def is_ended(self) -> bool:
        with self._changed:
            return (
                self._pump.has_ended
                and not self.rest.has_some()
                and not len(self._queue)
                and not self._taken
                and not self._errors
                and self._pump.failure is None
            )

    def stop_joining(self) -> None:
        self._reader.stop_joining()

    def note_failure(self, error: BaseException | None) -> None:
        self._reader.note_failure(error)

    def close(self) -> None:
        if self._has_left or self.forget_inherited():
            return
        pump = self._pump
        with self._changed:
            self.is_closed = pump.is_closed = True
            pump.note_change()
        self.consume(self.rest.given())
        pump.leave(self._tally)
        pump.join()
        pump.close_bell()
        self._has_left = True  # last: a close that was interrupted is made again

    @quiet_when_torn_down
    def __del__(self) -> None:
        try:
            super().__del__()
        finally:
            if not (self._has_left or self.is_inherited):
                self.is_closed = True
                if self._tally is None:
                    self._note_done(self.rest.given())
                self._pump.drop(partial(self._pump.leave_dropped, self._tally))
