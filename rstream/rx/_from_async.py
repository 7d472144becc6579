"""An async iterable as an Observable: a task iterates, and waits while the observer is behind."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rstream import policy
from rstream._checks import short
from rstream.errors import ClosedError
from rstream.rx._drain import Drain
from rstream.rx._ends import tell_end
from rstream.rx._queue import BoundedQueue, check_capacity
from rstream.rx._schedulers import running_loop
from rstream.rx._subscribing import Gate
from rstream.rx._wakers import TaskWaker, runs_trio, waker

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable

T = TypeVar("T")

CAPACITY: Final = 256
#: Items after which the event loop gets a turn even if the iterable never waits.
ITEMS_PER_TURN: Final = 64


def from_async_iterable(
    iterable: AsyncIterable[T],
    *,
    scheduler: abc.SchedulerBase | None = None,
    capacity: int = CAPACITY,
) -> Observable[T]:
    """An Observable of an async iterable, such as an async generator.

    Without a scheduler::

        iterable    -1-2- - -3|
                    from_async_iterable(iterable)
        observer    -1-2- - -3|

    Subscribed where asyncio or trio runs, a task of that loop iterates. Elsewhere a thread of its
    own runs an event loop of asyncio for it.

    Args:
        iterable: is iterated once for each ``subscribe``; a generator serves one. It is closed
            (``aclose``) at the end.
        scheduler: None: the observer is called in the thread of the event loop, which it holds
            while it works. A scheduler: the observer is called there, and up to ``capacity`` items
            wait for it; then the task waits for room, and the event loop goes on.
        capacity: most items that wait for the scheduler.
    Returns:
        A cold Observable. What the iterable or the observer raises reaches ``on_error``; so does
        ``ClosedError`` when the task is cancelled from elsewhere. Dispose cancels the task, from
        any thread.
    Raises:
        ConfigError: ``capacity`` cannot be used.
        TypeError: ``iterable`` is no async iterable.

    Example::

        rx.from_async_iterable(lines(), scheduler=EventLoopScheduler()).pipe(rx.to_stream("lines"))
    """
    check_capacity("from_async_iterable", "capacity", capacity)
    if isinstance(iterable, type) or not hasattr(iterable, "__aiter__"):
        raise TypeError(
            f"from_async_iterable({short(iterable)}): must be an async iterable, such as what an "
            "async generator function returns; reactivex.from_iterable takes plain iterables"
        )

    def subscribe(
        observer: abc.ObserverBase[T], scheduler_: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        if scheduler is None:
            iterating = _Iterating(iterable, _Direct(observer))
            _start(iterating)
            return Disposable(iterating.stop)
        queue = BoundedQueue[T]("from_async_iterable", policy.Buffer(capacity))
        drain = Drain(queue, observer, scheduler)
        iterating = _Iterating(iterable, _Queued(queue, drain.end))
        drain.upstream.disposable = Disposable(iterating.stop)
        _start(iterating)
        return Disposable(drain.dispose)

    return Observable(subscribe)


class _Direct(Generic[T]):
    """Gives items to an observer in the thread of the loop."""

    def __init__(self, observer: abc.ObserverBase[T]) -> None:
        self._observer = observer

    def begin(self, _waker: TaskWaker) -> None:
        """Nothing to do."""

    async def put(self, item: T) -> None:
        """Deliver one item; raises what the observer raises."""
        self._observer.on_next(item)

    def end(self, error: Exception | None) -> None:
        """Deliver the end."""
        tell_end("from_async_iterable", self._observer, error)


class _Queued(Generic[T]):
    """Puts items into a queue, and awaits room for them."""

    def __init__(self, queue: BoundedQueue[T], end: Callable[[Exception | None], None]) -> None:
        self._queue = queue
        self._end = end
        self._waker: TaskWaker | None = None

    def begin(self, waker: TaskWaker) -> None:
        """Have the task woken when there is room."""
        self._waker = waker
        self._queue.on_room = waker.wake

    async def put(self, item: T) -> None:
        """Wait for room, then add one item: as the only producer, ``put`` finds room then."""
        waker = self._waker
        assert waker is not None
        while not self._queue.has_room():
            waker.arm()
            if self._queue.has_room():
                break
            await waker.wait()
        self._queue.put(item)

    def end(self, error: Exception | None) -> None:
        """The end, behind the items."""
        self._end(error)


class _Iterating(Generic[T]):
    """One iteration. ``run`` is its task; ``stop`` comes from any thread."""

    def __init__(self, iterable: AsyncIterable[T], taker: _Direct[T] | _Queued[T]) -> None:
        self._iterable = iterable
        self._taker = taker
        self._lock = threading.Lock()  # guards both flags and ``_cancel``
        self._is_stopped = False
        self._cancel: Callable[[], object] | None = None

    def stop(self) -> None:
        """Cancel the task; the item being delivered is the last one."""
        with self._lock:
            self._is_stopped = True
            cancel, self._cancel = self._cancel, None
        if cancel is not None:
            with suppress(RuntimeError):  # the loop is closed
                cancel()

    async def run(self, cancel: Callable[[], object]) -> None:
        """Iterate to the end.

        Args:
            cancel: cancels this task; from any thread.
        """
        with self._lock:
            if self._is_stopped:
                return
            self._cancel = cancel
        error: Exception | None = ClosedError(
            "from_async_iterable: the task that iterates was cancelled"
        )
        try:
            await self._iterate()
            error = None
        except Exception as raised:
            error = raised
        finally:
            with self._lock:
                is_stopped, self._is_stopped = self._is_stopped, True
                self._cancel = None
            if not is_stopped:
                self._taker.end(error)

    async def _iterate(self) -> None:
        here = waker()
        taker, left_of_turn = self._taker, ITEMS_PER_TURN
        taker.begin(here)
        iterator = aiter(self._iterable)
        try:
            async for item in iterator:
                if self._is_stopped:
                    return
                await taker.put(item)
                left_of_turn -= 1
                if left_of_turn <= 0:
                    left_of_turn = ITEMS_PER_TURN
                    await here.give_turn()
        finally:
            close: Any = getattr(iterator, "aclose", None)
            if close is not None:
                await close()


#: asyncio itself keeps no task alive.
_tasks: set[asyncio.Task[None]] = set()


def _start(iterating: _Iterating[Any]) -> None:
    loop = running_loop()
    if loop is not None:
        task = loop.create_task(_run_in_asyncio(iterating))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
    elif runs_trio():
        _start_in_trio(iterating)
    else:
        threading.Thread(
            target=_run_alone, args=(iterating, Gate()), name="rstream-rx-from_async_iterable"
        ).start()


async def _run_in_asyncio(iterating: _Iterating[Any]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    await iterating.run(lambda: loop.call_soon_threadsafe(task.cancel))


def _run_alone(iterating: _Iterating[Any], gate: Gate) -> None:
    gate.wait()
    with suppress(asyncio.CancelledError):
        asyncio.run(_run_in_asyncio(iterating))


def _start_in_trio(iterating: _Iterating[Any]) -> None:
    import trio

    token = trio.lowlevel.current_trio_token()

    async def main() -> None:
        with trio.CancelScope() as scope:
            await iterating.run(lambda: token.run_sync_soon(scope.cancel))

    trio.lowlevel.spawn_system_task(main)
