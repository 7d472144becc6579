"""Reading a subscriber for an observer: on a thread, or step by step on a scheduler.

    ThreadReading      waits in the transport; a thread of its own, or one of the scheduler's
    ScheduledReading   never waits: it looks, delivers what is there, and schedules its next step

Both deliver an item, or a batch, by ``on_next`` and read on when that has returned. What it raises
ends the reading and reaches ``on_error``.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from rstream._condition import Event
from rstream.driver import watch_loop
from rstream.rx._ends import failures
from rstream.rx._schedulers import SchedulerKind, is_called_from, kind_of
from rstream.rx._subscribing import Gate, run_when_subscribed
from rstream.stream._internal import (
    QueueMarks,
    Tally,
    batches,
    items,
    leaving,
    tally,
    wait_until_left,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactivex import abc

    from rstream.stream._internal import Reading

log = logging.getLogger("rstream")

WAIT_S: Final = 0.5
#: A step on a loop handles so many messages before others get their turn.
STEP_MOST: Final = 64
#: A step in virtual time handles all that is there, up to so many messages.
VIRTUAL_STEP_MOST: Final = 65_536
#: A loop looks again after PAUSE_S when nothing was there, then after twice as long, up to
#: PAUSE_MOST_S.
PAUSE_S: Final = 0.0005
PAUSE_MOST_S: Final = 0.01
#: The same in virtual time, always.
VIRTUAL_PAUSE_S: Final = 0.1


class ObserverReading:
    """What both ways share: the objects that are delivered are counted, and the end."""

    def __init__(
        self, source: Reading[Any], observer: abc.ObserverBase[Any], is_batched: bool
    ) -> None:
        self._source = source
        self._observer = observer
        self._is_batched = is_batched
        self._is_stopped = False
        self._tally = Tally(source, self._before_poll, self._settle)
        self._tally.close_source = self._close
        self._place = self._tally.place
        self._left_by: QueueMarks | None = None  # of the queue that has disposed it
        self._batch_length = 1  # objects that are delivered together, from the place on

    def _before_poll(self) -> int:
        """The number of the object before the last poll; asked during a delivery."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Count what is being delivered as consumed; at the end, what waits in queues too."""
        if not self._tally.finish_now():
            in_hand = self._place.number + self._batch_length - 1
            self._source.consume(in_hand - self._before_poll())

    def _note_stop(self) -> None:
        """Dispose: the item being delivered is the last one."""
        self._left_by = self._left_by or tally.here.leaving
        self._is_stopped = self._tally.is_ending = True

    def _is_last(self) -> bool:
        """Whether the item that was delivered just now is the last one."""
        if leaving:
            wait_until_left(lambda: self._is_stopped)
        if self._is_stopped and self._left_by is not None:
            self._left_by.hold_unarrived(self._place)
        return self._is_stopped

    def _close(self) -> None:
        self._source.close()

    def _end(self, error: Exception | None) -> None:
        """Close the reader, then tell the observer: it may open the stream again at once.

        While queues of the pipeline hand on what they hold, the reader is closed behind that.
        """
        self._source.note_failure(error)
        self._tally.finish(self._close)
        outer, tally.here.place = tally.here.place, self._place
        try:
            if self._is_stopped:
                if error is not None:
                    log.error("%r: failed while it was being disposed: %s", self._source, error)
            elif error is None:
                self._observer.on_completed()
            else:
                self._observer.on_error(error)
        finally:
            tally.here.place = outer


class ThreadReading(ObserverReading):
    """Reads until the end in one thread, which waits while nothing comes."""

    def __init__(
        self, source: Reading[Any], observer: abc.ObserverBase[Any], is_batched: bool
    ) -> None:
        super().__init__(source, observer, is_batched)
        self._is_done = Event()
        self._gate: Gate | None = None
        watch_loop(self)

    def start(self, name: str) -> None:
        """Read on a thread of its own."""
        self._gate = Gate()
        # ``run()`` waits for the end itself: if this thread kept the program alive, Ctrl-C would
        # seem to do nothing there. None: as the subscribing thread is; so RxPY's own daemon threads
        # make this one a daemon.
        daemon = True if is_called_from("reactivex.run") else None
        threading.Thread(target=self._run, name=name, daemon=daemon).start()

    def start_on(self, scheduler: abc.SchedulerBase) -> None:
        """Read in one action of a scheduler: in a thread that it gives, or in this one."""
        if kind_of(scheduler) is SchedulerKind.CALLER:
            run_when_subscribed(lambda: self._schedule_on(scheduler))
        else:
            self._gate = Gate()
            self._schedule_on(scheduler)

    def _schedule_on(self, scheduler: abc.SchedulerBase) -> None:
        try:
            scheduler.schedule(lambda _scheduler, _state: self._run())
        except BaseException:
            self._source.close()
            raise

    def stop(self) -> None:
        """Dispose: the item being delivered is the last one."""
        self._note_stop()
        self._source.wake()

    def join(self, timeout_s: float) -> None:
        """The program ends: give back what waits in queues, and wait until the reader is closed."""
        self._tally.abandon()
        if not self._is_done.wait(timeout_s):
            self._close()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self._is_done.set()

    def _before_poll(self) -> int:
        before = 1 if self._is_batched else self._source.rest.handed_out()
        return max(0, self._place.number - before)  # 0: nothing was delivered yet

    def _run(self) -> None:
        error: Exception | None = None
        if self._gate is not None:
            self._gate.wait()
        outer, tally.here.place = tally.here.place, self._place
        try:
            self._read()
        except failures() as raised:
            error = raised
        except BaseException:
            self._close()
            raise
        finally:
            tally.here.place = outer
        self._end(error)

    def _read(self) -> None:
        on_next, place = self._observer.on_next, self._place
        if self._is_batched:
            self._batch_length = 1
            for batch in batches(self._source, lambda: self._is_stopped, wait_s=WAIT_S):
                place.number += self._batch_length
                self._batch_length = len(batch)
                on_next(batch)
                if (leaving or self._is_stopped) and self._is_last():
                    return
            return
        each = items(self._source, lambda: self._is_stopped, wait_s=WAIT_S)
        for place.number, item in enumerate(each, 1):
            on_next(item)
            if (leaving or self._is_stopped) and self._is_last():
                return


class ScheduledReading(ObserverReading):
    """Reads in steps, each an action of a scheduler that others use too.

    ``_lock`` guards the flags. One step runs at a time, and it alone touches the reader; a dispose
    between two steps closes it at once, because the next one may never come.
    """

    def __init__(
        self,
        source: Reading[Any],
        observer: abc.ObserverBase[Any],
        is_batched: bool,
        scheduler: abc.SchedulerBase,
    ) -> None:
        super().__init__(source, observer, is_batched)
        self._scheduler = scheduler
        self._is_virtual = kind_of(scheduler) is SchedulerKind.VIRTUAL
        self._pause_s = PAUSE_S
        self._lock = threading.Lock()
        self._is_stepping = False
        self._before = 0  # the number before the first of those that are being delivered
        watch_loop(self)

    def _before_poll(self) -> int:
        return self._before

    def start(self) -> None:
        """Schedule the first step."""
        self._go_on(0.0)

    def stop(self) -> None:
        """Dispose: the item being delivered is the last one."""
        with self._lock:
            self._note_stop()
            if self._is_stepping:
                return
        self._tally.finish(self._close)

    def join(self, timeout_s: float) -> None:
        """The program ends: no step begins any more, and what waits in queues is given back."""
        self._tally.abandon()

    def _go_on(self, pause_s: float) -> None:
        try:
            if pause_s > 0:
                self._scheduler.schedule_relative(pause_s, self._step)
            else:
                self._scheduler.schedule(self._step)
        except Exception as error:  # it is shut down
            self._end(error)

    def _step(self, _scheduler: Any = None, _state: Any = None) -> None:
        with self._lock:
            if self._is_stopped or self._is_stepping:
                return
            self._is_stepping = True
        pause_s: float | None = None
        error: Exception | None = None
        try:
            pause_s = self._advance()
        except failures() as raised:
            error = raised
        except BaseException:
            self._close()
            raise
        with self._lock:
            self._is_stepping = False
            is_stopped = self._is_stopped
        if is_stopped or pause_s is None:
            self._end(error)
        else:
            self._go_on(pause_s)

    def _advance(self) -> float | None:
        """Deliver what is there. Returns seconds to the next step; None: the stream has ended."""
        source = self._source
        left = VIRTUAL_STEP_MOST if self._is_virtual else STEP_MOST
        while left > 0 and not self._is_stopped:
            most = min(left, source.prefetch)
            found = source.take_rest(most) or source.poll_held(most)
            if not found:
                return None if source.is_ended else self._next_pause()
            self._pause_s = PAUSE_S
            self._deliver(found)
            left -= len(found)
        return 0.0

    def _deliver(self, found: list[Any]) -> None:
        on_next, place = self._observer.on_next, self._place
        before = self._before = place.number + self._batch_length - 1
        outer, tally.here.place = tally.here.place, place
        try:
            if self._is_batched:
                place.number, self._batch_length = before + 1, len(found)
                on_next(found)
                if leaving or self._is_stopped:
                    self._is_last()
                return
            for item in found:
                if self._is_stopped:
                    return
                place.number += 1
                on_next(item)
                if leaving or self._is_stopped:
                    self._is_last()
        finally:
            tally.here.place = outer
            self._source.consume(place.number + self._batch_length - 1 - before)

    def _next_pause(self) -> float:
        if self._is_virtual:
            return VIRTUAL_PAUSE_S
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, PAUSE_MOST_S)
        return pause_s


def read(
    source: Reading[Any],
    observer: abc.ObserverBase[Any],
    is_batched: bool,
    scheduler: abc.SchedulerBase | None,
    name: str,
) -> Callable[[], None]:
    """Begin to read.

    Args:
        source, observer: from and to.
        is_batched: deliver the list of each poll.
        scheduler: where; None: on a thread of its own.
        name: of that thread.
    Returns:
        What disposes it.
    """
    if scheduler is None:
        reading = ThreadReading(source, observer, is_batched)
        reading.start(name)
        return reading.stop
    if kind_of(scheduler) in (SchedulerKind.THREAD, SchedulerKind.CALLER):
        reading = ThreadReading(source, observer, is_batched)
        reading.start_on(scheduler)
        return reading.stop
    stepwise = ScheduledReading(source, observer, is_batched, scheduler)
    stepwise.start()
    return stepwise.stop


def chosen_scheduler(
    own: abc.SchedulerBase | None, subscribed: abc.SchedulerBase | None
) -> abc.SchedulerBase | None:
    """The scheduler given to the source, else that of ``subscribe``; None: a thread of its own.

    Operators and ``run()`` pass on schedulers that mean "a thread, any" or "the caller's thread"
    where the user has named none. These would be no better than a thread of its own, or would
    block ``subscribe``.
    """
    if own is not None or subscribed is None:
        return own
    return (
        None if kind_of(subscribed) in (SchedulerKind.THREAD, SchedulerKind.CALLER) else subscribed
    )
