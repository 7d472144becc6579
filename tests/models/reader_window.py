"""Model of flow/reader_window.c: the window towards a reader of few or small items."""

from __future__ import annotations

from dataclasses import dataclass

from .fill import BUFFER_MAX, COUNT_MAX
from .numbers import NEVER, NS_PER_MS, TIME_MAX_NS, later

TURN_NS, TURN_MOST_NS, WAITS = 10 * NS_PER_MS, 1000 * NS_PER_MS, 8
MANY, KEPT, QUIET_NS = 8, 32, 1000 * NS_PER_MS
STOP_NS, STOP_GAPS, BLOCKED = 250 * NS_PER_MS, 4, 20


def within(value: int, most: int) -> int:
    return min(max(value, 0), most)


@dataclass
class Look:
    """What the driver sees of the reader."""

    now: int
    produced: int
    consumed: int
    window: int
    stopped: int
    largest: int
    first: int
    frame: int = 0
    turn: int = 0
    may_fill: bool = False
    is_blocked: bool = False
    has_read: bool = False


class ReaderWindow:
    def __init__(self, look: Look) -> None:
        self.opened = BUFFER_MAX if look.may_fill else within(look.first, BUFFER_MAX)
        self.now = later(-TIME_MAX_NS, look.now)
        self.due = NEVER
        self.produced = within(look.produced, COUNT_MAX)
        self.consumed = within(look.consumed, COUNT_MAX)
        self.turn: tuple[int, int] | None = None  # its end, position where it began
        self.usual = 0
        self.gap = self.kept = 0
        self.has_taken = self.holds = False
        self.expect_taking(look)

    def expect_taking(self, look: Look) -> None:
        self.since = self.now
        self.stop = max(STOP_NS, 0 if look.may_fill else STOP_GAPS * self.gap)
        self.opens = later(self.now, self.now + self.stop)

    def update(self, look: Look) -> int:
        """The window."""
        produced, consumed = within(look.produced, COUNT_MAX), within(look.consumed, COUNT_MAX)
        self.now = later(self.now, look.now)
        length = min(max(look.turn, TURN_NS), TURN_MOST_NS)
        has_moved = (produced, consumed) != (self.produced, self.consumed)
        had_data = self.produced > self.consumed
        if consumed < self.consumed:  # another reader
            self.turn, self.usual, self.gap = None, 0, 0
            self.has_taken = had_data = False
        taken = max(consumed - self.consumed, 0)
        self.produced, self.consumed = produced, consumed
        self.note_wait(look, had_data, taken > 0)
        most = within(look.window, BUFFER_MAX)
        least = 2 * max(1, min(look.largest, BUFFER_MAX))
        window = min(max(self.opened, least), most)
        if self.turn is None:
            self.turn = (self.now + length, consumed - taken) if taken > 0 else None
        elif self.now >= self.turn[0] or consumed - self.turn[1] >= MANY * window:
            counts = 2 * window if length > TURN_NS else window
            self.end_turn(consumed - self.turn[1], counts, within(look.stopped, BUFFER_MAX))
        self.opened = min(self.opened, most)
        if has_moved:
            is_quiet = produced <= consumed and self.opened >= look.stopped
            self.due = self.now + (QUIET_NS if is_quiet else length)
        elif self.now >= self.due:
            self.due = NEVER
        return self.open_if_stopped(look, most)

    def note_wait(self, look: Look, had_data: bool, has_taken: bool) -> None:
        if has_taken and had_data and self.has_taken:
            wait = min(self.now - self.since, TIME_MAX_NS // STOP_GAPS // BLOCKED)
            self.gap = max(wait, self.gap - int((self.gap - wait) / WAITS))
        self.has_taken = self.has_taken or has_taken
        if has_taken or not had_data:
            self.expect_taking(look)

    def open_if_stopped(self, look: Look, most: int) -> int:
        least = 2 * max(1, min(look.largest, BUFFER_MAX))
        window = min(max(self.opened, least), most)
        end = most if look.may_fill else within(look.stopped, most)
        left = self.produced - self.consumed
        has_little_room = left >= window // 2 or left > window - within(look.frame, BUFFER_MAX)
        self.holds = left > 0 and window < end and has_little_room
        if not self.holds or self.now < self.opens:
            return window
        self.opens = later(self.now, self.now + self.stop)
        grows = (self.has_taken or look.has_read) and not look.may_fill
        patience = 1
        if grows:
            patience = (BLOCKED if look.is_blocked else 1) if self.has_taken else STOP_GAPS
        if self.now - self.since < patience * self.stop:
            return window
        more = max(2 * window, within(look.first, BUFFER_MAX))
        self.opened = min(more, end) if grows else end
        self.holds = left >= self.opened // 2 and self.opened < end
        return min(max(self.opened, least), most)

    def end_turn(self, everything: int, most: int, whole: int) -> None:
        taken, left, self.turn = min(everything, most), self.produced - self.consumed, None
        if left >= everything:
            self.kept = 0
            self.usual = max(taken, self.usual // 2)
            self.opened = 2 * self.usual
        else:
            self.usual = max(taken, self.usual)
            self.opened = max(2 * taken, self.opened + (taken if left <= 0 else 0))
            self.kept = min(self.kept + 1, KEPT) if left <= 0 else 0
            if self.kept == KEPT:
                self.opened = max(self.opened, whole)

    def wake_position(self) -> int:
        return NEVER if self.due < NEVER else self.consumed + 1

    def look_due(self) -> int:
        return min(self.due, self.opens) if self.holds else self.due
