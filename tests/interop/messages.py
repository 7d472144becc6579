"""The messages of the interop runs, the same on both sides, from a seed: no dependency but the standard library.

Sizes are floor(2^(20 u)) - 1 with u uniform, and now and then exactly 0 or 1 MiB. Content is a piece of one pseudo-random block that depends on
the message's number, so that a lost, repeated, exchanged or damaged message differs.
"""

from __future__ import annotations

import random

SIZE_MAX = 1 << 20


class Messages:
    """Message ``number`` of the run with this seed; numbers must be asked in order from 0."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._block = random.Random(seed + 1).randbytes(3 * SIZE_MAX)
        self._number = 0

    def next(self) -> bytes:
        """The next message."""
        chosen = self._random.random()
        if self._number % 500 == 7:
            size = 0
        elif self._number % 500 == 11:
            size = SIZE_MAX
        else:
            size = int(2 ** (20 * chosen)) - 1
        start = (self._number * 7919) % (2 * SIZE_MAX - 1)
        self._number += 1
        return self._block[start : start + size]
