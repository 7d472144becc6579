"""Model of ``transport_ext/flow/budget.c``: how many unacknowledged bytes a connection may have.

Source: Couchbase DCP, "Flow Control"; the share of a stream is ours.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction

ACK_BYTES = 50 * 1024
NO_LIMIT = (1 << 63) - 1
COUNT_MAX = 1 << 62


class Kind(enum.IntEnum):
    NONE = 0
    STATIC = 1
    DYNAMIC = 2
    AGGRESSIVE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    kind: Kind
    fixed: int
    memory: int
    least: int
    most: int
    new_share: float
    threshold: float
    all_share: float

    def share(self, of_memory: float) -> int:
        """A share of the memory; where the limits cross, the lower limit wins."""
        wanted = (
            min(int(of_memory * float(self.memory)), COUNT_MAX) if math.isfinite(of_memory) else 0
        )
        return max(self.least, min(wanted, self.most))

    def grant(self, connections: int, granted: int) -> int:
        """The grant of the last of ``connections`` when the others hold ``granted`` bytes."""
        if self.kind == Kind.STATIC:
            return self.fixed
        if self.kind == Kind.DYNAMIC:
            return (
                self.least
                if float(granted) > self.threshold * float(self.memory)
                else self.share(self.new_share)
            )
        if self.kind == Kind.AGGRESSIVE:
            return self.share(self.all_share / float(max(connections, 1)))
        return 0


def room(granted: int, unacknowledged: int) -> int:
    """Bytes that are free; a message may begin within them."""
    return NO_LIMIT if granted <= 0 else max(granted - unacknowledged, 0)


def room_of_stream(room: int, unacknowledged: int, streams: int) -> int:
    """The largest x with ``unacknowledged + x <= room - x``.

    Rounded up, so that a small room does not become none.
    """
    if room == NO_LIMIT or streams <= 1:
        return room
    return max(0, math.ceil(Fraction(room - unacknowledged, 2)))


def ack_step(connection: int, stream: int) -> int:
    """The number of consumed bytes after which an acknowledgement is due."""
    limits = [granted for granted in (connection, stream) if granted > 0]
    if not limits or min(limits) == NO_LIMIT:
        return NO_LIMIT
    return max(min(ACK_BYTES, min(limits) // 5), 1)
