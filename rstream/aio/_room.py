"""Waiting in an event loop until a publication has room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.aio._sleeper import Sleeper

if TYPE_CHECKING:
    from rstream import _core


class RoomWaiter:
    """Waits on a file descriptor that becomes readable when a publication may have room.

    Only the loop's thread uses it. :meth:`close` only wakes a waiter that is being awaited; its
    task closes it afterwards.
    """

    def __init__(self) -> None:
        self._sleeper = Sleeper()
        self._waiter: _core.Waiter | None = None
        self._publication: _core.Publication | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a task waits now."""
        return self._sleeper.is_sleeping

    @property
    def is_open(self) -> bool:
        """Whether it still holds a descriptor."""
        return self._waiter is not None

    async def wait(
        self, client: _core.Client, publication: _core.Publication, timeout_s: float
    ) -> bool:
        """Wait until the publication may have room; False: not within ``timeout_s``."""
        return await self._sleeper.sleep(self._attached(client, publication), timeout_s)

    def _attached(self, client: _core.Client, publication: _core.Publication) -> _core.Waiter:
        """The waiter on this publication: a publisher that joined again has another one."""
        if self._waiter is None or self._publication is not publication:
            self.close()
            self._waiter = client.waiter()
            self._waiter.attach(publication)
            self._publication = publication
        return self._waiter

    def wake(self) -> None:
        """End the wait of now, or the next one."""
        if self._waiter is not None:
            self._waiter.wake()

    def close(self) -> None:
        """Close the descriptor, or wake the task that awaits it."""
        if self._waiter is None:
            return
        if self.is_waiting:
            self._waiter.wake()
            return
        waiter, self._waiter, self._publication = self._waiter, None, None
        waiter.close()
