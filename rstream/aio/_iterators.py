"""The loops over an awaited subscriber, as :mod:`rstream.stream._pump` has them for threads.

What a loop was given counts as consumed when it asks for more, or is left. Each loop is an object
of its own: when ``async for`` drops it, nothing holds it any more, and it counts what it gave.
"""

from __future__ import annotations

from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from rstream._process import quiet_when_torn_down
from rstream._with_hints import refuses_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream.aio._feed import Feed

T = TypeVar("T")


class Items(Generic[T]):
    """An async iterator over single objects; ``aiter(subscriber)`` makes it.

    It reads whole polls, hands them out in parts, and gives other tasks a turn between two parts
    when it is time.
    """

    __slots__ = ("_feed", "_part", "_polls")

    def __init__(self, feed: Feed[T]) -> None:
        self._feed = feed
        self._polls = 0  # number of the poll that it hands out; 0: it has handed out nothing
        self._part: Iterator[T] = iter(())  # what may be handed out before the next count

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for item in self._part:
            return item
        if not self._is_next_part_there():
            await self._begin_part()
        for item in self._part:
            return item
        raise StopAsyncIteration

    def _is_next_part_there(self) -> bool:
        """Count what was handed out, and begin the next part if there is one and no turn is due."""
        feed = self._feed
        source = feed.source
        rest = source.rest
        if self._polls:
            feed.parts.end()
            source.consume(rest.handed_out())
            left = rest.left
            if length_hint(left) and not feed.turns.is_due:
                self._part = islice(left, feed.parts.begin())
                return True
        return False

    async def _begin_part(self) -> None:
        """Give other tasks a turn, read if nothing is left, and begin the next part. An empty one:
        the end.
        """
        feed = self._feed
        await feed.turn()
        rest = feed.source.rest
        if length_hint(rest.left) == 0:
            # As in the loop of threads: a view that was handed out would hold its publisher.
            rest.drop_used()
            self._part = iter(())
            await feed.fill()
        self._polls = feed.polls
        self._part = islice(rest.left, feed.parts.begin())

    @quiet_when_torn_down
    def __del__(self) -> None:
        # No number: the constructor was interrupted.
        if (polls := getattr(self, "_polls", 0)) and self._feed.is_latest(polls):
            source = self._feed.source
            source.consume(source.rest.handed_out() - source.rest.in_hand)


@refuses_for
class Batches(Generic[T]):
    """An async iterator over lists of objects; :meth:`Subscriber.batches` makes it."""

    __slots__ = ("_feed", "_items", "_polls")

    def __init__(self, feed: Feed[T]) -> None:
        self._feed = feed
        self._items: list[T] | None = None  # what it has handed out; None: all of it was counted
        self._polls = 0  # number of the poll that gave it

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[T]:
        self._consume()
        items = await self._feed.next_batch()
        if not items:
            raise StopAsyncIteration
        # Without a call: a signal handler that raises must lose nothing.
        self._items, self._polls = items, self._feed.polls
        self._feed.source.rest.is_given = True
        return items

    def _consume(self) -> None:
        items = getattr(self, "_items", None)  # no list: the constructor was interrupted
        if items is not None and self._feed.is_latest(self._polls):
            self._feed.source.consume(len(items))
        self._items = None

    @quiet_when_torn_down
    def __del__(self) -> None:
        self._consume()
