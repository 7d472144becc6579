"""Objects that were handed out and stay on loan until they are consumed (stream/_tally.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rstream import _core

__all__ = ("Loan", "Lot")


class Loan(Protocol):
    """Objects of which the tally says what is consumed.

    Attributes:
        end_number: of the last one.
        length_bytes: of the objects, about.
    """

    end_number: int
    length_bytes: int

    def consume(self, number: int) -> None:
        """Count the objects up to this one."""
        ...

    def give_back(self) -> None:
        """End the loan; what was not counted stays unread."""
        ...


class Lot:
    """Objects of one batch, which stays on loan until they are consumed. See :class:`Loan`.

    Args:
        begin: number of the object before the first one.
        count: objects.
        indexes: the message of each object in the batch; None: all, in order.
        end: messages that count as consumed with the last object; None: all, and the loan ends.
    """

    __slots__ = ("_batch", "_begin", "_end", "_indexes", "end_number", "length_bytes")

    def __init__(
        self, batch: _core.Batch, begin: int, count: int, indexes: list[int] | None, end: int | None
    ) -> None:
        self._batch = batch
        self._begin = begin
        self._indexes = indexes
        self._end = end
        self.end_number: int = begin + count
        self.length_bytes: int = batch.length_bytes * count // len(batch) if count else 0

    def consume(self, number: int) -> None:
        """Count the objects up to this one."""
        if number < self.end_number:
            count, indexes = number - self._begin, self._indexes
            if count > 0:
                self._batch.consume(count if indexes is None else indexes[count - 1] + 1)
        elif self._end is None:
            self._batch.release()
        else:
            self._batch.consume(self._end)

    def give_back(self) -> None:
        """End the loan; what was not counted stays unread."""
        if self._end is None:
            self._batch.give_back()
