"""Waking a task of asyncio or trio from any thread."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import trio


class TaskWaker(Protocol):
    """Made and awaited by a task; :meth:`wake` from any thread.

    The task arms it, looks once more for what it waits for, and awaits it if that is not there.
    """

    def arm(self) -> None:
        """From now on a :meth:`wake` ends the next :meth:`wait`."""
        ...

    async def wait(self) -> None:
        """Wait for it."""
        ...

    def wake(self) -> None:
        """Wake the task, if it is armed."""
        ...

    async def give_turn(self) -> None:
        """Let other tasks run."""
        ...


def waker() -> TaskWaker:
    """A waker for a task that runs now.

    Raises:
        RuntimeError: neither asyncio nor trio runs in this thread.
    """
    return _TrioWaker() if runs_trio() else _AsyncioWaker()


def runs_trio() -> bool:
    """Whether trio runs in this thread."""
    module: Any = sys.modules.get("trio")
    return module is not None and bool(module.lowlevel.in_trio_run())


class _AsyncioWaker:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] | None = None

    def arm(self) -> None:
        self._future = self._loop.create_future()

    async def wait(self) -> None:
        future = self._future
        if future is not None:
            try:
                await future
            finally:
                self._future = None

    def wake(self) -> None:
        future, self._future = self._future, None
        if future is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_finish, future)

    async def give_turn(self) -> None:
        await asyncio.sleep(0)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _TrioWaker:
    def __init__(self) -> None:
        import trio

        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._event: trio.Event | None = None

    def arm(self) -> None:
        self._event = self._trio.Event()

    async def wait(self) -> None:
        event = self._event
        if event is not None:
            try:
                await event.wait()
            finally:
                self._event = None

    def wake(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            with suppress(self._trio.RunFinishedError):
                self._token.run_sync_soon(event.set)

    async def give_turn(self) -> None:
        await self._trio.lowlevel.checkpoint()
