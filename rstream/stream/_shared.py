"""The publisher of a sink, used by on_next, by the loop, and by the thread that ends it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rstream.stream._publisher import Publisher

T = TypeVar("T")


class SharedPublisher(Generic[T]):
    """Serves one thread at a time where the publisher demands it.

    Two locks. ``_sending`` is held while an element is sent, which may wait for room without limit.
    ``_reviving`` is held while the loop joins again, and while the stream is ended. The end does
    not take ``_sending``: it must come while on_next waits for room, and ends that wait. It must
    not come in the middle of a join. Order: ``_sending`` before ``_reviving``.
    """

    def __init__(self, publisher: Publisher[T]) -> None:
        self._publisher = publisher
        self._sending = threading.Lock()
        self._reviving = threading.Lock()

    def send(self, item: T) -> int:
        """Send one element; waits for room. The position after it, in bytes of the stream."""
        with self._sending:
            return self._publisher.send(item)

    def revive(self) -> None:
        """For the loop: join again after the driver was lost. A thread in :meth:`send` does it
        itself; then this returns at once.
        """
        if self._sending.acquire(blocking=False):
            try:
                with self._reviving:
                    self._publisher.revive()
            finally:
                self._sending.release()

    def close(self) -> None:
        """Complete the stream."""
        with self._reviving:
            self._publisher.close()

    def fail(self, error: Exception) -> None:
        """End the stream with an error."""
        with self._reviving:
            self._publisher.fail(error)
