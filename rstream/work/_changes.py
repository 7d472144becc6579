"""What changes under one lock, and how a call listens for it, in a thread or in an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from rstream._condition import Condition
from rstream._waits import Bell

if TYPE_CHECKING:
    from rstream._waits import Watched

__all__ = ("Changes", "Listener")


@final
class Changes:
    """Tells all who listen that something may have changed.

    Attributes:
        lock: guards what changes. It is held for moments.
        version: counts the changes.
        bells: of those who listen in an event loop. Both under the lock.
    """

    def __init__(self) -> None:
        self.lock: Condition = Condition()
        self.version: int = 0
        self.bells: set[Bell] = set()

    def tell(self) -> None:
        """End all waits. Under the lock."""
        self.version += 1
        self.lock.notify_all()
        for bell in self.bells:
            bell.wake()


@final
class Listener:
    """Of one call that waits for changes: the call yields :class:`rstream._waits.News` of it."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._heard = 0  # the version of which the call knows
        self._bell: Bell | None = None  # of an event loop that watches

    def attend(self) -> None:
        """From now on any change is news. Under the lock."""
        self._heard = self._changes.version

    @property
    def watched(self) -> Watched:
        """For an event loop."""
        if self._bell is None:
            self._bell = Bell(self._changes.lock, self.is_ready)
            with self._changes.lock:
                self._changes.bells.add(self._bell)
        return self._bell

    def is_ready(self) -> bool:
        """Whether something has changed."""
        return self._changes.version != self._heard

    def wait(self, timeout_s: float | None = None) -> bool:
        """For a thread. False: nothing has changed within that time."""
        with self._changes.lock:
            return self.is_ready() or self._changes.lock.wait(timeout_s)

    def wake(self) -> None:
        """End the wait; any thread."""
        with self._changes.lock:
            self._changes.tell()

    def close(self) -> None:
        """Listen no more. Idempotent."""
        if self._bell is not None:
            with self._changes.lock:
                self._changes.bells.discard(self._bell)
                self._bell.close()
