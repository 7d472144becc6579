"""How long a task may go on without a turn of the event loop when nothing makes it wait.

What it handles is counted in parts, and the clock is read once in a part. A part is as much as the
task handles in ``TURN_S``, so a task that works long on each object reads the clock each time.
"""

from __future__ import annotations

import threading
import time
from typing import Final

import anyio.lowlevel

from rstream.stream._internal import next_part

#: Seconds after which other tasks get a turn. (A turn costs 5 µs: 3 % of the time.)
TURN_S: Final = 0.0002


class Turns:
    """When the event loop of a thread had its last turn: all who wait in it share one."""

    __slots__ = ("_last_s",)

    def __init__(self) -> None:
        self._last_s = 0.0

    @property
    def is_due(self) -> bool:
        """Whether they have had none for ``TURN_S``."""
        return time.monotonic() - self._last_s > TURN_S

    def note(self) -> None:
        """They had one just now: the task has waited."""
        self._last_s = time.monotonic()

    async def give_if_due(self) -> None:
        """Give them one if it is due."""
        if self.is_due:
            await anyio.lowlevel.checkpoint()
            self.note()


_of_thread = threading.local()


def turns_here() -> Turns:
    """The one of this thread."""
    turns: Turns | None = getattr(_of_thread, "turns", None)
    if turns is None:
        turns = _of_thread.turns = Turns()
    return turns


class Parts:
    """How many objects, or bytes, are handled until the next look at the clock.

    What is awaited between :meth:`end` and :meth:`begin` does not count as work.

    Args:
        most: of a part.
        first: of the first part, whose speed is not known.
    """

    __slots__ = ("_began_s", "_most", "_size")

    def __init__(self, most: int, first: int = 1) -> None:
        self._began_s = 0.0
        self._most = most
        self._size = first

    def end(self) -> None:
        """The part was handled."""
        took_s = time.monotonic() - self._began_s
        self._size = next_part(self._size, took_s, aim_s=TURN_S, most=self._most)

    def begin(self) -> int:
        """Begin the next part; returns how large it is."""
        self._began_s = time.monotonic()
        return self._size
