"""The adaptive law's reaction time and a buffer's headroom, for a consumer at the current rate.

The law is the C one (``transport_ext/flow/rate_adaptive.c``); this module converts seconds and
nanoseconds. Rates are bytes per second, times seconds.
"""

from __future__ import annotations

from typing import Final

from rstream.lab import _lab

__all__ = ("DETECT_S", "TARGET_DELAY_S", "buffer_for_margin", "margin", "period_s", "reaction_s")

_TARGET_DELAY_NS, _DETECT_NS, _PERIOD_NS = _lab.defaults()
#: L: how long a message may wait in a reader's buffer.
TARGET_DELAY_S: Final = _TARGET_DELAY_NS / 1e9
#: D: time beyond the reaction time until a host notices a stop, because its threads take turns.
DETECT_S: Final = _DETECT_NS / 1e9


def period_s(rtt_s: float) -> float:
    """P: seconds between two reports of a receiver in overload."""
    return max(_PERIOD_NS / 1e9, rtt_s)


def reaction_s(rtt_s: float) -> float:
    """RTT + P: seconds from an overload until its report reaches the consumer again as a rate."""
    return rtt_s + period_s(rtt_s)


def margin(
    buffer_bytes: float, rate: float, rtt_s: float, target_delay_s: float = TARGET_DELAY_S
) -> float:
    """X: the headroom of a buffer. A larger buffer never has less."""
    return _lab.headroom(
        round(target_delay_s * 1e9), _DETECT_NS, round(buffer_bytes), round(rtt_s * 1e9), rate
    )


def buffer_for_margin(
    wanted: float, rate: float, rtt_s: float, target_delay_s: float = TARGET_DELAY_S
) -> float:
    """The smallest buffer with at least the ``wanted`` headroom, in bytes (whole KiB)."""
    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high) // 2
        if margin(middle * 1024.0, rate, rtt_s, target_delay_s) >= wanted * (1 - 1e-9):
            high = middle
        else:
            low = middle + 1
    return low * 1024.0
