"""The queue between the thread that emits items and the thread that takes them.

Law: at most ``capacity`` items wait. At the limit the thread that emits waits until ``low`` items
are left, or the policy of the queue decides (flow/queues.py). The end of the source waits behind
the items. Once ``close`` was called nothing waits any more, and what is put is dropped.

What waits does not count as consumed by the reader that it came from (stream/_tally.py).

One lock guards all of it; no code of the user runs under it but a policy's key or merge function.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from rstream import policy
from rstream._checks import is_whole
from rstream._condition import Condition
from rstream._waits import NOTICE_AFTER_S
from rstream.errors import ConfigError, SlowConsumer
from rstream.flow.policies import queue_of
from rstream.flow.queues import FullError
from rstream.stream._internal import Mark, QueueMarks, here

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("rstream")

T = TypeVar("T")


def check_capacity(function: str, name: str, value: object) -> None:
    """Refuse what is no number of items.

    Raises:
        ConfigError: says what it must be.
    """
    if not is_whole(value) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{function}: {name}={value!r}: must be a number of items, at least 1")


class BoundedQueue(Generic[T]):
    """See the module.

    Args:
        what: for errors and notices: which operator it belongs to.
        on_slow: what happens at the limit; ``Buffer(n)``: the producer waits.
        low: a producer that waits goes on when so few items are left; None: one less than the
            capacity.
    """

    def __init__(self, what: str, on_slow: policy.SlowPolicy, low: int | None = None) -> None:
        queue = queue_of(on_slow)
        if queue is None:
            raise ConfigError(f"{what}: {on_slow!r} has no queue", hint="use policy.Buffer(n)")
        self.what = what
        self._queue = queue
        self._is_blocking = isinstance(on_slow, policy.Buffer) and on_slow.overflow == "block"
        self._low = queue.capacity - 1 if low is None else low
        self.changed = Condition()  # guards the attributes below, and the owner's state
        self.marks = QueueMarks(self.changed, self.close, is_soft=not self._is_blocking)
        self._is_held = False  # full, and not down to ``low`` again
        self._waiting_producers = 0
        self.is_ended = False  # the source has ended, or its policy failed
        self.is_closed = False
        self.error: Exception | None = None  # of the end
        #: Taken and not handed on: by a call that goes on, or that a signal handler interrupted.
        self.taken: list[T] = []
        #: Called after each change that the taker should see; not under the lock.
        self.on_change: Callable[[], None] = _nothing
        #: Called under the lock when items were taken, or nothing is wanted any more.
        self.on_room: Callable[[], None] = _nothing
        #: Called under the lock before a producer waits; False: its wait would never end.
        self.can_wait: Callable[[], bool] = _yes
        #: Called where ``can_wait`` was False; True: there is room now.
        self.make_room: Callable[[], bool] = _no
        #: Called every two seconds while a producer waits; True: nobody has begun to take.
        self.is_idle: Callable[[], bool] = _no
        #: Called when the policy has failed, to leave the source.
        self.leave: Callable[[], None] = _nothing

    def __len__(self) -> int:
        return len(self._queue) + len(self.taken)

    @property
    def lost(self) -> int:
        """Items that the policy has dropped or merged."""
        return self._queue.dropped + self._queue.conflated

    @property
    def is_over(self) -> bool:
        """Whether nothing is left but the end."""
        return self.is_closed or (self.is_ended and not len(self))

    def statistics(self) -> dict[str, int | float | bool]:
        """The same names as of a stream's subscriber."""
        queue = self._queue
        return {
            "waiting": len(self),
            "capacity": queue.capacity,
            "dropped": queue.dropped,
            "conflated": queue.conflated,
        }

    # ---- the producer's side ----

    def put(self, item: T) -> None:
        """Add an item; wait for room, or do what the policy says. Raises nothing."""
        marks, mark = self.marks, None
        place = here.place
        if place is not None:
            tally = place.tally
            if tally is marks.last:
                mark = marks.newest = tally, place.number
            else:
                mark = marks.note(place)
        while True:
            with self.changed:
                if self.is_ended or self.is_closed:
                    marks.block(mark)
                    return
                failure = self._try_to_put(item, mark)
                if failure is None:
                    break
                marks.block(mark)
                if failure is _FULL and self.can_wait():
                    self._wait_for_room()
                    continue
            if failure is _FULL:
                if self.make_room():
                    continue
                failure = SlowConsumer(
                    f"{self.what}: {self._queue.capacity} items wait, and the source emits in the "
                    "thread that should take them, so that waiting for room would never end",
                    hint="emit in another thread, take a larger capacity, or a policy that drops",
                )
            self.end(failure)
            self.leave_source()
            return
        self.on_change()

    def _try_to_put(self, item: T, mark: Mark | None) -> Exception | None:
        """None: it is in. ``_FULL``: the producer must wait. Else the policy has failed."""
        queue, marks = self._queue, self.marks
        if self._is_blocking:
            if self._is_held or queue.room() < 1:
                self._is_held = True
                return _FULL
            queue.put(item)
            marks.waiting.append(mark)
            if marks.blocked:
                marks.unblock(mark)
            return None
        dropped, conflated = queue.dropped, queue.conflated
        try:
            queue.put(item)
        except FullError as error:
            return SlowConsumer(
                f"{self.what}: {error}, and one more has come",
                hint="consume faster, take a larger capacity, or a policy that drops or waits",
            )
        except Exception as error:  # the user's key or merge function
            return error
        if queue.dropped > dropped and queue.drops_oldest:
            marks.waiting.popleft()
            marks.waiting.append(mark)
        elif queue.dropped == dropped and queue.conflated == conflated:
            marks.waiting.append(mark)
        return None

    def _wait_for_room(self) -> None:
        self._waiting_producers += 1
        since_s = time.monotonic()
        try:
            while self._is_held and not self.is_closed and not self.is_ended:
                if not self.changed.wait(NOTICE_AFTER_S) and self.is_idle():
                    log.warning(
                        "%s: %d items have waited for %.0f s, and nobody takes them: is the "
                        "scheduler running, and has it a free thread?",
                        self.what,
                        len(self),
                        time.monotonic() - since_s,
                    )
        finally:
            self._waiting_producers -= 1

    def has_room(self) -> bool:
        """Whether ``put`` would not wait now; it does not once nothing is wanted any more."""
        with self.changed:
            return self.is_closed or self.is_ended or self._queue.room() > 0

    def end(self, error: Exception | None) -> None:
        """The source has ended; the first end counts."""
        with self.changed:
            if self.is_ended or self.is_closed:
                return
            self.is_ended = True
            self.error = error
            self.changed.notify_all()
        self.on_change()

    # ---- the taker's side ----

    def take_up(self, limit: int) -> list[T]:
        """Take up to ``limit`` items, oldest first, into ``taken``, and return that; never waits.
        Under the lock. What an interrupted call has left there comes first, and alone.

        The caller empties ``taken`` without a call before it hands the items on: so no signal
        handler that raises loses one.
        """
        if self.is_closed:
            return []
        queue, marks = self._queue, self.marks
        if not self.taken:
            self.taken = queue.take(limit)
            if not self.taken:
                marks.take(0)
        left = len(queue)
        count = len(marks.waiting) - left  # the marks follow, also after an interrupt between
        if count > 0:
            marks.take(count)
        if self.taken and self.on_room is not _nothing:
            self.on_room()
        if self._is_held and left <= self._low:
            self._is_held = False
            if self._waiting_producers:
                self.changed.notify_all()
        return self.taken

    def _give_up(self, mark: Mark | None) -> None:
        """What was taken and not handed on counts as held."""
        self.marks.block(mark)
        taken, self.taken = self.taken, []
        if not taken:  # its taker was faster
            self.marks.unblock(mark)

    def dispose(self) -> None:
        """Close, leave the source, and let the readers behind it count. Idempotent."""
        self.close()
        self.leave_source()
        self.marks.leave()

    def leave_source(self) -> None:
        """Dispose the source; its readers keep what has not come here."""
        with self.marks.leaving():
            self.leave()

    def close(self) -> None:
        """Nothing is wanted any more; producers that wait go on. Idempotent. What waits is kept in
        mind until the source was left.
        """
        with self.changed:
            if self.taken and not self.is_closed:
                self.take_up(0)
                self._give_up(self.marks.given)
            self.is_closed = True
            self.marks.close()
            self._queue.take(len(self._queue))
            self.on_room()
            self.changed.notify_all()


#: Not raised.
_FULL: Final[Any] = FullError("full")


def _nothing() -> None:
    """Nobody has asked to be called."""


def _yes() -> bool:
    return True


def _no() -> bool:
    return False
