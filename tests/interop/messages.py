"""The messages of the interop runs, the same on both sides, from a seed.

It needs only the standard library. Sizes are floor(2^(20 u)) - 1 with u uniform, and now and then
exactly 0 or 1 MiB. The content is a piece of one pseudo-random block chosen by the message's
number, so that a lost, repeated, exchanged or damaged message differs.
"""

from __future__ import annotations

import random

SIZE_MAX = 1 << 20


class Messages:
    """The messages of this seed in order, none larger than ``size_max`` (a power of two)."""

    def __init__(self, seed: int, size_max: int = SIZE_MAX) -> None:
        self._random = random.Random(seed)
        self._block = random.Random(seed + 1).randbytes(3 * size_max)
        self._size_max = size_max
        self._bits = size_max.bit_length() - 1
        self._number = 0

    def next(self) -> bytes:
        """The next message."""
        chosen = self._random.random()
        if self._number % 500 == 7:
            size = 0
        elif self._number % 500 == 11:
            size = self._size_max
        else:
            size = int(2 ** (self._bits * chosen)) - 1
        start = (self._number * 7919) % (2 * self._size_max - 1)
        self._number += 1
        return self._block[start : start + size]
