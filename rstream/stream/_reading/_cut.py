"""A batch with messages that its reader cannot use: objects and errors in the order of messages.

A poll hands out the objects up to the first such message. The next poll raises its error, and the
one after that goes on behind it. So an error never overtakes an object, and no object overtakes an
error. Batches without errors, which are all but a few, never come here.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._reading._input import Input

T = TypeVar("T")


class Cut(Generic[T]):
    """What was not handed out yet of one batch. The thread that polls uses it, and removes what it
    has taken.

    Attributes:
        source: where the batch was read.
        batch: it, until the last object and the last error of it are taken.
        items: the objects left.
        indexes: the message of each in the batch.
        errors: message and error, the last one first.

    Args:
        items, indexes: as the attributes; no indexes: the objects are of all messages, in order.
        errors: in any order.
    """

    def __init__(
        self,
        source: Input,
        batch: _core.Batch,
        items: list[T],
        indexes: list[int] | None,
        errors: list[tuple[int, Exception]],
    ) -> None:
        self.source = source
        self.batch = batch
        self.items: list[T] = items
        self.indexes: list[int] = list(range(len(items))) if indexes is None else indexes
        self.errors: list[tuple[int, Exception]] = sorted(errors, key=itemgetter(0), reverse=True)

    @property
    def is_used_up(self) -> bool:
        """Whether everything was taken."""
        return not self.items and not self.errors

    @property
    def is_error_next(self) -> bool:
        """Whether an error stands before the next object."""
        errors = self.errors
        return bool(errors) and not (self.items and self.indexes[0] < errors[-1][0])

    def is_ready(self, demand: int | None) -> bool:
        """Whether a poll with this demand (None: any) would take something."""
        return demand != 0 or self.is_error_next

    def error_end(self) -> int:
        """How many messages of the batch count as consumed with the next error; -1: all."""
        is_last = not self.items and len(self.errors) == 1
        return -1 if is_last else self.errors[-1][0] + 1

    def count(self, limit: int) -> int:
        """How many objects come before the next error, at most ``limit``."""
        errors = self.errors
        end = bisect_left(self.indexes, errors[-1][0]) if errors else len(self.items)
        return min(end, limit)

    def end(self, count: int) -> int | None:
        """How many messages count as consumed with so many objects; None: all."""
        is_last = count == len(self.items) and not self.errors
        return None if is_last else self.indexes[count - 1] + 1
