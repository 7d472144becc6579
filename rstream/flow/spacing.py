"""How far apart elements go out: the law of ``throttle``.

Law: in any interval [t, t + d] at most  rate·d + burst  elements go out. The generic cell rate
algorithm: each element moves the *theoretical time* of the next one on by 1 / rate. An element may
go as soon as that time is at most (burst - 1) / rate ahead.
Pure: time is an argument that never goes back.
"""

from __future__ import annotations

__all__ = ("Spacing",)

_NS_PER_S = 1_000_000_000


class Spacing:
    """Says when the next element may go.

    Args:
        rate: elements per second, above 0.
        burst: elements that may go at once after a pause, at least 1.
    """

    __slots__ = ("_ahead_ns", "_next_ns", "_step_ns")

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate {rate} must be above 0, and burst {burst} at least 1")
        self._step_ns = _NS_PER_S / rate
        self._ahead_ns = (burst - 1) * self._step_ns
        self._next_ns: float | None = None  # None: nothing has gone out yet

    def free_ns(self) -> int | None:
        """The time from which the next element may go; None: at any time."""
        if self._next_ns is None:
            return None
        # Rounded up: an element may be late by less than a nanosecond, never early.
        return -int(-(self._next_ns - self._ahead_ns) // 1)

    def spend(self, now_ns: int) -> None:
        """Note that an element goes out; ask :meth:`free_ns` first."""
        begin_ns = now_ns if self._next_ns is None else max(float(now_ns), self._next_ns)
        self._next_ns = begin_ns + self._step_ns
