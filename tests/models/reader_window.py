"""Model of flow/reader_window.c: the window towards a reader of few or small items."""

from __future__ import annotations

from dataclasses import dataclass

from .fill import BUFFER_MAX, COUNT_MAX
from .numbers import NEVER, NS_PER_MS, TIME_MAX_NS, later

TURN_NS, TURN_MOST_NS, TURNS = 10 * NS_PER_MS, 1000 * NS_PER_MS, 8


def within(value: int, most: int) -> int:
    return min(max(value, 0), most)


@dataclass
class Look:
    """What the driver sees of the reader."""

    now: int
    produced: int
    consumed: int
    window: int
    largest: int
    first: int
    turn: int = 0
    may_fill: bool = False
    is_stopped: bool = False


class ReaderWindow:
    def __init__(self, look: Look) -> None:
        self.opened = BUFFER_MAX if look.may_fill else within(look.first, BUFFER_MAX)
        self.now = later(-TIME_MAX_NS, look.now)
        self.due = NEVER
        self.produced = within(look.produced, COUNT_MAX)
        self.consumed = within(look.consumed, COUNT_MAX)
        self.turn: tuple[int, int] | None = None  # its end, position where it began
        self.usual = 0

    def update(self, look: Look) -> int:
        """The window."""
        produced, consumed = within(look.produced, COUNT_MAX), within(look.consumed, COUNT_MAX)
        self.now = later(self.now, look.now)
        length = min(max(look.turn, TURN_NS), TURN_MOST_NS)
        if (produced, consumed) != (self.produced, self.consumed):
            self.due = self.now + length
        elif self.now >= self.due:
            self.due = NEVER
        if consumed < self.consumed:  # another reader
            self.turn, self.usual = None, 0
        taken = max(consumed - self.consumed, 0)
        self.produced, self.consumed = produced, consumed
        if self.turn is None and taken > 0:
            self.turn = (self.now + length, consumed - taken)
        elif self.turn is not None and self.now >= self.turn[0]:
            self.end_turn(consumed - self.turn[1])
        most = within(look.window, BUFFER_MAX)
        self.opened = most if look.may_fill and look.is_stopped else min(self.opened, most)
        return min(max(self.opened, 2 * max(1, min(look.largest, BUFFER_MAX))), most)

    def end_turn(self, taken: int) -> None:
        taken, left, self.turn = min(taken, BUFFER_MAX), self.produced - self.consumed, None
        if left >= taken:
            self.usual = max(taken, self.usual - int((self.usual - taken) / TURNS))
            self.opened = 2 * self.usual
        else:
            self.opened = max(2 * taken, self.opened + (taken if left <= 0 else 0))

    def wake_position(self) -> int:
        return NEVER if self.due < NEVER else self.consumed + 1
