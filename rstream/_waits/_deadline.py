"""A time by which something must have happened, as a value."""

from __future__ import annotations

import math
import time
from typing import Final

#: What is left of a deadline that never comes: some 30 years, and every wait takes it.
FOREVER_S: Final = 1e9
#: After so many seconds a wait that nobody seems to end is told in the log.
NOTICE_AFTER_S: Final = 2.0


class Deadline:
    """A moment of ``time.monotonic()``; the one of ``None`` never comes.

    Args:
        timeout_s: how far it is away; None: for ever. Negative: it is over.
    """

    __slots__ = ("at_s",)

    def __init__(self, timeout_s: float | None) -> None:
        #: The moment; infinite: it never comes.
        self.at_s: float = math.inf if timeout_s is None else time.monotonic() + timeout_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.at_s

    def left_s(self, at_most_s: float = FOREVER_S) -> float:
        """Seconds until then; not more than ``at_most_s``, and 0 when it is over."""
        left_s = self.at_s - time.monotonic()
        return 0.0 if left_s <= 0 else min(left_s, at_most_s)
