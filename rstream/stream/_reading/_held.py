"""The batch of a reader's last poll: how much of it counts as consumed."""

from __future__ import annotations

from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from rstream.stream._reading._loans import Lot
from rstream.stream._reading._rest import NOTHING

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._rest import Rest
    from rstream.stream._tally import Tally

__all__ = ("Held", "HeldBatch")

T = TypeVar("T")

#: Where it was read, the batch, the number of its objects, the message of each (None: all, in
#: order), and how many messages are consumed with the last object (None: all).
HeldBatch: TypeAlias = "tuple[Input, _core.Batch, int, list[int] | None, int | None]"


class Held(Generic[T]):
    """What the last poll took and does not count as consumed as a whole. The thread that polls
    uses it.

    Args:
        rest: of the same poll.

    Attributes:
        batch: it; None: nothing, or a tally counts it, or the program's function for gaps made the
            objects.
        tally: says what counts as consumed; None: nothing waits in a queue behind the reader.
    """

    __slots__ = ("_rest", "batch", "tally")

    def __init__(self, rest: Rest[T]) -> None:
        self.batch: HeldBatch | None = None
        self.tally: Tally | None = None
        self._rest = rest

    def hand_over(self, limit: int) -> list[T]:
        """Take objects from the rest, which count as consumed."""
        rest, held = self._rest, self.batch
        if held is None:
            return rest.take(limit)
        polled = rest.polled
        if polled is None or len(polled) > limit:
            return self._hand_over_part(held, limit)
        source, batch, _, _, end = held
        source.tell_demand()
        rest.left, rest.polled, self.batch = NOTHING, None, None
        batch.consumed = -1 if end is None else end
        return polled

    def _hand_over_part(self, held: HeldBatch, limit: int) -> list[T]:
        source, batch, _, indexes, end = held
        rest = self._rest
        left = length_hint(rest.left)
        base = rest.end - max(left - limit, 0)
        chosen, consumed = islice(rest.left, limit), 0
        if limit >= left:
            source.tell_demand()
            consumed = -1 if end is None else end
        elif not source.takes_views:  # no part of a view's memory can go
            consumed = base if indexes is None else indexes[base - 1] + 1
        items = [*chosen]
        rest.base, rest.polled, rest.is_given = base, None, True
        if consumed:
            batch.consumed = consumed
        return items

    def count(self, count: int) -> None:
        """Count the first objects of the poll as consumed."""
        held = self.batch
        if held is None:
            return
        source, batch, held_count, indexes, end = held
        if count >= held_count:
            batch.consumed = -1 if end is None else end
            source.tell_demand()
        elif count > 0 and not source.takes_views:
            batch.consumed = count if indexes is None else indexes[count - 1] + 1

    def consume(self, count: int) -> None:
        """Count the first objects that were handed out since the last call as consumed."""
        if self.tally is not None:
            self.tally.returned(count)
        else:
            self.count(self._rest.base + count)

    def consume_given(self) -> None:
        """Count what the program was given as consumed."""
        self.consume(self._rest.given())

    def lend(self, tally: Tally) -> None:
        """Hand what is held to the tally."""
        held = self.batch
        if held is None:
            return
        source, batch, count, indexes, end = held
        if source.takes_views:  # a batch with living views cannot be set aside: they hold it
            batch.consumed = -1 if end is None else end
        else:
            tally.add(Lot(batch, tally.polled, count, indexes, end))
            tally.polled += count
            if end is None:
                batch.set_aside()
        self.batch = None

    @property
    def is_used_up(self) -> bool:
        """Whether publishers may make nothing more before the batch counts as consumed."""
        held = self.batch
        return held is not None and held[0].core.demand == 0 and not held[1].consumed

    def places(self) -> list[tuple[int, int]]:
        """Session and position of each object that was handed out since the last call."""
        if self.batch is None:
            return []
        _, batch, count, indexes, _ = self.batch
        if count == 0:  # an end alone, for one: such a batch is given back at once
            return []
        places = list(zip(batch.session_ids(), batch.positions(), strict=True))
        if indexes is not None:
            places = [places[index] for index in indexes]
        rest = self._rest
        return places[rest.base : rest.end - length_hint(rest.left)]

    def give_back(self) -> None:
        """Count what the program was given; what is left is for the next reader."""
        rest = self._rest
        count = rest.given()
        self.consume(count)
        count += rest.base
        if self.batch is not None:
            _, batch, held_count, indexes, _ = self.batch
            if count < held_count:
                first = max(count, 0)
                batch.unread(first if indexes is None or first == 0 else indexes[first - 1] + 1)
        self.batch = None
        rest.use_up()
