"""The demand of one subscription.

Law: at every moment  0 ≤ delivered ≤ requested ≤ 2**63 − 1  (§1.1, §3.8, §3.17): a request adds, a
delivery takes one, the sum saturates, and at saturation the demand is unbounded and no longer
falls. Pure, and not thread-safe: the owner holds a lock.
"""

from __future__ import annotations

from rstream.abc import UNBOUNDED

__all__ = ("Demand",)


class Demand:
    """Elements requested and not yet delivered."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = 0

    @property
    def pending(self) -> int:
        """Elements that may be delivered now, 0 … 2**63 − 1."""
        return self._pending

    @property
    def is_unbounded(self) -> bool:
        """Whether the sum of the requests has reached 2**63 − 1 (§3.17)."""
        return self._pending >= UNBOUNDED

    def add(self, n: int) -> None:
        """Take a request.

        Raises:
            ValueError: ``n < 1`` (§3.9); the demand is unchanged.
        """
        if n < 1:
            raise ValueError(
                f"§3.9: non-positive subscription request: request({n}); ask for 1 element or more"
            )
        self._pending = min(UNBOUNDED, self._pending + n)

    def take(self, n: int = 1) -> None:
        """Note that ``n`` elements are delivered.

        Raises:
            ValueError: more than :attr:`pending` (§1.1).
        """
        if not 0 <= n <= self._pending:
            raise ValueError(f"§1.1: {n} elements delivered with a demand of {self._pending}")
        if self._pending < UNBOUNDED:
            self._pending -= n
