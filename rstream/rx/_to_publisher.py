"""An Observable as a Reactive Streams publisher: its thread waits for ``request(n)``.

The demand is kept by the runtime that serves streams too (``stream/_source.py``). Here is only
what it reads: the queue between the thread that emits and the loop that delivers.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

from rstream import abc, policy
from rstream._checks import check_timeout
from rstream._waits import Bell, Deadline
from rstream.errors import ClosedError
from rstream.rx._queue import BoundedQueue, check_capacity
from rstream.rx._subscribing import subscribe_apart
from rstream.stream import StreamSource
from rstream.stream._internal import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactivex import Observable

    from rstream.stream import Executor, StreamEvent
    from rstream.stream._internal import Mark

T = TypeVar("T")

CAPACITY: Final = 256
#: Most items that the loop takes at once.
TAKE_MOST: Final = 256


def to_publisher(
    capacity: int = CAPACITY, *, executor: Executor | None = None
) -> Callable[[Observable[T]], abc.Publisher[T]]:
    """The Observable as a :class:`rstream.abc.Publisher`, which delivers what was requested.

    Here with a capacity of 2::

        source        -1-2-3- - - - - -4-5- - - |
                          to_publisher(2)
        request(n)     - - - - -2- - - - -9- - -
        on_next        - - - - -1-2- - - -3-4-5-|

    ``capacity`` items wait beyond the demand, then the thread that emits waits. So a stream is read
    only as fast as the subscriber asks. For another policy, pipe one of ``on_backpressure_…``
    before it.

    Args:
        capacity: most items that wait for demand.
        executor: runs the loops that deliver; None: a daemon thread for each subscriber.
    Returns:
        An operator. Each ``subscribe`` of the publisher subscribes the Observable, on a thread of
        its own, so that a source that emits inside ``subscribe`` does not hold the caller. An item
        that is None fails (§2.13 forbids it).
    Raises:
        ConfigError: ``capacity`` cannot be used.

    Example::

        rx.from_stream("ticks").pipe(ops.map(score), rx.to_publisher()).subscribe(subscriber)
    """
    check_capacity("to_publisher", "capacity", capacity)

    def operator(source: Observable[T]) -> abc.Publisher[T]:
        return StreamSource(lambda: ObservableReading(source, capacity), "observable", executor)

    return operator


@final
class ObservableReading(Reading[T], Generic[T]):
    """Reads an Observable as a subscriber reads a stream; the runtime's loop calls it."""

    def __init__(self, source: Observable[T], capacity: int) -> None:
        super().__init__(min(capacity, TAKE_MOST))
        self._queue: BoundedQueue[T] = BoundedQueue("to_publisher", policy.Buffer(capacity))
        self._demand: int | None = None  # of a reactive subscriber; None: the caller polls itself
        self._is_waiting = self._is_woken = False
        self._bell: Bell | None = None  # of an event loop that watches
        self._queue.on_change = self._notify
        self.is_closed = False
        # Of the items of the last poll, and of those that an interrupted poll has left to the next.
        self._taken: list[Mark | None] = []
        subscribe_apart(self._queue, source, self._put)

    def __repr__(self) -> str:
        return "<reader of an Observable>"

    def _put(self, item: T) -> None:
        if item is None:
            self._queue.end(TypeError("§2.13: to_publisher: None is no element of a publisher"))
            self._queue.leave_source()
        else:
            self._queue.put(item)

    def _notify(self) -> None:
        # Read without the lock: a waiter sets it before it looks for the last time.
        if self._is_waiting or self._bell is not None:
            with self._queue.changed:
                self._wake_locked()

    def _wake_locked(self) -> None:
        self._queue.changed.notify_all()
        if self._bell is not None:
            self._bell.wake()

    def poll(self, limit: int | None = None) -> list[T]:
        limit = limit or self.prefetch
        return self.take_rest(limit) or self._take(limit)

    def poll_demanded(self, demand: int) -> list[T]:
        self._demand = demand
        return self._take(min(demand, TAKE_MOST))

    def _take(self, limit: int) -> list[T]:
        self._take_up(limit)
        taken = self._queue.taken
        self._queue.taken = taken[limit:]
        return taken[:limit]  # no signal handler has run since it was taken

    def fill(self, limit: int | None) -> None:
        self._take_up(limit or self.prefetch)
        queue = self._queue
        rest, left, end = self.rest, iter(queue.taken), len(queue.taken)
        # In one step, as in _take.
        rest.left, rest.end, rest.base, rest.is_given, queue.taken = left, end, 0, True, []

    def _take_up(self, limit: int) -> None:
        """Take from the queue, unless a call that was interrupted has left something."""
        if self.is_closed:
            raise ClosedError(f"{self!r} is closed")
        queue = self._queue
        with queue.changed:
            self._is_woken = False
            if queue.taken:
                self._taken = self._taken[-len(queue.taken) :]
                queue.marks.given = self._taken[0]
            else:
                self._taken = list(islice(queue.marks.waiting, limit))
            queue.take_up(limit)
            error = queue.error if not len(queue) else None
        queue.marks.settle()
        if error is not None:
            raise error

    def consume(self, count: int) -> None:
        with self._queue.changed:
            self._queue.marks.given = next(islice(self._taken, count, None), None)
        self._queue.marks.settle()

    def wait(self, timeout_s: float | None = None) -> bool:
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        with self._queue.changed:
            self._is_waiting = True
            try:
                while not self.is_ready():
                    if deadline.is_over:
                        return False
                    self._queue.changed.wait(deadline.left_s())
            finally:
                self._is_waiting = False
            self._is_woken = False
        return True

    def is_ready(self) -> bool:
        if self._is_woken or self.is_closed or self.rest.has_some():
            return True
        return self._demand != 0 if len(self._queue) else self._queue.is_ended

    def wake(self) -> None:
        with self._queue.changed:
            self._is_woken = True
            self._wake_locked()

    @property
    def watched(self) -> Bell:
        if self._bell is None:
            self._bell = Bell(self._queue.changed, self.is_ready)
        return self._bell

    def events(self) -> list[StreamEvent]:
        return []

    def statistics(self) -> dict[str, int | float | bool]:
        return self._queue.statistics()

    @property
    def is_connected(self) -> bool:
        return not self._queue.is_ended

    @property
    def is_ended(self) -> bool:
        return self._queue.is_over and self._queue.error is None and not self.rest.has_some()

    def close(self) -> None:
        self.is_closed = True
        with self._queue.changed:
            self._queue.marks.block(self._queue.marks.given)  # it was taken, and not delivered
        self._queue.dispose()
        self.wake()
        if self._bell is not None:
            self._bell.close()
