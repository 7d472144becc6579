"""A blocking call in a thread, and how it ends when its caller is cancelled.

Neither asyncio nor trio can end a thread. When a scope of anyio or trio cancels the caller, the
caller stays until the call is over. When asyncio itself cancels it, it leaves at once. So the call
knows whether it is running, undoes a result that no caller took, and can run a function at its end.
"""

from __future__ import annotations

import contextvars
import threading
from _thread import start_new_thread
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from rstream.aio._sleeper import loop_of_asyncio

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

R = TypeVar("R")

#: How often to check whether a call without a caller has ended.
CHECK_S = 0.005


class _State(Enum):
    SUBMITTED = auto()  # the thread has not begun
    RUNNING = auto()
    OVER = auto()


class ThreadCall(Generic[R]):
    """One call of a function in a thread.

    Args:
        function: the function; it may block.
        undo: is called with the result when the caller was cancelled before it took it.
    """

    def __init__(
        self, function: Callable[[], R], undo: Callable[[R], object] | None = None
    ) -> None:
        self._function = function
        self._undo = undo
        self._lock = threading.Lock()  # guards the attributes below
        self._state = _State.SUBMITTED
        self._is_abandoned = False
        self._results: list[R] = []  # made, and not taken by the caller
        self._after: Callable[[], object] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread has not finished it."""
        return self._state is not _State.OVER

    async def result(self) -> R:
        """Make the call, once, and return its result.

        A call that has begun goes on when this is cancelled.
        """
        try:
            loop = loop_of_asyncio()
            if loop is None:
                # A limiter of its own: forty other threads may use up the default one.
                await anyio.to_thread.run_sync(self._run, limiter=anyio.CapacityLimiter(1))
            else:
                await _run_in_own_thread(loop, self._run)
            (result,) = self._results  # without a call: a signal handler that raises undoes it
            self._results = []
        except BaseException:
            self._abandon()
            raise
        return result

    async def wait_done(self) -> None:
        """Wait until the thread has finished it, with or without a caller."""
        while self.is_running:  # noqa: ASYNC110 - a thread without a caller sets no event
            await anyio.sleep(CHECK_S)

    def when_done(self, after: Callable[[], object]) -> bool:
        """Have the thread call ``after`` at its end; False: it has finished, call it yourself."""
        with self._lock:
            if self._state is _State.OVER:
                return False
            self._after = after
            return True

    def _run(self) -> None:
        with self._lock:
            if self._state is _State.OVER:  # the caller was cancelled before it began
                return
            self._state = _State.RUNNING
        made: list[R] = []
        try:
            made.append(self._function())
        finally:
            with self._lock:
                self._state = _State.OVER
                after = self._after
                if not self._is_abandoned:
                    self._results, made = made, []
            self._undo_all(made)
            if after is not None:
                after()

    def _abandon(self) -> None:
        with self._lock:
            self._is_abandoned = True
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


async def _run_in_own_thread(loop: asyncio.AbstractEventLoop, run: Callable[[], None]) -> None:
    """As ``anyio.to_thread.run_sync``, in a thread that ends with the call.

    anyio's threads for asyncio wait for the next call until their task is done. The task of a loop
    that was interrupted and does not run again is never done. Its threads would keep the process
    from ending.
    """
    await anyio.lowlevel.checkpoint()
    ended: asyncio.Future[BaseException | None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody waits
            loop.call_soon_threadsafe(_settle, ended, error)

    def call() -> None:
        try:
            run()
        except BaseException as error:
            tell(error)
        else:
            tell(None)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(call,), name="rstream-aio-call")

    def begin() -> None:
        try:
            thread.start()
        except BaseException as error:
            tell(error)

    # Signal handlers run in the main thread. One that raises inside `Thread.start` may leave a lock
    # taken that the new thread needs.
    start_new_thread(begin, ())
    with anyio.CancelScope(shield=True):
        await ended
    error = ended.result()
    if error is not None:
        try:
            raise error
        finally:
            del error  # its traceback holds this frame


def _settle(ended: asyncio.Future[BaseException | None], error: BaseException | None) -> None:
    if not ended.done():
        ended.set_result(error)
