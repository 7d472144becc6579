"""How many bytes of large messages may wait for their readers in shared segments.

The law of rate does not see them: in the log such a message takes 64 bytes, and a reader that is
slower than the publisher would get seconds of them. So the publisher looks at what its slowest
reader has not consumed, and sends the next message when nothing waits, or when

    unread + length <= limit = max(2 x length, 2 x step, drain x target delay, kept)

    length  of the message to send: while one is worked on the next one lies ready
    step    most bytes that were consumed at once while the publisher was held: a reader that takes
            n messages before it consumes them needs n more meanwhile
    drain   bytes consumed per second while messages waited
    kept    what a reader must be given to go on: one that keeps views consumes nothing for a while,
            although it waits for more. When a held publisher has seen nothing consumed for 200 ms,
            and for four of the usual gaps, half as much again may be unread, and one message at
            least. That counts for 10 s; for twice as long when it was needed again soon after

So a reader that stands still gets more every 200 ms, up to the bounds of the segments themselves.
Steps fade by an eighth with each smaller one.

Pure: time is an argument, in nanoseconds, and does not go back. Not thread-safe: the publisher's
turn for large messages guards it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

__all__ = ("UnreadLimit",)

LEAST_MESSAGES: Final = 2
STILL_NS: Final = 200_000_000
STILL_GAPS: Final = 4
KEPT_NS: Final = 10_000_000_000
KEPT_MOST_NS: Final = 16 * KEPT_NS


class UnreadLimit:
    """What waits for the readers, and whether more may.

    Args:
        target_ns: how long the last message in the queue may wait.

    Attributes:
        unread: bytes of the messages that are sent and not consumed.
        is_held: the answer of the last :meth:`may_send` was no.
    """

    __slots__ = (
        "_drain",
        "_gap_ns",
        "_kept",
        "_kept_for_ns",
        "_kept_until_ns",
        "_messages",
        "_progress_ns",
        "_step",
        "_still_since_ns",
        "_target_ns",
        "is_held",
        "unread",
    )

    def __init__(self, target_ns: int) -> None:
        self._target_ns = target_ns
        self._messages: deque[tuple[int, int]] = deque()  # position after it, length
        self.unread: int = 0
        self.is_held: bool = False
        self._drain = 0.0  # bytes per nanosecond
        self._gap_ns = 0  # between two times at which something was consumed
        self._step = 0
        self._kept = self._kept_until_ns = 0
        self._kept_for_ns = KEPT_NS
        self._progress_ns = 0  # when something was consumed, or when the queue began
        self._still_since_ns = 0

    def note_sent(self, position: int, length: int, now_ns: int) -> None:
        """Note that a message was sent, and which position is after it."""
        if not self._messages:
            self._progress_ns = self._still_since_ns = now_ns
        self._messages.append((position, length))
        self.unread += length

    def may_send(self, length: int, consumed_position: int, now_ns: int) -> bool:
        """Whether a message may be sent now.

        Args:
            length: of the message, bytes.
            consumed_position: what the slowest reader has consumed.
            now_ns: also the time of this look at what is consumed.
        """
        self._see(consumed_position, now_ns)
        if self.is_held and now_ns - self._still_since_ns >= max(
            STILL_NS, STILL_GAPS * self._gap_ns
        ):
            self._grow(length, now_ns)
        self.is_held = self.unread > 0 and self.unread + length > self.limit(length, now_ns)
        return not self.is_held

    def limit(self, length: int, now_ns: int) -> int:
        """Bytes that may wait with a message of this length."""
        kept = self._kept if now_ns < self._kept_until_ns else 0
        drained = int(self._drain * self._target_ns)
        return max(LEAST_MESSAGES * length, 2 * self._step, drained, kept)

    def _grow(self, length: int, now_ns: int) -> None:
        """The reader stands still, and may wait for more."""
        over_ns = now_ns - self._kept_until_ns  # since what it got before has not counted
        if over_ns > KEPT_NS:
            self._kept, self._kept_for_ns = 0, KEPT_NS
        elif over_ns >= 0 and self._kept:
            self._kept_for_ns = min(2 * self._kept_for_ns, KEPT_MOST_NS)
        self._kept = max(self._kept, self.unread + max(length, self.unread // 2))
        self._kept_until_ns = now_ns + self._kept_for_ns
        self._still_since_ns = now_ns

    def _see(self, consumed_position: int, now_ns: int) -> None:
        consumed = 0
        while self._messages and self._messages[0][0] <= consumed_position:
            consumed += self._messages.popleft()[1]
        if not consumed:
            return
        self.unread -= consumed
        gap_ns = max(1, now_ns - self._progress_ns)
        drain = consumed / gap_ns
        if not self._messages:  # the reader waited since, so it is at least that fast
            self._drain = max(self._drain, drain)
        else:
            self._drain = (self._drain + drain) / 2 if self._drain else drain
            self._gap_ns = (self._gap_ns + gap_ns) // 2
        if self.is_held:
            self._step = max(consumed, self._step - self._step // 8)
        self._progress_ns = self._still_since_ns = now_ns
