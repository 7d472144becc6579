"""Hubs with many subscribers: everything to everyone, or each element to one of them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream._checks import is_whole
from rstream.errors import ConfigError
from rstream.stages._fan_out import FanOut, Outlet

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("BroadcastHub", "PartitionHub", "broadcast_hub", "partition_hub")

T = TypeVar("T")


class BroadcastHub(FanOut[T], Generic[T]):
    """Gives every element to every subscriber; made by :func:`broadcast_hub`.

    Held: what the slowest subscriber has not got yet, at most ``capacity`` elements, and the last
    ``replay`` ones. Numbers of elements count from 0: ``_first`` is that of the oldest one held.
    """

    _name = "broadcast_hub"
    _wait_for_least = 0

    def __init__(self, capacity: int, replay: int, wait_for: int) -> None:
        if not is_whole(replay) or replay < 0:
            raise ConfigError(f"replay={replay!r}: must be a whole number, 0 or more")
        super().__init__(capacity, wait_for)
        self.replay: int = replay
        self._items: deque[T] = deque()
        self._first = 0

    @property
    def _end_number(self) -> int:
        return self._first + len(self._items)

    def _join(self, outlet: Outlet[T]) -> None:
        outlet.cursor = max(self._first, self._end_number - self.replay)

    def _part(self, outlet: Outlet[T]) -> None:
        self._trim()

    def _put(self, item: T) -> None:
        self._items.append(item)
        if not self._outlets:
            self._trim()

    def _next(self, outlet: Outlet[T]) -> list[T]:
        if outlet.cursor == self._end_number:
            return []
        item = self._items[outlet.cursor - self._first]
        outlet.cursor += 1
        if len(self._items) > self.replay:
            self._trim()
        return [item]

    def _has_more(self, outlet: Outlet[T]) -> bool:
        return outlet.cursor < self._end_number

    def _slowest(self) -> int:
        return min((outlet.cursor for outlet in self._outlets), default=self._end_number)

    def _trim(self) -> None:
        keep_from = min(self._slowest(), self._end_number - self.replay)
        while self._first < keep_from:
            self._items.popleft()
            self._first += 1

    def _room(self) -> int:
        # A late subscriber may stand before the room: then nothing is asked for until it has moved.
        return self.capacity - (self._end_number - self._slowest())


class PartitionHub(FanOut[T], Generic[T]):
    """Gives each element to one subscriber; made by :func:`partition_hub`.

    Held: at most ``capacity`` elements, those that are not chosen for anybody yet and those that
    are, together. What was chosen for a subscriber that has gone is chosen anew, in its order.
    """

    _name = "partition_hub"

    def __init__(
        self, choose: Callable[[T, int], int | None] | None, capacity: int, wait_for: int
    ) -> None:
        super().__init__(capacity, wait_for)
        self._choose = choose
        self._unchosen: deque[T] = deque()
        #: Elements for which ``choose`` returned None.
        self.dropped: int = 0

    def _join(self, outlet: Outlet[T]) -> None:
        self._assign()

    def _part(self, outlet: Outlet[T]) -> None:
        self._unchosen.extendleft(reversed(outlet.waiting))
        outlet.waiting.clear()
        self._assign()

    def _put(self, item: T) -> None:
        self._unchosen.append(item)
        self._assign()

    def _assign(self) -> None:
        """Choose a subscriber for each element, if a function chooses."""
        choose = self._choose
        if choose is None:
            return
        try:
            while self._unchosen and self._outlets:
                item = self._unchosen.popleft()
                self._place(item, choose(item, len(self._outlets)))
        except Exception as error:
            self._unchosen.clear()
            self._fail(error)

    def _place(self, item: T, index: int | None) -> None:
        if index is None:
            self.dropped += 1
        elif is_whole(index) and 0 <= index < len(self._outlets):
            self._outlets[index].waiting.append(item)
        else:
            raise ConfigError(
                f"partition_hub: choose returned {index!r} for {len(self._outlets)} "
                "subscribers; it must be an index from 0, or None to drop the element"
            )

    def _next(self, outlet: Outlet[T]) -> list[T]:
        if outlet.waiting:
            return [outlet.waiting.popleft()]
        if self._choose is None and self._unchosen:
            return [self._unchosen.popleft()]
        return []

    def _has_more(self, outlet: Outlet[T]) -> bool:
        return bool(outlet.waiting or self._unchosen)

    def _room(self) -> int:
        chosen = sum(len(outlet.waiting) for outlet in self._outlets)
        return self.capacity - chosen - len(self._unchosen)


def broadcast_hub(capacity: int = 256, *, replay: int = 0, wait_for: int = 1) -> BroadcastHub[Any]:
    """A hub that gives every element to every subscriber; they come and go at any time.

    The slowest subscriber holds upstream back. While there is none, upstream waits, unless
    ``wait_for`` is 0.

    Args:
        capacity: most elements that the fastest subscriber may be ahead of the slowest one.
        replay: a subscriber that comes late first gets so many of the last elements (at most).
            They are held beside ``capacity``, also after the end.
        wait_for: subscribers that must have come before the first element is requested. With 0
            upstream waits for none, also later: while there is none, the hub keeps the last
            ``replay`` elements and drops the older ones.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        hub = stages.broadcast_hub(replay=1)  # a late subscriber gets the last value at once
        source.subscribe(hub)
        hub.subscribe(one)
        hub.subscribe(another)
    """
    return BroadcastHub(capacity, replay, wait_for)


def partition_hub(
    choose: Callable[[T, int], int | None] | None = None,
    *,
    capacity: int = 256,
    wait_for: int = 1,
) -> PartitionHub[T]:
    """A hub that gives each element to one subscriber; they come and go at any time.

    Args:
        choose: ``choose(element, count)`` returns the index of a subscriber, from 0 to
            ``count - 1`` in the order in which they came, or None to drop the element. A slow
            subscriber holds the others back when ``capacity`` elements wait for it. None: each
            element goes to a subscriber that has free demand, in turns.
        capacity: most elements held.
        wait_for: subscribers that must have come before the first element is requested.
    Raises:
        ConfigError: an argument cannot be used. Raised by ``choose``, or a wrong index: the
            subscribers get the error.

    Example::

        hub = stages.partition_hub(lambda order, count: hash(order.symbol) % count)
        orders.subscribe(hub)
        hub.subscribe(one)
        hub.subscribe(another)
    """
    return PartitionHub(choose, capacity, wait_for)
