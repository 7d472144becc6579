"""The message of a publisher that travels in parts just now, and those that it gave up."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._parts import PartedMessage

__all__ = ("Progress", "UnderWay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a message is that travels in parts.

    Attributes:
        sent_bytes: sent so far; 0 again when it begins anew, for other readers or another session.
        total_bytes: its length.
    """

    sent_bytes: int
    total_bytes: int


@final
class UnderWay:
    """Large messages: the one that is being sent, and where in the stream its parts lie.

    Attributes:
        message: is being sent; None: none is.
        untold: given up, and readers may not know: the next offer tells them first.
        count: how many attempts were begun; each has an id of its own.
        part_end: position behind the part that was sent last.
    """

    def __init__(self, state: _core.SendState) -> None:
        self._state = state
        self.message: PartedMessage | None = None
        self.untold: tuple[PartedMessage, ...] = ()
        self.count = 0
        self.part_end = 0
        # Begin and end of what else was sent, before and between parts, and whole messages in
        # parts.
        self._others: deque[tuple[int, int]] = deque()

    @property
    def progress(self) -> Progress | None:
        """How far the message is; None: there is none. Any thread."""
        message = self.message
        if message is None:
            return None
        return Progress(sent_bytes=message.sent, total_bytes=message.total)

    def note_sent(self, begin: int, end: int) -> None:
        """Note where the last part of a message lies."""
        self._others.append((begin, end))

    def note_others(self, consumed: int) -> None:
        """Note what was sent since the last part; forget what is consumed."""
        reached = self._state.reached
        if reached != self.part_end:
            begin = self.part_end if reached > self.part_end else 0  # of another session
            self._others.append((begin, reached))
            self.part_end = reached
        while self._others and self._others[0][1] <= consumed:
            self._others.popleft()

    def lost_to(self, from_position: int, to_position: int) -> int:
        """Up to where something is lost when readers have not consumed these positions.

        Nothing is lost with the parts of a message that is under way: from now on it is sent again
        from its first byte.
        """
        message = self.message
        if message is None or message.is_sent or to_position <= from_position:
            return to_position
        self.note_others(from_position)
        ends = [end for begin, end in self._others if begin < to_position]
        message.core = None  # so it begins again, whoever reads now
        return min(to_position, max(ends, default=0))
