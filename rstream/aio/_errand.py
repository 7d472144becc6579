"""A blocking call in a thread, and what becomes of it when nobody waits for it any more.

Neither asyncio nor trio can end a thread. A task that a scope of anyio or trio cancels while the call runs stays
until the call is over; one that asyncio itself cancels leaves at once, since its cancellation knows no shield. So the
call says itself whether it is under way, what it made and nobody took is undone, and what has to wait for its end can
be left with it.
"""

from __future__ import annotations

import threading
from enum import Enum, auto
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

#: How often somebody looks whether a call that was left has ended.
LOOK_S = 0.005


class _State(Enum):
    SUBMITTED = auto()  # the thread has not begun
    RUNNING = auto()
    OVER = auto()


class Errand(Generic[R]):
    """One call of ``function`` in a thread; under way from the start until the thread is through with it.

    Args:
        function: it may block.
        undo: called with its result when nobody took it.
    """

    def __init__(
        self, function: Callable[[], R], undo: Callable[[R], object] | None = None
    ) -> None:
        self._function = function
        self._undo = undo
        self._lock = threading.Lock()  # guards all below
        self._state = _State.SUBMITTED
        self._is_left = False
        self._results: list[R] = []  # made and not taken
        self._after: Callable[[], object] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether the thread is at it, or will be."""
        return self._state is not _State.OVER

    async def result(self) -> R:
        """Make the call, once; what it returns. When this is cancelled, a call that has begun goes on without it."""
        try:
            # A limiter of its own: forty threads of somebody else's that wait would keep it waiting too.
            await anyio.to_thread.run_sync(self._run, limiter=anyio.CapacityLimiter(1))
        except BaseException:
            self._leave()
            raise
        with self._lock:
            return self._results.pop()

    async def ended(self) -> None:
        """Wait until the thread is through with it, whoever waits for the result."""
        while self.is_under_way:  # noqa: ASYNC110 - a thread that nobody waits for tells no event
            await anyio.sleep(LOOK_S)

    def leave_with(self, after: Callable[[], object]) -> bool:
        """Have ``after`` called by the thread when it is through. False: it is; nothing will be called."""
        with self._lock:
            if self._state is _State.OVER:
                return False
            self._after = after
            return True

    def _run(self) -> None:
        with self._lock:
            if self._state is _State.OVER:  # left before it began
                return
            self._state = _State.RUNNING
        made: list[R] = []
        try:
            made.append(self._function())
        finally:
            with self._lock:
                self._state = _State.OVER
                after = self._after
                if not self._is_left:
                    self._results, made = made, []
            self._undo_all(made)
            if after is not None:
                after()

    def _leave(self) -> None:
        with self._lock:
            self._is_left = True
            after = self._after if self._state is _State.SUBMITTED else None
            if self._state is _State.SUBMITTED:
                self._state = _State.OVER
            results, self._results = self._results, []
        self._undo_all(results)
        if after is not None:
            after()

    def _undo_all(self, results: list[R]) -> None:
        for result in results:
            if self._undo is not None:
                self._undo(result)
