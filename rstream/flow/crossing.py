"""How many elements a publisher may request from its upstream, given the demand of its readers.

A reader tells pairs: the position of the stream that it has consumed, and how many elements it
wants behind that position. The publisher knows how many elements it had sent at each position. So

    requested <= sent at that position + wanted behind it        readers that tell
    requested <= sent + window                                   always

The publisher never makes an element beyond this demand. Each pair is complete in itself: a pair
that is lost, repeated or late changes nothing. A position between two elements counts as the one
before, so the publisher requests fewer elements for a moment, never more. Without readers it
requests nothing. When no reader can tell (raw Aeron peers, groups), only the window limits it.

A request is for a quarter of the window at least, or for all that is wanted when that is less.
Pure, and not thread-safe: the owner holds a lock.
"""

from __future__ import annotations

from collections import deque

from rstream.abc import UNBOUNDED

__all__ = ("CrossedDemand",)

#: Most elements whose positions are kept. Beyond it every second one is dropped: the result is less
#: exact, and never too large.
POSITIONS_MAX = 65536
_BEFORE_ALL = -(2**63)


class CrossedDemand:
    """Counts the elements requested from the upstream and sent, against the readers' demand.

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
        """The stream begins anew with other positions; earlier ones have no meaning any more."""
        self._sent_at = deque([(_BEFORE_ALL, self._sent)])
        self._allowed = 0

    def wanted_behind(self, position: int, elements: int) -> None:
        """Take a pair that a reader told.

        Args:
            position: it has consumed the stream up to here, bytes.
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
        """Whether the sending thread should look for demand now.

        It should when the window allows a request, and either nothing is left to send, or a quarter
        of what was left was sent since the last look. A look costs as much as sending a few
        elements; while enough is left, a later look delays no element.
        """
        left = self._requested - self._sent
        if self.window - left < self._threshold or (left > 0 and self._sent < self._look_again):
            return False
        self._look_again = self._sent + max(self._threshold // 4, left // 4)
        return True

    @property
    def ready(self) -> int:
        """How many elements may be requested now, by the demand known so far. 0: none yet."""
        by_window = self.window - (self._requested - self._sent)
        by_demand = self._allowed - self._requested
        count = min(by_window, by_demand)
        return 0 if count < 1 or (count < self._threshold and count < by_demand) else count

    def take(self) -> int:
        """How many elements to request now; they count as requested. 0: none yet."""
        count = self.ready
        self._requested += count
        return count
