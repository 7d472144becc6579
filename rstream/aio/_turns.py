"""How long a task may go on without a turn of the event loop when nothing makes it wait."""

from __future__ import annotations

import time
from typing import Final

import anyio.lowlevel

#: Seconds after which other tasks get a turn. (A turn costs 5 µs: 3 % of the time.)
TURN_S: Final = 0.0002


class Turns:
    """When the other tasks had a turn last."""

    __slots__ = ("_last_s",)

    def __init__(self) -> None:
        self._last_s = 0.0

    def note(self) -> None:
        """They had one just now: the task has waited."""
        self._last_s = time.monotonic()

    async def give_if_due(self) -> None:
        """Give them one if they had none for ``TURN_S``."""
        if time.monotonic() - self._last_s > TURN_S:
            await anyio.lowlevel.checkpoint()
            self.note()
