"""An Observable as an async iterable, for asyncio and trio."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, AsyncIterator
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from rstream import policy
from rstream._process import quiet_when_torn_down
from rstream.errors import ConcurrentUseError
from rstream.rx._queue import BoundedQueue, check_capacity
from rstream.rx._subscribing import subscribe_apart, subscribe_into
from rstream.rx._wakers import waker
from rstream.stream._internal import next_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactivex import Observable

T = TypeVar("T")

CAPACITY: Final = 256
#: How long the event loop waits for a ``subscribe`` that does not return.
BEGIN_S: Final = 0.02
#: Items handed out before the event loop gets a turn; a turn costs as much as some of them.
ITEMS_PER_TURN: Final = 64


def to_async_iterable(
    capacity: int = CAPACITY, *, in_loop: bool = False
) -> Callable[[Observable[T]], AsyncItems[T]]:
    """The Observable as an async iterable: ``async for item in observable.pipe(…)``.

    Here with a capacity of 2 and a loop body that takes its time::

        source      -1-2-3- - - - 4- - - - 5- - - - |
                            to_async_iterable(2)
        async for    -[1     ][2     ][3     ][4     ][5     ]|

    ``capacity`` items wait for the loop, then the thread that emits waits. An error of the source
    is raised in the loop, behind the items.

    Args:
        capacity: most items that wait.
        in_loop: subscribe the Observable in the thread of the event loop, for sources that belong
            to it, such as those of ``AsyncIOScheduler``. Nobody may wait in that thread: when the
            queue is full there, the loop raises ``SlowConsumer``. False: on a thread of its own,
            so that a source that emits inside ``subscribe`` does not hold the event loop.
    Returns:
        An operator. Each iteration subscribes the Observable. One task iterates. A cancelled wait
        loses no item: the next one goes on.
    Raises:
        ConfigError: ``capacity`` cannot be used.

    An iteration that is left disposes its subscription when its iterator is released, in CPython
    at once. ``contextlib.aclosing`` does so in every case::

        async with aclosing(aiter(ticks.pipe(rx.to_async_iterable()))) as items:
            async for tick in items: ...
    """
    check_capacity("to_async_iterable", "capacity", capacity)

    def operator(source: Observable[T]) -> AsyncItems[T]:
        return AsyncItems(source, capacity, in_loop)

    return operator


class AsyncItems(AsyncIterable[T], Generic[T]):
    """The items of an Observable, to iterate over in an event loop; see
    :func:`to_async_iterable`.
    """

    def __init__(self, source: Observable[T], capacity: int, in_loop: bool) -> None:
        self._source = source
        self._capacity = capacity
        self._in_loop = in_loop

    def __aiter__(self) -> AsyncItemsIterator[T]:
        return AsyncItemsIterator(self._source, self._capacity, self._in_loop)


class AsyncItemsIterator(AsyncIterator[T], Generic[T]):
    """One iteration, which is one subscription. Only the loop's thread uses it."""

    def __init__(self, source: Observable[T], capacity: int, in_loop: bool) -> None:
        self._queue: BoundedQueue[T] = BoundedQueue("to_async_iterable", policy.Buffer(capacity))
        self._waker = waker()
        self._queue.on_change = self._waker.wake
        self._is_waiting = False
        self._left_of_turn = ITEMS_PER_TURN
        # Parts of what counts as consumed, as in the loop over a stream (stream/_pump.py).
        self._part = self._left_of_part = 1
        self._part_since_s = 0.0
        if in_loop:
            here = threading.get_ident()
            self._queue.can_wait = lambda: threading.get_ident() != here
            subscribe_into(self._queue, source)
        else:
            subscribe_apart(self._queue, source, begin_s=BEGIN_S)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._is_waiting:
            raise ConcurrentUseError(
                "to_async_iterable: another task waits for the next item of this iteration"
            )
        self._is_waiting = True
        try:
            return await self._next()
        finally:
            self._is_waiting = False

    async def _next(self) -> T:
        queue = self._queue
        if self._left_of_turn <= 0:
            self._left_of_turn = ITEMS_PER_TURN
            await self._waker.give_turn()
        while True:
            with queue.changed:
                is_there = queue.take_up(1)
                if not is_there:
                    self._waker.arm()
            if is_there:
                self._left_of_turn -= 1
                self._left_of_part -= 1
                if self._left_of_part <= 0:
                    self._count_part()
            # Nothing is awaited or called between taking an item and returning it: none is lost.
            taken, queue.taken = queue.taken, []
            if taken:
                return taken[0]
            queue.marks.settle()
            if queue.is_over:
                self._dispose()
                error, queue.error = queue.error, None
                if error is not None:
                    raise error
                raise StopAsyncIteration
            await self._waker.wait()
            self._left_of_turn = ITEMS_PER_TURN

    def _count_part(self) -> None:
        """Have the readers behind the queue count, each item of a slow loop."""
        now_s = monotonic()
        self._part = self._left_of_part = next_part(self._part, now_s - self._part_since_s)
        self._part_since_s = now_s
        self._queue.marks.settle()

    def statistics(self) -> dict[str, int | float | bool]:
        """``waiting`` and ``capacity`` of the queue."""
        return self._queue.statistics()

    async def aclose(self) -> None:
        """Dispose the subscription; the iteration ends. Idempotent."""
        self._dispose()

    def _dispose(self) -> None:
        self._queue.dispose()
        self._waker.wake()

    @quiet_when_torn_down
    def __del__(self) -> None:
        if hasattr(self, "_waker"):  # it was made
            self._dispose()
