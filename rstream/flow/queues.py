"""The queues of the policies for a slow consumer: each policy has one bounded queue.

Law of all of them: at most ``capacity`` items wait, and
``accepted = taken + waiting + dropped + conflated``. A dropped item is not delivered. A conflated
item was merged into another one, or replaced by a newer one of its key. The name of the class says
how it behaves at its limit. Pure, no waiting, not thread-safe: the owner holds a lock.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from functools import partial
from itertools import islice, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from rstream._checks import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = (
    "ConflateQueue",
    "DropNewestQueue",
    "DropOldestQueue",
    "FullError",
    "LatestQueue",
    "PlainQueue",
    "Queue",
)

T = TypeVar("T")


class FullError(Exception):
    """The queue is full and its policy is to fail."""


class Queue(Protocol[T]):
    """The operations that the pump and the consumer call."""

    dropped: int
    conflated: int
    #: Whether a dropped item is the one that has waited longest.
    drops_oldest: ClassVar[bool]

    @property
    def capacity(self) -> int:
        """Most items that wait at once."""
        ...

    def put(self, item: T) -> None:
        """Add an item; at the limit, do what the policy says."""
        ...

    def take(self, limit: int) -> list[T]:
        """Remove and return up to ``limit`` items, oldest first."""
        ...

    def room(self) -> int:
        """How many items may be put without loss. 0: the producer must wait."""
        ...

    def __len__(self) -> int: ...


def _check_capacity(capacity: int) -> int:
    if not is_whole(capacity) or capacity < 1:
        raise ValueError(f"a queue of {capacity!r} items: must be a whole number, at least 1")
    return capacity


class PlainQueue(Generic[T]):
    """A bounded queue whose producer must look at :meth:`room` first; without it
    :class:`FullError`.
    """

    dropped: int
    conflated: int
    drops_oldest: ClassVar[bool] = False

    def __init__(self, capacity: int) -> None:
        self._capacity = _check_capacity(capacity)
        self._items: deque[T] = deque()
        self.dropped = self.conflated = 0

    @property
    def capacity(self) -> int:
        """Most items that wait at once."""
        return self._capacity

    def put(self, item: T) -> None:
        """Add an item.

        Raises:
            FullError: ``capacity`` items wait.
        """
        if len(self._items) >= self._capacity:
            raise FullError(f"{self._capacity} items wait already")
        self._items.append(item)

    def take(self, limit: int) -> list[T]:
        """Remove and return up to ``limit`` items, oldest first."""
        popped = map(deque[T].popleft, repeat(self._items, min(limit, len(self._items))))
        return [*popped]  # all in C: no signal handler runs before the return

    def room(self) -> int:
        """Free places; 0: the producer must wait."""
        return self._capacity - len(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def _drop(self) -> None:
        self.dropped += 1


class DropNewestQueue(PlainQueue[T]):
    """At the limit the new item is dropped."""

    def put(self, item: T) -> None:
        """Add an item, or drop it when full."""
        if len(self._items) >= self._capacity:
            self._drop()
        else:
            self._items.append(item)

    def room(self) -> int:
        """Always at least 1: the producer never waits."""
        return max(1, self._capacity - len(self._items))


class DropOldestQueue(PlainQueue[T]):
    """At the limit the oldest waiting item is dropped."""

    drops_oldest: ClassVar[bool] = True

    def put(self, item: T) -> None:
        """Add an item; when full, the oldest one goes."""
        if len(self._items) >= self._capacity:
            self._items.popleft()
            self._drop()
        self._items.append(item)

    def room(self) -> int:
        """Always at least 1: the producer never waits."""
        return max(1, self._capacity - len(self._items))


class LatestQueue(Generic[T]):
    """One waiting item per key, the newest; keys in the order in which they began to wait.

    At the limit of keys the key that has waited longest is dropped.
    """

    dropped: int
    conflated: int
    drops_oldest: ClassVar[bool] = True

    def __init__(self, key: Callable[[T], Hashable] | None, keys_max: int) -> None:
        self._key = key
        self._keys_max = _check_capacity(keys_max)
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self.dropped = self.conflated = 0

    @property
    def capacity(self) -> int:
        """Most keys that wait at once; one when there is one key for all."""
        return 1 if self._key is None else self._keys_max

    def put(self, item: T) -> None:
        """Add an item, replacing the one of its key."""
        key = None if self._key is None else self._key(item)
        if key in self._items:
            self.conflated += 1
        elif len(self._items) >= self._keys_max:
            self._items.popitem(last=False)
            self.dropped += 1
        self._items[key] = item

    def take(self, limit: int) -> list[T]:
        """Remove and return up to ``limit`` items."""
        pop = iter(partial(self._items.popitem, last=False), ())
        popped = map(itemgetter(1), islice(pop, min(limit, len(self._items))))
        return [*popped]  # as in PlainQueue

    def room(self) -> int:
        """Always at least 1: the producer never waits."""
        return max(1, self._keys_max - len(self._items))

    def __len__(self) -> int:
        return len(self._items)


class ConflateQueue(Generic[T]):
    """At most one item waits; each item that arrives is merged into it."""

    dropped: int
    conflated: int
    drops_oldest: ClassVar[bool] = False

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._items: list[T] = []
        self.dropped = self.conflated = 0

    @property
    def capacity(self) -> int:
        """One item waits, whatever was merged into it."""
        return 1

    def put(self, item: T) -> None:
        """Add an item, or merge it into the waiting one."""
        if self._items:
            self._items[0] = self._merge(self._items[0], item)
            self.conflated += 1
        else:
            self._items.append(item)

    def take(self, limit: int) -> list[T]:
        """Remove and return the waiting item, if any."""
        if limit < 1:
            return []
        items, self._items = self._items, []
        return items

    def room(self) -> int:
        """Large: the producer never waits."""
        return 1024

    def __len__(self) -> int:
        return len(self._items)
