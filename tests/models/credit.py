"""Credit over a fluid: what the slowest of a group lets the others have."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence


def utilisations(
    capacities: Sequence[Callable[[float], float]],
    seconds: float,
    *,
    rtt_s: float,
    window: float,
    link_rate: float = 1e9,
    dt: float = 1e-4,
) -> list[float]:
    """Bytes consumed over the integral of the capacity (bytes/s at a second), by receiver.

    A receiver tells its position after each quarter of the window, as Aeron's do.
    """
    delay = max(1, round(rtt_s / 2 / dt))
    count, sent = len(capacities), 0.0
    consumed, told, integral = ([0.0] * count for _ in range(3))
    forward, back = deque([0.0] * delay), deque([tuple(told)] * delay)
    for step in range(round(seconds / dt)):
        sent = min(sent + link_rate * dt, max(sent, min(back.popleft()) + window))
        forward.append(sent)
        highest = forward.popleft()
        for i, capacity in enumerate(capacities):
            room = capacity(step * dt) * dt
            integral[i] += room
            consumed[i] = min(highest, consumed[i] + room)
            if consumed[i] - told[i] >= window / 4:
                told[i] = consumed[i]
        back.append(tuple(told))
    return [taken / most for taken, most in zip(consumed, integral, strict=True)]
