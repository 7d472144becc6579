"""What the stages do, as pure objects (:class:`rstream.stages._link.Logic`).

=============  ============================  ================================================
logic          holds at most                 asks upstream for
=============  ============================  ================================================
Queued         the queue's capacity          its free places; everything when it drops
Batching       ``count_max`` elements        its free places
Throttling     ``burst`` elements            its free places
=============  ============================  ================================================
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from rstream import policy
from rstream.abc import UNBOUNDED
from rstream.errors import SlowConsumer
from rstream.flow.policies import queue_of
from rstream.flow.queues import FullError
from rstream.stages._link import NOTHING, Nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.flow.queues import Queue
    from rstream.flow.spacing import Spacing

T = TypeVar("T")


class Queued(Generic[T]):
    """The queue of a policy between upstream and downstream.

    Args:
        on_slow: what happens when it is full; ``Buffer(n)``: upstream is asked for no more.
        on_drop: is called with the number of elements that an element has displaced.
    """

    def __init__(
        self,
        on_slow: policy.Buffer | policy.Conflate,
        on_drop: Callable[[int], None] | None = None,
    ) -> None:
        queue = queue_of(on_slow)
        assert queue is not None, on_slow  # these policies have one
        self._queue: Queue[T] = queue
        self._waits = isinstance(on_slow, policy.Buffer) and on_slow.overflow == "block"
        self._on_drop = on_drop

    def wanted(self) -> int:
        return self._queue.room() if self._waits else UNBOUNDED

    def put(self, item: T, now_ns: int) -> None:
        queue = self._queue
        dropped = queue.dropped
        try:
            queue.put(item)
        except FullError:
            raise SlowConsumer(
                f"{queue.capacity} elements wait already, and another one came",
                hint="take them faster, enlarge the buffer, or choose another overflow",
            ) from None
        if queue.dropped != dropped and self._on_drop is not None:
            self._on_drop(queue.dropped - dropped)

    def take(self, now_ns: int, is_ended: bool) -> T | Nothing:
        items = self._queue.take(1)
        return items[0] if items else NOTHING

    def next_ns(self) -> int | None:
        return None

    def __len__(self) -> int:
        return len(self._queue)


class Batching(Generic[T]):
    """Gathers elements into lists.

    Law: a list has 1 to ``count_max`` elements and weighs at most ``weight_max``, unless a single
    element weighs more. It goes out when the next element does not fit any more, ``within_ns``
    after its first element came, or when upstream has ended.

    Args:
        count_max: most elements of a list, and most elements held.
        within_ns: how long an element waits for others; None: until the list is full.
        weight: weight of an element, at least 0; None: elements weigh nothing.
        weight_max: most weight of a list.
    """

    def __init__(
        self,
        count_max: int,
        within_ns: int | None,
        weight: Callable[[T], float] | None = None,
        weight_max: float = 0.0,
    ) -> None:
        self._count_max = count_max
        self._within_ns = within_ns
        self._weight = weight
        self._weight_max = weight_max
        self._items: deque[tuple[T, float, int]] = deque()
        self._open_count = 0  # of the list that goes out next, from the left
        self._open_weight = 0.0
        self._is_full = False  # nothing fits into that list any more

    def wanted(self) -> int:
        return self._count_max - len(self._items)

    def put(self, item: T, now_ns: int) -> None:
        weight = 0.0 if self._weight is None else self._weight(item)
        if not weight >= 0:
            raise ValueError(f"weight {weight!r} of an element: must be 0 or more")
        self._items.append((item, weight, now_ns))
        if not self._is_full:
            self._fit(weight)

    def _fit(self, weight: float) -> None:
        """Add the next element to the open list, if it fits."""
        if self._open_count and self._open_weight + weight > self._weight_max:
            self._is_full = True
            return
        self._open_count += 1
        self._open_weight += weight
        is_heavy = self._weight is not None and self._open_weight >= self._weight_max
        self._is_full = is_heavy or self._open_count == self._count_max

    def take(self, now_ns: int, is_ended: bool) -> list[T] | Nothing:
        if not self._items:
            return NOTHING
        if not (self._is_full or is_ended):
            due_ns = self.next_ns()
            if due_ns is None or now_ns < due_ns:
                return NOTHING
        taken = [self._items.popleft()[0] for _ in range(self._open_count)]
        self._open_count, self._open_weight, self._is_full = 0, 0.0, False
        for _, weight, _ in self._items:
            self._fit(weight)
            if self._is_full:
                break
        return taken

    def next_ns(self) -> int | None:
        if not self._items or self._within_ns is None:
            return None
        return self._items[0][2] + self._within_ns

    def __len__(self) -> int:
        return len(self._items)


class Throttling(Generic[T]):
    """Lets elements go as :class:`rstream.flow.spacing.Spacing` says."""

    def __init__(self, spacing: Spacing, burst: int) -> None:
        self._spacing = spacing
        self._burst = burst
        self._items: deque[T] = deque()

    def wanted(self) -> int:
        return self._burst - len(self._items)

    def put(self, item: T, now_ns: int) -> None:
        self._items.append(item)

    def take(self, now_ns: int, is_ended: bool) -> T | Nothing:
        free_ns = self._spacing.free_ns()
        if not self._items or (free_ns is not None and now_ns < free_ns):
            return NOTHING
        self._spacing.spend(now_ns)
        return self._items.popleft()

    def next_ns(self) -> int | None:
        return self._spacing.free_ns() if self._items else None

    def __len__(self) -> int:
        return len(self._items)
