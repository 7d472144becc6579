"""``flat_map`` with at most n inner Observables at once: the source waits for a place.

Two locks. ``_changed`` guards places and flags, for moments. ``_delivery`` is held while the
observer is called, because inner Observables emit in threads of their own. A thread that holds
``_delivery`` must not wait for a place: the inner Observables could not finish.

An item counts as consumed when its Observable has ended (stream/tally.py).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import reactivex
from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable
from reactivex.internal import is_future
from reactivex.scheduler import CurrentThreadScheduler

from rstream._checks import check_function
from rstream._condition import Condition
from rstream.errors import SlowConsumer
from rstream.rx._ends import failures, tell_end
from rstream.rx._queue import check_capacity
from rstream.rx._schedulers import SchedulerKind, is_called_from, kind_of, running_loop
from rstream.rx._wakers import runs_trio
from rstream.stream._internal import NOWHERE, Place, QueueMarks, tally

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Future

    from rstream.stream._internal import Mark

T = TypeVar("T")
R = TypeVar("R")


def flat_map_bounded(
    mapper: Callable[[T], Observable[R] | Future[R] | asyncio.Future[R]], n: int
) -> Callable[[Observable[T]], Observable[R]]:
    """Merge the Observables or futures made from the items; at most ``n`` of them run at once.

    Here with ``n`` 2, and work that takes its time::

        source     -1-2-3- - - -4- - - -5- - - |
                   flat_map_bounded(work, 2)
        work(1)     -------a|
        work(2)       ---------b|
        work(3)             -------c|
        observer   - - - - a- - b- -c- - -

    ``mapper`` is called when there is a place; until then the thread that emits waits. RxPY's
    ``flat_map`` begins all at once, and its ``merge(max_concurrent=…)`` queues without a limit.

    Args:
        mapper: from item to Observable or future, of ``concurrent.futures`` or asyncio. It is
            called in the thread that emits.
        n: most of them that run at once, at least 1.
    Raises:
        ConfigError: ``n`` cannot be used.
        TypeError: ``mapper`` is no function.

    The first error, of the source, of ``mapper``, of one of them or of the observer, disposes all
    others and reaches ``on_error``. Items come one at a time, in the threads of those that emit.

    Where the thread that emits runs an event loop, or virtual time, nobody may wait: with ``n`` at
    work, one more ends in ``SlowConsumer``. Read on a thread there, and work in the loop::

        rx.from_stream("urls").pipe(
            rx.flat_map_bounded(lambda url: run_coroutine_threadsafe(fetch(url), loop), 8)
        )
    """
    check_function("flat_map_bounded: mapper", mapper)
    check_capacity("flat_map_bounded", "n", n)

    def operator(source: Observable[T]) -> Observable[R]:
        def subscribe(
            observer: abc.ObserverBase[R], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            merging = _Merging(mapper, n, observer, scheduler)
            merging.upstream.disposable = source.subscribe(
                merging.on_next, merging.fail, merging.on_completed, scheduler=scheduler
            )
            return Disposable(merging.dispose)

        return Observable(subscribe)

    return operator


class _Merging(Generic[T, R]):
    """One subscription; see the module."""

    def __init__(
        self,
        mapper: Callable[[T], Any],
        n: int,
        observer: abc.ObserverBase[R],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.upstream = SingleAssignmentDisposable()
        self._group = CompositeDisposable()  # those that run
        self._mapper = mapper
        self._n = n
        self._observer = observer
        self._scheduler = scheduler
        self._is_virtual = scheduler is not None and kind_of(scheduler) is SchedulerKind.VIRTUAL
        self._changed = Condition()
        self.marks = QueueMarks(self._changed, self._stop)
        self._active = 0
        self._has_ended = False  # the source has completed
        self._is_over = False
        self._delivery = threading.RLock()
        self._deliverer: int | None = None

    # ---- the source ----

    def on_next(self, item: T) -> None:
        """Take a place, waiting for it if need be, and begin."""
        place = tally.here.place
        mark = None if place is None else self.marks.note(place)
        if not self._take_place(mark):
            return
        try:
            inner = _observable_of(self._mapper(item))
        except Exception as error:
            self._fail_at(mark, error)
            return
        subscription = SingleAssignmentDisposable()
        self._group.add(subscription)
        if self._is_virtual or CurrentThreadScheduler.singleton().schedule_required():
            self._begin(inner, subscription, mark)
            return
        # RxPY would begin it only after the source's emission is over, but the source may wait
        # for it. So it begins in another thread.
        threading.Thread(
            target=self._begin,
            args=(inner, subscription, mark),
            name="rstream-rx-flat_map_bounded",
        ).start()

    def on_completed(self) -> None:
        """Complete when those that run are done."""
        with self._changed:
            self._has_ended = True
        self._complete_if_done()

    def _take_place(self, mark: Mark | None) -> bool:
        """False: nothing is wanted any more."""
        with self._changed:
            self.marks.block(mark)
            if self._active >= self._n and not self._is_over and self._must_not_wait():
                error = SlowConsumer(
                    f"flat_map_bounded: {self._n} run already, and the source emits in a thread "
                    "that must not wait for one of them: it runs an event loop, virtual time, or "
                    "the observer",
                    hint="emit in another thread, or take a larger n",
                )
            else:
                while self._active >= self._n and not self._is_over:
                    self._changed.wait()
                self._active += 1
                if not self._is_over:
                    self.marks.waiting.append(mark)
                    self.marks.unblock(mark)
                return not self._is_over
        self.fail(error)
        return False

    def _must_not_wait(self) -> bool:
        return (
            self._is_virtual
            or self._deliverer == threading.get_ident()
            or running_loop() is not None
            or runs_trio()
            or is_called_from("reactivex.scheduler.virtualtimescheduler")
        )

    # ---- the inner Observables ----

    def _begin(
        self, inner: Observable[R], subscription: SingleAssignmentDisposable, mark: Mark | None
    ) -> None:
        def on_completed() -> None:
            self._group.remove(subscription)
            with self._changed:
                self._active -= 1
                self.marks.remove(mark)
                self._changed.notify_all()
            self.marks.settle()
            self._complete_if_done()

        def fail(error: Exception) -> None:
            self._fail_at(mark, error)

        place = Place(*(mark or NOWHERE), lambda: self._drop(mark))
        place.close_disposed = self.marks.close_disposed

        def deliver(item: R) -> None:
            self._deliver(item, place, mark)

        subscription.disposable = inner.subscribe(
            deliver, fail, on_completed, scheduler=self._scheduler
        )

    def _deliver(self, item: R, place: Place, mark: Mark | None) -> None:
        before = tally.here.place  # an item of a stream that the mapper opened counts there
        with self._delivery:
            if self._is_over:
                if before is not None:
                    self.marks.hold_unarrived(before)
                return
            outer, self._deliverer = self._deliverer, threading.get_ident()
            try:
                tally.here.place = place if before is None else before.inside(place)
                self._observer.on_next(item)
            except failures() as error:
                self._fail_at(mark, error)
            finally:
                tally.here.place = before
                self._deliverer = outer

    def _drop(self, mark: Mark | None) -> None:
        """The item of this mark is done, or has failed."""
        with self._changed:
            self.marks.remove(mark)
        self.marks.settle()

    def _fail_at(self, mark: Mark | None, error: Exception) -> None:
        self._drop(mark)
        self.fail(error)

    # ---- the end ----

    def _complete_if_done(self) -> None:
        with self._changed:
            if not self._has_ended or self._active > 0 or self._is_over:
                return
            self._is_over = True
        with self._delivery:
            tell_end("flat_map_bounded", self._observer, None)

    def fail(self, error: Exception) -> None:
        """The first error ends it."""
        if not self._stop():
            return
        self._leave()
        with self._delivery:
            tell_end("flat_map_bounded", self._observer, error)

    def dispose(self) -> None:
        """Leave the source and those that run; a source that waits goes on."""
        self._stop()
        self._leave()

    def _leave(self) -> None:
        with self.marks.leaving():
            self.upstream.dispose()
        self._group.dispose()
        self.marks.leave()

    def _stop(self) -> bool:
        """Begin nothing more. Returns whether it is the first end."""
        with self._changed:
            is_first, self._is_over = not self._is_over, True
            self.marks.close()
            self._changed.notify_all()
        return is_first


def _observable_of(made: Any) -> Observable[Any]:
    if isinstance(made, Observable):
        return made  # pyright: ignore[reportUnknownVariableType] - the mapper's type says it
    if is_future(made):
        return reactivex.from_future(made)
    close: Any = getattr(made, "close", None)
    if hasattr(made, "cr_await") and close is not None:
        close()  # a coroutine: without it, a warning that it was never awaited
    raise TypeError(
        f"flat_map_bounded: the mapper returned {type(made).__name__}, which is no Observable and "
        "no future; give a coroutine to asyncio.run_coroutine_threadsafe(coroutine, loop)"
    )
