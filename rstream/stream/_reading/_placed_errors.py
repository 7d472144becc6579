"""Errors that stand between the items of a queue."""

from __future__ import annotations

from collections import deque

__all__ = ("PlacedErrors",)


class PlacedErrors:
    """Errors, each behind the items that waited when it came. Not thread-safe: the owner of the
    queue holds a lock.

    An item that is merged into one that waits takes that one's place.
    """

    def __init__(self) -> None:
        self._errors: deque[tuple[int, Exception]] = deque()  # after how many items, and the error
        #: Items that have left the queue at its front: taken, or dropped as the oldest.
        self.gone = 0

    def __len__(self) -> int:
        return len(self._errors)

    def put(self, error: Exception, waiting: int) -> None:
        """Add an error behind the ``waiting`` items of the queue."""
        self._errors.append((self.gone + waiting, error))

    @property
    def is_due(self) -> bool:
        """Whether no item stands before the first error."""
        return bool(self._errors) and self._errors[0][0] <= self.gone

    def most(self, limit: int) -> int:
        """How many items may be taken before the first error; at most ``limit``."""
        return min(limit, max(0, self._errors[0][0] - self.gone)) if self._errors else limit

    def take(self) -> Exception:
        """Remove and return the first error."""
        error = self._errors[0][1]
        del self._errors[0]  # no signal handler runs before the caller raises it
        return error
