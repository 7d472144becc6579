"""A batch with messages that its reader cannot use: objects and errors in the order of messages.

A poll hands out the objects up to the first such message. The next poll raises its error, and the
one after that goes on behind it. So an error never overtakes an object, and no object overtakes an
error. Batches without errors, which are all but a few, never come here.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from rstream.stream._input import Input

T = TypeVar("T")


class Cut(Generic[T]):
    """What was not handed out yet of one batch. The thread that polls uses it.

    Attributes:
        source: holds the batch, until the last object and the last error of it are taken.

    Args:
        items: the objects of the batch.
        indexes: the message of each object in the batch.
        errors: message and error, in any order.
    """

    def __init__(
        self,
        source: Input,
        items: list[T],
        indexes: list[int],
        errors: list[tuple[int, Exception]],
    ) -> None:
        self.source = source
        self._items = items
        self._indexes = indexes
        self._errors: list[tuple[int, Exception]] = sorted(errors, key=itemgetter(0), reverse=True)

    @property
    def is_used_up(self) -> bool:
        """Whether everything was taken."""
        return not self._items and not self._errors

    @property
    def _is_error_next(self) -> bool:
        errors = self._errors
        return bool(errors) and not (self._items and self._indexes[0] < errors[-1][0])

    def is_ready(self, demand: int | None) -> bool:
        """Whether a poll with this demand (None: any) would take something."""
        return demand != 0 or self._is_error_next

    def take_error(self) -> Exception | None:
        """Take the error that stands before the next object; its message counts as consumed."""
        if not self._is_error_next:
            return None
        index, error = self._errors.pop()
        self.source.hold_part([], None if self.is_used_up else index + 1)
        self.source.release()
        return error

    def take(self, limit: int) -> list[T]:
        """Take the next objects, at most ``limit``; the source holds what they were made of."""
        errors = self._errors
        end = bisect_left(self._indexes, errors[-1][0]) if errors else len(self._items)
        end = min(end, limit)
        items, indexes = self._items[:end], self._indexes[:end]
        if end:
            # Nothing here may refer to objects that were handed out: a view holds its publisher.
            del self._items[:end], self._indexes[:end]
            self.source.hold_part(indexes, None if self.is_used_up else indexes[-1] + 1)
        return items


def cut_of(
    source: Input,
    batch: Any,
    items: list[T],
    indexes: list[int] | None,
    errors: list[tuple[int, Exception]],
) -> Cut[T]:
    """Hold a batch, and cut it at its errors.

    Args:
        indexes: the message of each object; None: all, in order.
    """
    source.hold(batch, 0, [])
    return Cut(source, items, list(range(len(items))) if indexes is None else indexes, errors)
