"""What of a reader waits in queues behind it, and therefore does not count as consumed.

Law: object n counts as consumed when the calls that were given the objects 1 to n have returned,
and no queue holds one of these objects any more.

    thread that reads ──on_next──▶ queue ──▶ thread that takes ──on_next──▶ …
    Place: object n of the reader   mark n    Place: object n, till on_next has returned

A *place* says which object of which reader a thread works on. A queue that keeps what it is given
notes the place as a *mark*, whatever operators made of the object on the way. So any operator may
stand between reader and queue, as long as it calls its observer in the call that it was given.

When the pipeline is disposed, what waits in its queues is given back: the next reader begins there.
What was given to an observer, or to the function that raised, counts as consumed. What is on its
way to a queue then, in an operator that RxPY has stopped already, never arrives, and nobody says
so. Therefore who is disposed learns from ``here.leaving`` which queue disposes it. If what it works
on has not come to that queue, it counts as held there. RxPY stops what is between them first, so
who delivers looks at ``leaving`` after each delivery, and waits before it goes on.

A queue that drops must not slow its publisher down. So its marks are *soft*: they hold the stream
only while that is less than one of ``SOFT_PARTS`` parts of the window.

Locks. ``_settling`` is held by the thread that counts, and it takes the lock of each queue besides:
so an object that goes from one queue to the next is seen in one of them. Nobody who holds the lock
of a queue waits for anything else.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from contextlib import contextmanager, suppress
from itertools import repeat
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rstream.stream._reading._loans import Loan

__all__ = (
    "NOWHERE",
    "Holder",
    "Mark",
    "Place",
    "QueueMarks",
    "Source",
    "Tally",
    "close_disposed_here",
    "here",
    "leaving",
    "settle_here",
    "wait_until_left",
)

#: A reader's tally, and the number of one of its objects; without a tally, an object of no reader.
Mark: TypeAlias = "tuple[Tally | None, int]"

#: Soft marks let go when more than one of so many parts of the window is not consumed.
SOFT_PARTS: Final = 8

#: The mark of an object of no reader.
NOWHERE: Final[Mark] = (None, 0)

#: A thread that delivers waits so long at most while a queue leaves its source, which takes
#: microseconds unless a disposable of the user waits.
LEAVE_S: Final = 1.0
LEAVE_PAUSE_S: Final = 0.001

#: Of each queue that leaves its source just now: when nobody waits for that any more (monotonic).
leaving: Final[list[float]] = []

_settling = threading.RLock()  # a signal handler may close the reader meanwhile


class Place:
    """Which object a thread works on.

    Attributes:
        tally: counts the reader's objects; None: it works on no object of a reader.
        number: of the object.
        settle: counts the object as consumed though its call has not returned.
        close_disposed: closes readers whose pipeline was disposed in this call; None: there is none
            but the tally's.
    """

    __slots__ = ("close_disposed", "number", "settle", "tally")

    def __init__(self, tally: Tally | None, number: int, settle: Callable[[], None]) -> None:
        self.tally: Tally | None = tally
        self.number: int = number
        self.settle: Callable[[], None] = settle
        self.close_disposed: Callable[[], None] | None = None

    def close_readers(self) -> None:
        """Close the readers whose pipelines were disposed in this call."""
        if self.close_disposed is not None:
            self.close_disposed()
        elif self.tally is not None:
            self.tally.close_disposed()

    def inside(self, outer: Place) -> Place:
        """This place in a call from another one: the object is this one's, both are settled."""
        if self.tally is None or self.tally is outer.tally:
            return outer

        def settle() -> None:
            self.settle()
            outer.settle()

        def close_readers() -> None:
            self.close_readers()
            outer.close_readers()

        both = Place(self.tally, self.number, settle)
        both.close_disposed = close_readers
        return both


class _Here(threading.local):
    place: Place | None = None
    leaving: QueueMarks | None = None


#: ``here.place``: that of the calling thread. ``here.leaving``: the marks of the queue whose source
#: the calling thread disposes just now. Who sets one of them puts the former one back.
here: Final = _Here()


def wait_until_left(is_disposed: Callable[[], bool]) -> None:
    """Wait for the queues that leave their sources just now, ``LEAVE_S`` at most.

    Call this after a delivery while ``leaving`` is not empty. The object may be lost in an operator
    that RxPY has stopped, and a thread that goes on would count the object as handled.

    Args:
        is_disposed: whether one of them has reached the caller: it need not wait any more.
    """
    while leaving and not is_disposed():
        if max(leaving) < monotonic():
            return
        sleep(LEAVE_PAUSE_S)


def settle_here() -> None:
    """Count what the calling thread works on. Call it before another reader of the stream is
    opened: after an error (``retry``) it goes on behind the object that failed.
    """
    place = here.place
    if place is not None:
        place.settle()


def close_disposed_here() -> None:
    """Close the readers whose pipelines were disposed in the call that the thread is in. Their own
    threads may still be busy, and the next reader would begin where they stand. Call it when the
    new reader is open: a stream that has no reader at all may end.
    """
    if here.place is not None:
        here.place.close_readers()


class Source(Protocol):
    """What a tally needs of a subscriber."""

    def lend_to(self, tally: Tally) -> bool:
        """From now on the tally says what counts as consumed. False: that cannot be."""
        ...

    def window_bytes(self) -> int:
        """The window of its publishers; 0: there is none."""
        ...


class Holder(ABC):
    """A queue behind a reader.

    Attributes:
        lock: guards the queue.
        soft_parts: the queue drops, and what it has holds at most one of so many parts of the
            window; 0: it holds all.
        is_live: not closed yet; what waits will be handed on.
        close_queue: has the queue hand on nothing more. Not under the lock.
    """

    __slots__ = ("close_queue", "is_live", "lock", "soft_parts")

    def __init__(self, lock: Any, close_queue: Callable[[], object], soft_parts: int) -> None:
        self.lock: Any = lock
        self.close_queue: Callable[[], object] = close_queue
        self.soft_parts: int = soft_parts
        self.is_live: bool = True

    @abstractmethod
    def oldest(self, tally: Tally) -> int | None:
        """The least number of an object of this reader that is held. Under the lock."""


class Tally:
    """Counts the objects of one reader. Objects have numbers, from 1, in the order of delivery.

    Args:
        source: the reader.
        base: the number of the object before the reader's last poll. Asked once, in the thread that
            reads, when a queue keeps an object for the first time. Until then it costs nothing.
        settle: of ``place``.

    Attributes:
        place: the thread that reads sets ``place.number`` when it delivers that object; the calls
            of those before it have returned.
        base, polled: objects before the last poll, and with it. Only the thread that reads uses
            them.
        let_go: soft marks up to this object hold nothing.
        last: the last object that may count as consumed; None: all may.
        is_ending: the reader will be closed.
        close_source: closes the reader of a pipeline that was disposed; any thread.
    """

    def __init__(self, source: Source, base: Callable[[], int], settle: Callable[[], None]) -> None:
        self.place: Place = Place(self, 0, settle)
        self._source = source
        self._base_at_first = base
        self._lots: deque[Loan] = deque()
        self._holders: list[Holder] = []
        self._returned = 0  # objects whose calls have returned, and their numbers
        self._consumed = 0
        self._is_lent: bool | None = None
        self._on_done: Callable[[], None] | None = None
        self.base: int = 0
        self.polled: int = 0
        self.let_go: int = 0
        self.last: int | None = None
        self.is_ending: bool = False
        self.close_source: Callable[[], None] | None = None

    # ---- the thread that reads ----

    def returned(self, count: int) -> None:
        """So many objects of the last poll are handled, as far as the thread that reads knows."""
        self._returned = max(self._returned, self.base + count)
        self.settle()

    def begin_poll(self) -> None:
        """All objects of the last poll were handled."""
        if self._returned < self.polled:
            self.returned(self.polled - self.base)
        parts = max((one.soft_parts for one in self._holders), default=0)
        if parts and self._holds_more_than_one_of(parts):
            self.let_go = self._returned
            self.settle()

    def _holds_more_than_one_of(self, parts: int) -> bool:
        """Whether what is on loan is more than one of so many parts of the window."""
        with _settling:
            held_bytes = sum(lot.length_bytes for lot in self._lots)
        window_bytes = self._source.window_bytes() if held_bytes else 0
        return 0 < window_bytes < parts * held_bytes

    def add(self, lot: Loan) -> None:
        """Take over what was polled."""
        with _settling:
            if self._lots or lot.end_number > self._consumed:
                self._lots.append(lot)
            else:  # messages that are no objects
                lot.consume(lot.end_number)

    def close(self) -> None:
        """The reader is being closed: count for the last time, and give back the rest."""
        with _settling:
            self._consume(self._look(is_last=True)[0])
            self._holders.clear()
            while self._lots:
                self._lots.pop().give_back()

    # ---- queues ----

    def register(self, holder: Holder) -> bool:
        """Ask this queue from now on; False: the reader cannot wait for it.

        The first call comes in the thread that reads: its object is the first that is kept.
        """
        if self._is_lent is None:
            self.base = self._returned = self._consumed = self._base_at_first()
            self._is_lent = self._source.lend_to(self)
        if self._is_lent:
            with _settling:
                if holder not in self._holders:
                    self._holders.append(holder)
        return self._is_lent

    def unregister(self, holder: Holder) -> None:
        """A queue was disposed: unless the reader ends with it, what it held is dropped."""
        with _settling:
            if not self.is_ending and holder in self._holders:
                self._holders.remove(holder)
        self.settle()

    # ---- any thread ----

    def settle(self) -> None:
        """Count what is consumed by now."""
        with _settling:
            number, is_awaited = self._look()
            self._consume(number)
        if not is_awaited and self._on_done is not None:
            self.finish_now()

    def _look(self, *, is_last: bool = False, locked: int = 0) -> tuple[int, bool]:
        """Up to which object all are consumed, and whether a queue hands on one that is not."""
        holders = self._holders
        if locked < len(holders):
            with holders[locked].lock:  # a signal handler that raises leaves none of them locked
                return self._look(is_last=is_last, locked=locked + 1)
        number, is_awaited = max(self._returned, self.place.number - 1), False
        for holder in holders:
            oldest = holder.oldest(self)
            if oldest is None:
                continue
            is_awaited = is_awaited or holder.is_live
            if is_last and holder.is_live:  # it will hand on what it holds
                continue
            number = min(number, max(oldest - 1, self.let_go if holder.soft_parts else 0))
        return number if self.last is None else min(number, self.last), is_awaited

    def _consume(self, number: int) -> None:
        """A call that was interrupted is made again."""
        if number <= self._consumed:
            return
        lots = self._lots
        while lots and lots[0].end_number <= number:
            lots[0].consume(number)
            del lots[0]
        if lots:
            lots[0].consume(number)
        self._consumed = number

    # ---- the end ----

    def abandon(self) -> None:
        """The program ends: the queues hand on nothing more, and nobody waits for room there."""
        for holder in list(self._holders):
            holder.close_queue()
        self.settle()

    def close_disposed(self) -> None:
        """Close the reader at once if its pipeline was disposed."""
        if self.is_ending and self.close_source is not None:
            self.close_source()

    def finish(self, close: Callable[[], None]) -> None:
        """Have the reader closed, at once or when the queues have handed on what they hold."""
        self.is_ending = True
        self._on_done = close
        self.settle()

    def finish_now(self) -> bool:
        """Have it closed now: what waits in queues that live counts as consumed. False: it has not
        ended, or is closed.
        """
        on_done = None
        try:
            with _settling:
                on_done, self._on_done = self._on_done, None
            if on_done is not None:
                on_done()
        except BaseException:
            if on_done is not None:
                self._on_done = on_done  # the next count closes it
            raise
        return on_done is not None


class QueueMarks(Holder):
    """The marks of what one queue holds, and of the object that its taker was given last.

    Every method is called under ``lock`` but those that say otherwise.

    Attributes:
        waiting: the mark of each object that waits, oldest first; None: of no reader.
        given: of the object that was taken and may be worked on.
        blocked: of objects that wait for room, or were refused.
        last: the tally of the mark noted last, for who makes the next one without a call.
        newest: that mark.
        left: the tallies of the readers that it asked, once they were left.
    """

    __slots__ = (
        "_newest",
        "_tallies",
        "blocked",
        "given",
        "last",
        "left",
        "newest",
        "waiting",
    )

    def __init__(self, lock: Any, close_queue: Callable[[], object], is_soft: bool = False) -> None:
        super().__init__(lock, close_queue, SOFT_PARTS if is_soft else 0)
        self.waiting: deque[Mark | None] = deque()
        self.given: Mark | None = None
        self.blocked: list[Mark] = []
        self.last: Tally | None = None
        self.newest: Mark | None = None
        self._newest: dict[Tally, int] = {}  # of the other tallies
        self._tallies: list[Tally] | None = []  # None: they were left
        self.left: list[Tally] = []

    # ---- the source ----

    @contextmanager
    def leaving(self) -> Generator[None]:
        """Dispose the source in this block: so the places that fed the queue learn of it."""
        outer, due_s = here.leaving, monotonic() + LEAVE_S
        try:
            here.leaving = self
            leaving.append(due_s)
            yield
        finally:
            here.leaving = outer
            with suppress(ValueError):  # interrupted before it was there
                leaving.remove(due_s)

    def hold_unarrived(self, place: Place) -> None:
        """This queue has disposed the reader of that place, whose delivery has just returned: if
        the object has not come here, it counts as held. In the thread that reads.
        """
        tally = place.tally
        if tally is None or self.has_come((tally, place.number)):
            return
        with self.lock:
            self.block((tally, place.number))
        tally.register(self)

    def has_come(self, mark: Mark) -> bool:
        """Whether the object has been put here."""
        tally, number = mark
        return tally is None or number <= self._newest_of(tally)

    def meet(self, tally: Tally | None) -> bool:
        """Objects of this reader come. False: it cannot wait for the queue.

        Not under the lock. For the first queue of a reader: in the thread that reads.
        """
        tallies = self._tallies
        if tally is None or tallies is None:
            return False
        if tally not in tallies:
            if not tally.register(self):
                return False
            tallies.append(tally)
        return True

    def note(self, place: Place) -> Mark | None:
        """The mark of what the calling thread works on. Not under the lock.

        Args:
            place: ``here.place``, which is there.
        """
        tally = place.tally
        if tally is not self.last:
            if not self.meet(tally):
                return None
            if self.newest is not None and self.newest[0] is not None:
                self._newest[self.newest[0]] = self.newest[1]
            self.last = tally
        self.newest = None if tally is None else (tally, place.number)
        return self.newest

    def block(self, mark: Mark | None) -> None:
        """The object waits for room, or was refused: it counts as held."""
        if mark is not None and mark not in self.blocked:
            self.blocked.append(mark)

    def unblock(self, mark: Mark | None) -> None:
        """There was room."""
        if mark in self.blocked:
            self.blocked.remove(mark)

    def take(self, count: int) -> None:
        """So many objects are handed on; those taken before are done."""
        waiting = self.waiting
        self.given = waiting[0] if count else None
        if count == 1:
            del waiting[0]
        elif count:  # all in C: no signal handler runs between two of them
            deque(map(deque[Any].popleft, repeat(waiting, count)), 0)

    def remove(self, mark: Mark | None) -> None:
        """This object is done, out of turn."""
        if mark in self.waiting:
            self.waiting.remove(mark)

    def close(self) -> None:
        """Nothing is handed on any more. What the taker was given counts as consumed, and what is
        on its way here does not.
        """
        self.is_live = False
        given, self.given = self.given, None
        behind = here.leaving  # the queue that the taker feeds, if that one disposes this one
        if behind is not None and given is not None and not behind.has_come(given):
            self.block(given)

    def _newest_of(self, tally: Tally) -> int:
        """The number of its newest object that has come; 0: none has."""
        newest = self.newest
        if newest is not None and newest[0] is tally:
            return newest[1]
        return self._newest.get(tally, 0)

    def oldest(self, tally: Tally) -> int | None:
        """The least number of an object of this reader that is held."""
        least = None
        given = self.given
        if given is not None and given[0] is tally:
            least = given[1]
        for mark in self.waiting:
            if mark is not None and mark[0] is tally:
                least = mark[1] if least is None else min(least, mark[1])
                break
        for blocked, number in self.blocked:
            if blocked is tally:
                least = number if least is None else min(least, number)
        return least

    def settle(self) -> None:
        """Have the readers count. Not under the lock."""
        for tally in self._tallies or ():
            tally.settle()

    def leave(self) -> None:
        """The source was disposed. Readers that go on do not wait for this queue any more. Not
        under the lock.
        """
        tallies, self._tallies, self.last = self._tallies, None, None
        self.left += tallies or ()
        for tally in tallies or ():
            tally.unregister(self)

    def close_disposed(self) -> None:
        """Close the readers that were disposed with this queue. Not under the lock."""
        for tally in self.left:
            tally.close_disposed()
