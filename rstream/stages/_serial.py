"""One worker at a time, without a lock that anybody waits for.

Any thread may post an event. The thread that finds no worker becomes the worker: it handles what
was posted, settles, and looks again. The others leave at once, because the worker will handle their
events. A worker that posts, in a call of the subscriber, only adds to what it does next. So signals
are serial (§1.3), and ``request`` never calls ``on_next`` recursively (§3.3).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

E = TypeVar("E")


class Serial(Generic[E]):
    """Hands events to ``handle``, and calls ``settle`` when none is left.

    Args:
        handle: is called for each event, in the order in which they were posted.
        settle: is called after them. It returns early when :attr:`has_news` is true.
    """

    __slots__ = ("_events", "_handle", "_settle", "_turn")

    def __init__(self, handle: Callable[[E], None], settle: Callable[[], None]) -> None:
        self._handle = handle
        self._settle = settle
        self._events: deque[E] = deque()  # bounded: upstream sends no more than was requested
        self._turn = threading.Lock()

    @property
    def has_news(self) -> bool:
        """Whether an event waits."""
        return bool(self._events)

    def post(self, event: E) -> None:
        """Handle an event, now or by the worker of now; any thread."""
        self._events.append(event)
        # Looked at again after each release: an event may have come just before it.
        while self._events and self._turn.acquire(blocking=False):
            try:
                while self._events:
                    self._handle(self._events.popleft())
                self._settle()
            finally:
                self._turn.release()
