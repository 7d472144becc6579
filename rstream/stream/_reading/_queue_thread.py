"""The thread that fills the queue of a subscriber, and what the two share.

The thread refers to what is here, and nothing here to the subscriber. A subscriber that the program
drops is collected in any thread, in the middle of anything: its ``__del__`` takes no lock, has this
thread leave the stream, and waits for that only for a moment.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rstream._checks import check_timeout
from rstream._condition import Condition, Event
from rstream._process import holds
from rstream._waits import Bell
from rstream.errors import RStreamError
from rstream.stream._reading._placed_errors import PlacedErrors

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stream._reading._reading import Reading

PUMP_WAIT_S: Final = 0.5
#: How long a close waits for the thread.
CLOSE_WAIT_S: Final = 10.0
#: How long a ``__del__`` waits until the thread has left the stream. It takes a millisecond, or a
#: poll that is under way. Longer, and the thread may need a lock that the caller holds.
DROP_WAIT_S: Final = 1.0


class QueueThread(ABC):
    """Reads a source into a queue.

    Args:
        source: what the thread reads.
        name: of the thread.

    Attributes:
        changed: the lock of the queue, the errors and the flags; notified when they change.
        errors: they stand between the items of the queue.
        thread: reads.
        has_ended: every publisher seen has ended.
        is_woken: a wait of the consumer is to end.
        is_closed: no more is read.
        bell: of an event loop that waits for a change.
    """

    def __init__(self, source: Reading[Any], name: str) -> None:
        self.changed: Condition = Condition()
        self.errors: PlacedErrors = PlacedErrors()
        self.has_ended: bool = False
        self.is_woken: bool = False
        self.is_closed: bool = False
        self.bell: Bell | None = None
        self.thread: threading.Thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._source = source
        self._left = Event()
        self._is_over = False  # the thread reads no more
        self._drops: list[Callable[[], None]] = []  # of a subscriber that was dropped

    @abstractmethod
    def read(self) -> None:
        """Fill the queue until it is closed; in the thread."""

    def _run(self) -> None:
        try:
            self.read()
        finally:
            self._is_over = True
            self._leave_dropped()

    def note_ended(self) -> bool:
        """Note whether the stream has ended. The thread reads on: another publisher may come."""
        if self._source.is_ended and not self.has_ended:
            with self.changed:
                self.has_ended = self.is_woken = True
                self.note_change()
        return False

    # ---- the consumer's waits ----

    def note_change(self) -> None:
        """Wake everyone who waits; under the lock."""
        self.changed.notify_all()
        if self.bell is not None:
            self.bell.wake()

    def wake(self) -> None:
        """End a wait of the consumer."""
        with self.changed:
            self.is_woken = True
            self.note_change()

    def wait(self, is_ready: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until the consumer finds something. False: not within ``timeout_s``."""
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        with self.changed:
            while not is_ready():
                left_s = PUMP_WAIT_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0:
                    return False
                self.changed.wait(min(left_s, PUMP_WAIT_S))
            self.is_woken = False
        return True

    def watched(self, is_ready: Callable[[], bool]) -> Bell:
        """What an event loop watches. ``is_ready`` is a method of the subscriber, which this does
        not hold.
        """
        if self.bell is None:
            method = weakref.WeakMethod(is_ready)
            self.bell = Bell(self.changed, lambda: (call := method()) is None or call())
        return self.bell

    # ---- the end ----

    def join(self) -> None:
        """Wait for the thread of a close, unless that thread closes or the lock is held here."""
        thread = self.thread
        if thread.is_alive() and not (thread is threading.current_thread() or holds(self.changed)):
            thread.join(CLOSE_WAIT_S)

    def close_bell(self) -> None:
        """The last step of a close."""
        if self.bell is not None:
            self.bell.close()

    def drop(self, leave: Callable[[], None]) -> None:
        """Leave because the subscriber is collected.

        Args:
            leave: gives back what waits, and leaves the stream.
        """
        self._drops.append(leave)
        self.is_closed = True
        self._source.stop_joining()
        self._source.nudge()
        self.changed.nudge()
        if self._is_over or not self.thread.is_alive():
            self._leave_dropped()
        elif self.thread is not threading.current_thread() and not sys.is_finalizing():
            self._left.wait(DROP_WAIT_S)

    def _leave_dropped(self) -> None:
        try:
            leave = self._drops.pop()  # one thread gets it
        except IndexError:
            return
        try:
            with suppress(RStreamError):
                leave()
            self.close_bell()
        finally:
            self._left.set()
