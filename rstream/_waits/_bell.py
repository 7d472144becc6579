"""What an event loop watches instead of blocking in ``wait``: a file descriptor."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition


class Bell:
    """A descriptor that other threads of this process make readable; a :class:`Watched`.

    Args:
        lock: is held by every caller of :meth:`wake`, and guards what ``is_ready`` reads.
        is_ready: whether there is something, so that nobody needs to sleep.
    """

    def __init__(self, lock: Condition, is_ready: Callable[[], bool]) -> None:
        self._lock = lock
        self._is_ready = is_ready
        self._is_armed = False
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fileno(self) -> int:
        return self._fd

    def arm(self) -> bool:
        with self._lock:
            self._is_armed = not self._is_ready()
            return not self._is_armed

    def disarm(self) -> None:
        with self._lock:
            self._is_armed = False
            if self._fd >= 0:
                with suppress(BlockingIOError):  # it was not rung
                    os.eventfd_read(self._fd)

    def wake(self) -> None:
        if self._is_armed:
            os.eventfd_write(self._fd, 1)

    def close(self) -> None:
        """Close the descriptor; nobody may watch it any more. Idempotent."""
        with self._lock:
            self._is_armed = False
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
