"""A time by which something must have happened, as a value."""

from __future__ import annotations

import time
from typing import Final

FOREVER: Final = float("inf")


class Deadline:
    """A moment of ``time.monotonic()``; the one of ``None`` never comes.

    Args:
        timeout_s: how far it is away; None: for ever. Negative: it is over.
    """

    __slots__ = ("at_s",)

    def __init__(self, timeout_s: float | None) -> None:
        #: The moment; infinite: it never comes.
        self.at_s: float = FOREVER if timeout_s is None else time.monotonic() + timeout_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.at_s

    def left_s(self, at_most_s: float = FOREVER) -> float:
        """Seconds until then; not more than ``at_most_s``, and 0 when it is over."""
        left_s = self.at_s - time.monotonic()
        return 0.0 if left_s <= 0 else min(left_s, at_most_s)

    def left_or_none(self) -> float | None:
        """Seconds until then, 0 when it is over; None: for ever."""
        return None if self.at_s == FOREVER else self.left_s()
