"""Sleeping in an event loop until a descriptor of the transport becomes readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    from rstream.stream._watched import Watched


class Sleeper:
    """Sleeps on one descriptor at a time; only the loop's thread uses it.

    A descriptor must not be closed while the loop watches it. So an owner that closes wakes the
    task that sleeps, and that task closes it.

    Attributes:
        is_sleeping: whether a task sleeps now.
    """

    def __init__(self) -> None:
        self.is_sleeping = False

    async def sleep(self, watched: Watched, timeout_s: float) -> bool:
        """Wait until the descriptor is readable, once; False: not within ``timeout_s``.

        Other tasks get a turn in any case.
        """
        if watched.arm():
            await anyio.lowlevel.checkpoint()
            return True
        self.is_sleeping = True
        try:
            with anyio.move_on_after(timeout_s) as scope:
                await anyio.wait_readable(watched.fileno())
            return not scope.cancelled_caught
        finally:
            self.is_sleeping = False
            watched.disarm()
