"""The loops over an awaited subscriber, as :mod:`rstream.stream._pump` has them for threads.

What a loop was given counts as consumed when it asks for more, or is left. Each loop is an object
of its own: when ``async for`` drops it, nothing holds it any more, and it counts what it gave.
"""

from __future__ import annotations

from itertools import islice
from operator import length_hint
from time import monotonic
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from rstream.aio._turns import TURN_S
from rstream.stream._pump import next_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream.aio._subscriber import Subscriber
    from rstream.stream import Subscriber as BlockingSubscriber

T = TypeVar("T")

#: Most objects of a part: so many are handed out before a loop looks whether a turn is due.
PART_MOST = 64


class Items(Generic[T]):
    """An async iterator over single objects; ``aiter(subscriber)`` makes it.

    It reads whole polls, hands them out in parts, and gives other tasks a turn between two parts
    when it is time.
    """

    __slots__ = ("_counted_s", "_part", "_polls", "_size", "_source", "_subscriber")

    def __init__(self, subscriber: Subscriber[T], source: BlockingSubscriber[T]) -> None:
        self._subscriber = subscriber
        self._source = source
        self._polls = 0  # number of the poll that it hands out; 0: of an earlier loop
        self._part: Iterator[T] = iter(())  # what may be handed out before the next count
        self._size = 0  # of a part; 0: not known yet
        self._counted_s = 0.0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for item in self._part:
            return item
        await self._begin_part()
        for item in self._part:
            return item
        raise StopAsyncIteration

    async def _begin_part(self) -> None:
        """Count what was handed out, and begin the next part; an empty one at the end."""
        subscriber, source = self._subscriber, self._source
        if self._size:
            took_s = monotonic() - self._counted_s
            self._size = next_part(self._size, took_s, aim_s=TURN_S, most=PART_MOST)
            source.consume(source.handed_out())
            await subscriber.turn()
        rest = source.rest
        if length_hint(rest) == 0:
            rest = source.set_rest(await subscriber.next_batch())
        self._polls = subscriber.polls
        self._size = self._size or 1
        self._part = islice(rest, self._size)
        self._counted_s = monotonic()

    def __del__(self) -> None:
        if self._size and self._subscriber.is_latest(self._polls):
            source = self._source
            source.consume(source.handed_out() - source.in_hand)


class Batches(Generic[T]):
    """An async iterator over lists of objects; :meth:`Subscriber.batches` makes it."""

    __slots__ = ("_count", "_polls", "_source", "_subscriber")

    def __init__(self, subscriber: Subscriber[T], source: BlockingSubscriber[T]) -> None:
        self._subscriber = subscriber
        self._source = source
        self._polls = 0  # number of the poll whose objects it has handed out
        self._count = 0  # objects of it; 0: none that must be counted

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[T]:
        self._consume()
        items = await self._subscriber.next_batch()
        if not items:
            raise StopAsyncIteration
        self._polls, self._count = self._subscriber.polls, len(items)
        return items

    def _consume(self) -> None:
        if self._count and self._subscriber.is_latest(self._polls):
            self._source.consume(self._count)
        self._count = 0

    def __del__(self) -> None:
        self._consume()
