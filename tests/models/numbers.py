"""Shared by the models: clamping as in C, and time that never goes back or overflows."""

from __future__ import annotations

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
TIME_MAX_NS = 1 << 61
RATE_MAX = 1e12
NEVER = (1 << 63) - 1


def clamp(value: float, least: float, most: float) -> float:
    """NaN becomes ``least``; where the limits cross, ``least`` wins."""
    return most if value > most >= least else value if value > least else least


def later(before_ns: int, now_ns: int) -> int:
    """``now_ns``, but never before ``before_ns`` and never so large that sums overflow."""
    return max(before_ns, min(max(now_ns, -TIME_MAX_NS), TIME_MAX_NS))


def to_ns(value: float) -> int:
    """Truncated like C's conversion, after a clamp to valid times."""
    return int(clamp(value, 0.0, float(TIME_MAX_NS)))
