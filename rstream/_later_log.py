"""What code says while it holds a lock is logged when the lock is free.

A logging handler is code of the user: it may take long, wait for another thread that waits for the
lock, or send into the very stream that tells something. So nothing calls one under a lock.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Final

log = logging.getLogger("rstream")

#: Most records that wait; then the oldest is dropped.
WAITING_MAX: Final = 1024

#: Whether this thread is inside a handler of a record that any object said.
_here = threading.local()


class LaterLog:
    """Records that wait to be logged. Any thread.

    Attributes:
        waiting: level, text and arguments of each, oldest first.
        is_saying: a thread is inside :meth:`say`, perhaps in a handler that uses the same object.
    """

    __slots__ = ("is_saying", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, str, tuple[object, ...]]] = deque(maxlen=WAITING_MAX)
        self.is_saying = False

    @property
    def may_notice(self) -> bool:
        """Whether a wait may log that it waits: not in a handler of such a notice. Handlers that
        send would else have each other send, again and again.
        """
        return not (self.is_saying or getattr(_here, "is_inside", False))

    def add(self, level: int, text: str, *arguments: object) -> None:
        """Keep a record; it never waits."""
        self.waiting.append((level, text, arguments))

    def say(self) -> None:
        """Log what waits, without a lock. Only one thread does, and none inside its handlers."""
        if self.is_saying:
            return
        was_inside = getattr(_here, "is_inside", False)
        self.is_saying = _here.is_inside = True
        try:
            while self.waiting:
                level, text, arguments = self.waiting.popleft()
                log.log(level, text, *arguments)
        finally:
            self.is_saying = False
            _here.is_inside = was_inside
