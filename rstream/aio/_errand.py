"""A blocking call in a thread, and what becomes of it when nobody waits for it any more.

Neither asyncio nor trio can end a thread. A task that is cancelled while the call runs leaves at once (asyncio's
own cancellation knows no shield), so the call says itself whether it is still running, and what it made and nobody
took is undone.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

#: How often somebody looks whether a call that was left has ended.
LOOK_S = 0.005


class Errand(Generic[R]):
    """One call of ``function`` in a thread.

    Args:
        function: it may block.
        undo: called with its result when nobody took it.
    """

    def __init__(self, function: Callable[[], R], undo: Callable[[R], object] | None = None) -> None:
        self._function = function
        self._undo = undo
        self._lock = threading.Lock()
        self._results: list[R] = []  # made and not taken
        self._is_left = self._is_running = False

    @property
    def is_running(self) -> bool:
        """Whether the call has begun and not ended."""
        return self._is_running

    async def result(self) -> R:
        """Make the call; what it returns. When this is cancelled, a call that has begun goes on without it."""
        try:
            await anyio.to_thread.run_sync(self._run)
        except BaseException:
            self._leave()
            raise
        with self._lock:
            return self._results.pop()

    async def ended(self) -> None:
        """Wait until the call has ended, whoever began it."""
        while self._is_running:  # noqa: ASYNC110 - a thread that nobody waits for tells no event
            await anyio.sleep(LOOK_S)

    def _run(self) -> None:
        with self._lock:
            if self._is_left:
                return
            self._is_running = True
        try:
            result = self._function()
            with self._lock:
                self._results.append(result)
                is_left = self._is_left
            if is_left:
                self._undo_all()
        finally:
            self._is_running = False

    def _leave(self) -> None:
        with self._lock:
            self._is_left = True
            is_running = self._is_running
        if not is_running:
            self._undo_all()

    def _undo_all(self) -> None:
        while True:
            with self._lock:
                if not self._results:
                    return
                result = self._results.pop()
            if self._undo is not None:
                self._undo(result)
