"""The figures that sender and receiver of the adaptive law compute alike (flow/reaction.h)."""

from __future__ import annotations

import math

from .numbers import NS_PER_MS, clamp, to_ns

FILL_HIGH = 0.9
RTT_MAX_NS = 10_000_000_000
BUFFER_MAX = 1 << 40
DETECT_NS = 200_000


def stop_s(reach_ns: int, detect_ns: int) -> float:
    """T + D: the time at the full rate that is still sent after a receiver stops."""
    return (float(reach_ns) + float(detect_ns)) / 1e9


def fill_low(
    target_delay_ns: int,
    drain: float,
    buffer_bytes: int,
    rtt_ns: int,
    coming: float = math.inf,
    detect_ns: int = DETECT_NS,
) -> float:
    """The fill at which reports begin, as a share of the buffer.

    It is the drain of a target delay (or a round trip), with room above for the data that arrive
    after a stop, at a rate of ``coming`` at most.
    """
    if buffer_bytes <= 0:
        return 0.5
    room = (
        1.0 - min(coming, drain) * stop_s(rtt_ns + max(rtt_ns, NS_PER_MS), detect_ns) / buffer_bytes
    )
    return clamp(
        max(target_delay_ns, rtt_ns) * drain / 1e9 / buffer_bytes, 0.1, clamp(room, 0.1, 0.5)
    )


def margin_of(buffer_bytes: int, low: float, rate: float, reach_ns: int, detect_ns: int) -> float:
    """X, the headroom: free buffer above ``low``, divided by the data that arrive after a stop."""
    return (
        float(buffer_bytes) * (1.0 - low) / (rate * stop_s(reach_ns, detect_ns))
        if buffer_bytes > 0
        else 0.0
    )


def window_ns(buffer_bytes: int, low: float, rate: float, rtt_ns: int) -> int:
    """W: the free buffer above ``low`` lasts for 1.75 (W + RTT) at ``rate``."""
    least = max(rtt_ns, NS_PER_MS)
    most = max(rtt_ns, 50 * NS_PER_MS)
    if buffer_bytes <= 0 or not rate > 0:
        return most
    return to_ns(clamp(buffer_bytes * (1.0 - low) / (1.75 * rate) * 1e9 - rtt_ns, least, most))
