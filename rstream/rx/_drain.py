"""The taking side of a bounded queue: delivers its items on a scheduler, one after the other.

    source ──on_next──▶ BoundedQueue ──action of the scheduler──▶ observer

An action is scheduled when an item or the end comes and none is scheduled yet. It delivers until
the queue is empty; on a loop, which serves others too, it takes turns with them.

Who delivers. One thread at a time, ``_deliverer``. As a rule it is the thread of the action. A
producer whose wait would never end, because it is in the thread of the scheduler itself, delivers
the oldest item instead of waiting. That keeps the order and the thread.

Errors. What the observer raises ends the subscription: the source is disposed, and the observer
gets it by ``on_error``. It never reaches the thread that emits.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from rstream._waits import NOTICE_AFTER_S
from rstream.rx._ends import failures, tell_end
from rstream.rx._queue import BoundedQueue
from rstream.rx._schedulers import OwnThread, SchedulerKind, check_scheduler, is_own_thread, kind_of
from rstream.stream._internal import NOWHERE, Place, leaving, next_part, tally, wait_until_left

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream import policy

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Items that one action delivers on a loop before others get their turn.
ITEMS_PER_TURN: Final = 64


def through_queue(
    what: str,
    scheduler: abc.SchedulerBase | None,
    on_slow: policy.SlowPolicy,
    *,
    low: int | None = None,
    on_lost: Callable[[int], object] | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """An operator that delivers on another thread, through one bounded queue.

    Args:
        what: the name of the operator, for errors and threads.
        scheduler: delivers; None: a thread of its own.
        on_slow, low: as for :class:`BoundedQueue`.
        on_lost: called in the thread that emits, after the policy has dropped or merged items,
            with their number since the subscription began.
    Raises:
        ConfigError: the policy cannot be used.
        TypeError: no scheduler.
    """
    if scheduler is not None:
        check_scheduler(what, scheduler)
    BoundedQueue[Any](what, on_slow, low)  # what is wrong is said here, not at subscribe

    def operator(source: Observable[T]) -> Observable[T]:
        def subscribe(
            observer: abc.ObserverBase[T], scheduler_: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            queue = BoundedQueue[T](what, on_slow, low)
            drain = Drain(queue, observer, scheduler or OwnThread(f"rstream-rx-{what}"))
            put = queue.put if on_lost is None else _telling(queue, on_lost)
            drain.upstream.disposable = source.subscribe(
                put, drain.end, lambda: drain.end(None), scheduler=scheduler_
            )
            return Disposable(drain.dispose)

        return Observable(subscribe)

    return operator


def _telling(queue: BoundedQueue[T], on_lost: Callable[[int], object]) -> Callable[[T], None]:
    """``queue.put`` that calls ``on_lost`` when items were lost."""
    told = 0

    def put(item: T) -> None:
        nonlocal told
        queue.put(item)
        lost = queue.lost
        if lost == told:
            return
        told = lost
        try:
            on_lost(lost)
        except Exception as error:
            queue.end(error)
            queue.leave_source()

    return put


class Drain(Generic[T]):
    """See the module. All attributes are guarded by the lock of the queue."""

    def __init__(
        self,
        queue: BoundedQueue[T],
        observer: abc.ObserverBase[T],
        scheduler: abc.SchedulerBase | OwnThread,
    ) -> None:
        self.upstream = SingleAssignmentDisposable()
        self._queue = queue
        self._observer = observer
        self._scheduler = scheduler
        self._kind = (
            SchedulerKind.THREAD if isinstance(scheduler, OwnThread) else kind_of(scheduler)
        )
        self._is_scheduled = False
        self._deliverer: int | None = None  # the thread that delivers just now
        self._last_thread: int | None = None  # the thread of the last action
        self._is_done = False  # the end was delivered, or dispose was called
        # What counts as consumed: in parts, as in the loop over a stream (stream/_pump.py).
        self._place = Place(None, 0, self._forget_given)
        self._place.close_disposed = queue.marks.close_disposed
        self._part = self._left_of_part = 1
        self._part_since_s = 0.0
        queue.on_change = self._wake
        queue.can_wait = self._can_wait
        queue.make_room = self._deliver_here
        queue.is_idle = self._is_idle
        queue.leave = self.upstream.dispose

    def dispose(self) -> None:
        """Deliver nothing more, leave the source, and let a producer that waits go on."""
        self._is_done = True
        self._queue.dispose()  # wakes who waits

    def end(self, error: Exception | None) -> None:
        """The source has ended. What waits is delivered even if the program ends now.

        The threads of RxPY's schedulers are daemons. So a thread that is none, unless the source's
        is, waits for them, but not for a scheduler that has stopped.
        """
        self._queue.end(error)
        is_apart = self._kind in (SchedulerKind.THREAD, SchedulerKind.LOOP)
        if is_apart and not isinstance(self._scheduler, OwnThread) and not self._is_delivered():
            with suppress(RuntimeError):  # the interpreter ends already
                threading.Thread(target=self._keep_alive, name="rstream-rx-keep-alive").start()

    def _is_delivered(self) -> bool:
        return self._queue.is_closed or (self._is_done and self._deliverer is None)

    def _keep_alive(self) -> None:
        queue = self._queue
        with queue.changed:
            left = len(queue)
            while not self._is_delivered():
                is_told = queue.changed.wait(NOTICE_AFTER_S)
                before, left = left, len(queue)
                if not is_told and self._deliverer is None and left == before:
                    log.warning(
                        "%s: the source has ended, %d items wait, and nobody takes them: the "
                        "scheduler does not run, and the program does not wait for it",
                        queue.what,
                        left,
                    )
                    return

    # ---- scheduling ----

    def _wake(self) -> None:
        # Read without the lock: an action that has not seen the item yet leaves it True.
        if self._is_scheduled:
            return
        is_mine = False
        try:
            with self._queue.changed:
                if self._is_scheduled or self._is_done:
                    return
                self._is_scheduled = is_mine = True
            self._schedule()
        except BaseException:  # Ctrl-C where an item is emitted: the next one schedules an action
            self._is_scheduled &= not is_mine
            raise

    def _schedule(self) -> None:
        try:
            self._scheduler.schedule(self._run)
        except Exception as error:  # it is shut down: no other thread can tell the observer
            self._fail(error)

    def _is_idle(self) -> bool:
        return self._deliverer is None

    def _is_over(self) -> bool:
        return self._is_done

    def _can_wait(self) -> bool:
        here = threading.get_ident()
        if self._deliverer is not None:
            return self._deliverer != here
        if self._kind in (SchedulerKind.VIRTUAL, SchedulerKind.CALLER):
            return False
        return self._last_thread != here and not is_own_thread(self._scheduler)

    # ---- delivering ----

    def _run(self, _scheduler: Any = None, _state: Any = None) -> None:
        """One action."""
        queue, here = self._queue, threading.get_ident()
        outer, is_left, is_mine = tally.here.place, False, False
        try:
            with queue.changed:
                if self._deliverer == here:  # the observer has made its scheduler run
                    self._is_scheduled = False
                    return
                while self._deliverer is not None:
                    queue.changed.wait()
                self._deliverer = self._last_thread = here
                is_mine = True
            tally.here.place = self._place
            is_left = self._deliver(ITEMS_PER_TURN if self._kind is SchedulerKind.LOOP else None)
        except BaseException:  # Ctrl-C or an exit in the observer: nobody delivers any more
            self.dispose()
            raise
        finally:
            tally.here.place = outer
            if is_mine:
                with queue.changed:
                    self._deliverer = None
                    queue.changed.notify_all()
                    queue.marks.take(0)
        if is_left:
            queue.marks.settle()
            self._schedule()

    def _deliver(self, most: int | None) -> bool:
        """Deliver up to ``most`` items, and the end; True: there is more."""
        queue, observer = self._queue, self._observer
        on_next, marks, place = observer.on_next, queue.marks, self._place
        while most != 0:
            with queue.changed:
                if not queue.take_up(1):
                    self._is_scheduled = False
                    is_end = queue.is_ended and not self._is_done
                    self._is_done |= is_end
                    break
                place.tally, place.number = marks.given or NOWHERE
            # RxPY stops the observer first, and then disposes what is before it.
            if getattr(observer, "is_stopped", False):
                self._keep_taken()
                return False
            try:
                taken, queue.taken = queue.taken, []
                for item in taken:  # none: closed meanwhile
                    on_next(item)
                if leaving:
                    wait_until_left(self._is_over)
            except failures() as error:
                self._fail(error)
                return False
            self._left_of_part -= 1
            if not self._left_of_part:
                self._count_part()
            if most is not None:
                most -= 1
        else:
            return True
        marks.settle()
        if is_end:
            tell_end(queue.what, self._observer, queue.error)
        return False

    def _keep_taken(self) -> None:
        """The observer wants nothing more: what was taken for it counts as held."""
        with self._queue.changed:
            if self._queue.taken:  # not closed yet
                self._queue.marks.block(self._queue.marks.given)

    def _count_part(self) -> None:
        """Have the readers count; a slow observer counts each item."""
        now_s = monotonic()
        self._part = self._left_of_part = next_part(self._part, now_s - self._part_since_s)
        self._part_since_s = now_s
        self._forget_given()

    def _forget_given(self) -> None:
        """Count what the observer was given last."""
        with self._queue.changed:
            self._queue.marks.take(0)
        self._queue.marks.settle()

    def _deliver_here(self) -> bool:
        """Deliver one item in the thread that emits; False: it is inside a delivery already."""
        queue, here = self._queue, threading.get_ident()
        outer, is_mine = tally.here.place, False
        try:
            with queue.changed:
                if self._deliverer is not None:
                    # Another thread delivers: look again, and wait for it.
                    return self._deliverer != here
                self._deliverer = here
                is_mine = True
                queue.take_up(1)
                self._place.tally, self._place.number = queue.marks.given or NOWHERE
            tally.here.place = self._place
            taken, queue.taken = queue.taken, []
            for item in taken:
                self._observer.on_next(item)
            if leaving:
                wait_until_left(self._is_over)
        except failures() as error:
            self._fail(error)
        except BaseException:
            self.dispose()
            raise
        finally:
            tally.here.place = outer
            if is_mine:
                with queue.changed:
                    self._deliverer = None
                    queue.changed.notify_all()
                    queue.marks.take(0)
        return True

    def _fail(self, error: Exception) -> None:
        """The observer or the scheduler has failed: leave the source, and tell it."""
        with self._queue.changed:
            is_first, self._is_done = not self._is_done, True
        self._queue.dispose()
        if is_first:
            tell_end(self._queue.what, self._observer, error)
