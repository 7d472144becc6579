"""How demand is replenished: in batches, not per element.

Law: outstanding demand never exceeds ``window``; a new request of what was consumed goes out when
at least a quarter of the window (and at least 1) has been consumed since the last one, so there is
one call for every window/4 elements and the upstream never stands still while three quarters are
under way. Pure, not thread-safe.
"""

from __future__ import annotations

__all__ = ("Replenisher",)


class Replenisher:
    """Counts consumed elements and says when and how much to request.

    Args:
        window: most elements requested and not yet consumed, at least 1.
    """

    __slots__ = ("_consumed", "_threshold", "window")

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"window {window}: must be at least 1")
        self.window: int = window
        self._threshold = max(1, window // 4)
        self._consumed = 0

    def consumed(self, n: int = 1) -> int:
        """Note ``n`` consumed elements; returns how many to request now, 0 for none yet."""
        self._consumed += n
        if self._consumed < self._threshold:
            return 0
        request = self._consumed
        self._consumed = 0
        return request
