"""How many elements a publisher may ask its upstream for, when its readers tell what they want.

A reader tells pairs: a position of the stream that it has consumed, and how many elements it wants behind
it. The publisher knows how many elements it had sent at each position, so

    requested <= sent at that position + wanted behind it        readers that tell
    requested <= sent + window                                   always

and what it asks for is what it may make: never one element beyond the demand. A pair stands alone; one
that is lost, repeated or late (a position that was left behind) changes nothing. Positions between two
elements count as the one before: fewer elements for a moment, never more. While nobody reads nothing is
asked for; readers that cannot tell (raw Aeron peers, groups) leave the window alone to decide.

Requests go out in batches of a quarter of the window, or all that is wanted when that is less. Pure, and
not thread-safe: the owner holds a lock.
"""

from __future__ import annotations

from collections import deque

from rstream.abc import UNBOUNDED

__all__ = ("CrossedDemand",)

#: Elements whose positions are kept; of more only every second one, which costs exactness, no safety.
POSITIONS_MAX = 65536
_BEFORE_ALL = -(2**63)


class CrossedDemand:
    """Counts what was asked of the upstream and sent, against what the readers want.

    Args:
        window: most elements requested and not yet sent, at least 1.
    """

    __slots__ = (
        "_allowed",
        "_look_again",
        "_requested",
        "_sent",
        "_sent_at",
        "_threshold",
        "window",
    )

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"window {window}: must be at least 1")
        self.window: int = window
        self._threshold = max(1, window // 4)
        self._requested = self._sent = self._allowed = self._look_again = 0
        self._sent_at: deque[tuple[int, int]] = deque([(_BEFORE_ALL, 0)])

    @property
    def requested(self) -> int:
        """Elements asked of the upstream since the start."""
        return self._requested

    @property
    def left(self) -> int:
        """Elements requested and not yet sent."""
        return self._requested - self._sent

    @property
    def allowed(self) -> int:
        """Elements that the readers want, since the start; ``UNBOUNDED``: no limit."""
        return self._allowed

    def sent(self, position: int) -> None:
        """One element went out; ``position`` is the one after it."""
        self._sent += 1
        self._sent_at.append((position, self._sent))
        if len(self._sent_at) > POSITIONS_MAX:
            kept = list(self._sent_at)
            self._sent_at = deque(kept[:-1:2])
            self._sent_at.append(kept[-1])

    def restarted(self) -> None:
        """The stream begins anew, with other positions: what was sent before it is done with."""
        self._sent_at = deque([(_BEFORE_ALL, self._sent)])
        self._allowed = 0

    def wanted_behind(self, position: int, elements: int) -> None:
        """Take a pair that a reader told.

        Args:
            position: that it has consumed.
            elements: wanted behind it; ``UNBOUNDED``: no limit.
        """
        at = self._sent_at
        if position < at[0][0]:
            return
        while len(at) > 1 and at[1][0] <= position:
            at.popleft()
        self._allowed = UNBOUNDED if elements >= UNBOUNDED else at[0][1] + elements

    def unlimited(self) -> None:
        """Readers are there, and none of them can tell."""
        self._allowed = UNBOUNDED
        while len(self._sent_at) > 1:
            self._sent_at.popleft()

    def nobody(self) -> None:
        """There is no reader."""
        self._allowed = 0

    def is_due(self) -> bool:
        """Whether whoever sent should see what may be requested now: the window lets a request through,
        and a quarter of what was left was sent since the last time, or nothing is left to send. Looking costs as
        much as sending a few elements, and while enough is left nobody waits for it.
        """
        left = self._requested - self._sent
        if self.window - left < self._threshold or (left > 0 and self._sent < self._look_again):
            return False
        self._look_again = self._sent + max(self._threshold // 4, left // 4)
        return True

    @property
    def ready(self) -> int:
        """How many elements may be requested now, by what is known of the readers. 0: none yet."""
        by_window = self.window - (self._requested - self._sent)
        by_demand = self._allowed - self._requested
        count = min(by_window, by_demand)
        return 0 if count < 1 or (count < self._threshold and count < by_demand) else count

    def take(self) -> int:
        """How many elements to request now; they count as requested. 0: none yet."""
        count = self.ready
        self._requested += count
        return count
