"""What a queue with a policy holds of its reader, and therefore does not count as consumed.

The second kind of holder of a tally (_tally.py): its thread puts whole batches, so the objects
have plain numbers, and nothing is noted for a single one.

Behind the thread that takes, other queues may wait, such as those of RxPY operators. Then a second
tally counts what was taken: the hold is a holder of the reader's tally, and the loan of that one.

    reader ──▶ queue with a policy ──▶ thread that takes ──on_next──▶ queue of an operator ──▶ …
    Tally ◀─── QueueHold ◀──────────── Tally ◀──────────────────────── Marks
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final

from rstream.stream._tally import SOFT_PARTS, Holder, Tally

if TYPE_CHECKING:
    from rstream.flow.queues import Queue
    from rstream.stream._tally import Source

#: A queue that does not drop holds at most one of so many parts of the window: it may have room
#: for more objects than the window has.
BLOCKING_PARTS: Final = 2


class QueueHold(Holder):
    """The numbers of the objects that wait in a queue or are in the consumer's hand.

    Every method is called under ``lock``, but those that say otherwise.

    Args:
        lock: guards the queue.
        queue: the queue.
        source: the reader.
        is_dropping: the policy drops or merges objects.

    Attributes:
        taken: objects that were taken from the queue so far.
        done: how many of these count as consumed. The consumer sets it together with its return, so
            that no signal handler comes between, and calls :meth:`settle` in its next call. The
            thread that reads settles too, before each poll.
    """

    def __init__(self, lock: Any, queue: Queue[Any], source: Source, *, is_dropping: bool) -> None:
        super().__init__(lock, self._close, SOFT_PARTS if is_dropping else BLOCKING_PARTS)
        self.taken: int = 0
        self.done: int = 0
        self._queue = queue
        self._tally = Tally(source, lambda: 0, self.settle)
        self._is_registered: bool | None = None
        self._numbers: deque[int] = deque()  # in hand, then waiting
        self._forgotten = 0  # of those that are done
        self._settled = 0
        self._lost = (0, 0)  # what the queue had dropped and merged
        self._let_go = 0  # of the tally, as the second one was told
        # As the loan of a second tally: how many objects had been taken before its first one.
        self._lent_at = 0
        self.end_number: int = sys.maxsize
        self.length_bytes: int = 0

    def begin(self) -> int:
        """The number of the object before the batch that was just polled. In the thread that reads,
        before the batch is put. Not under the lock.
        """
        if self._is_registered is None:
            self._is_registered = self._tally.register(self)
        return self._tally.base

    def put(self, base: int, count: int) -> None:
        """So many objects were put, as the policy did it."""
        queue = self._queue
        dropped, merged = queue.dropped - self._lost[0], queue.conflated - self._lost[1]
        self._lost = queue.dropped, queue.conflated
        if not queue.drops_oldest:
            merged += dropped
        # Of a batch that was merged, the first numbers: they hold more rather than less.
        self._numbers.extend(range(base + 1, base + 1 + count - merged))
        if dropped and queue.drops_oldest:
            in_hand = self.taken - self._forgotten
            self._numbers.rotate(-in_hand)
            _pop(self._numbers, dropped)
            self._numbers.rotate(in_hand)

    def fail(self, last: int) -> None:
        """The reader is about to be closed. What was put will be handed on. What came behind the
        object with this number is for the next reader.
        """
        self._tally.last = self._tally.let_go = last

    def settle(self) -> None:
        """Have the reader count what is done. Not under the lock."""
        done = self.done
        if self._settled != done and self._is_registered:
            self._tally.settle()
            self._settled = done

    # ---- the loan of a second tally ----

    def lend(self, tally: Tally, taken: int) -> None:
        """From now on this tally says what is done. So many objects had been taken before those of
        the last poll. Not under the lock.
        """
        self._lent_at = taken - tally.base
        tally.add(self)

    def consume(self, number: int) -> None:
        """The objects up to this one are done. Not under the lock."""
        self.done = max(self.done, self._lent_at + number)
        self.settle()

    def give_back(self) -> None:
        """The second tally ends: what is not done stays with the first one."""

    def let_go(self) -> int | None:
        """Up to which object of the second tally this one holds nothing any more, because more
        than its part of the window waits. None: no more than before.
        """
        let_go = self._tally.let_go
        if let_go == self._let_go:
            return None
        self._forget()
        in_hand = islice(self._numbers, self.taken - self._forgotten)
        self._let_go = let_go
        return self._forgotten + sum(number <= let_go for number in in_hand) - self._lent_at

    def close(self) -> int:
        """The queue hands on nothing more: what it holds is given back when the reader is closed.

        Returns:
            How many objects of these had counted as consumed, to make room for the publisher.
        """
        self.is_live = False
        let_go = self._tally.let_go
        self._forget()
        return sum(number <= let_go for number in self._numbers)

    def _forget(self) -> None:
        numbers, done = self._numbers, self.done
        # One by one: a signal handler may raise in between.
        while numbers and self._forgotten < done:
            self._forgotten += 1
            numbers.popleft()

    # ---- for the tally ----

    def oldest(self, tally: Tally) -> int | None:
        """The least number of an object that is held."""
        self._forget()
        return self._numbers[0] if self._numbers else None

    def _close(self) -> None:
        """The program ends: what waits is not handed on any more. Not under the lock."""
        with self.lock:
            self.is_live = False


def _pop(numbers: deque[int], count: int) -> None:
    deque(map(deque[int].popleft, repeat(numbers, min(count, len(numbers)))), maxlen=0)
