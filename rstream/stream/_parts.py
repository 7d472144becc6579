"""Messages longer than the transport takes: cut into parts (docs/reference/wire.md, "Parts").

A reader puts the parts together. Between two of them other messages of the publisher may pass.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from rstream._checks import is_whole
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from rstream import _core
    from rstream.codecs import Encoded

#: Longest message unless the user says otherwise, in bytes.
MESSAGE_LENGTH: Final = 1 << 30
#: Longest message that lies in a shared segment on a stream in shared memory, in bytes: an array of
#: 64 MiB with its description.
SEGMENT_LENGTH_MAX: Final = 65 << 20
#: Longest message that a user may allow, in bytes: a length has 32 bits.
MESSAGE_LENGTH_MAX: Final = (1 << 31) - 1
#: Bytes of a part with its prefix, at most. A message that another thread sends waits for one part
#: at most; with parts four times as long the speed is the same.
PART_BYTES_MAX: Final = 65_536
#: Why a reader did not get a message that came in parts, by number (rst_skip_reason_t).
TOO_LONG, NO_MEMORY, PART_LOST, ABANDONED, INVALID, ENDED, GIVEN_BACK, NO_SEGMENT, CUT = range(
    1, 10
)

_PREFIX: Final = struct.Struct("<qqq")  # id, bytes of the whole message, offset of this part
_NONE_FOLLOWS: Final = -1


def check_message_length(length: Any) -> None:
    """Refuse a longest message that cannot be.

    Raises:
        ConfigError: says what it must be.
    """
    if not is_whole(length) or not 1 <= length <= MESSAGE_LENGTH_MAX:
        raise ConfigError(
            f"max_message_length={length!r}: must be a number of bytes, 1 to {MESSAGE_LENGTH_MAX}"
        )


def part_length(core: _core.Publication) -> int:
    """Payload bytes of a part with its prefix: whole frames, so that no datagram is short."""
    frames = min(PART_BYTES_MAX, core.max_message_length) // core.max_payload_length
    return max(1, frames) * core.max_payload_length


class PartedMessage:
    """A message that is being sent in parts. One thread or task at a time.

    Attributes:
        total: its bytes.
        sent: how many of them were sent in this attempt.
        core: the session that got them; None: none has yet.
        is_offering: the next part is made, and nobody has said yet that it was not taken.
    """

    def __init__(self, data: Encoded) -> None:
        views = [memoryview(buffer) for buffer in (data if isinstance(data, list) else [data])]
        self._views = [view.cast("B") for view in views if view.nbytes]
        self.total = sum(view.nbytes for view in self._views)
        self.core: _core.Publication | None = None
        self.sent = 0
        self.is_offering = False
        self._id = self._index = self._begin = self._left_count = self._position = 0
        self._part_bytes = 0
        self._next: tuple[int, int] = 0, 0  # index and begin behind the part that was made last

    @property
    def is_sent(self) -> bool:
        """Whether every part was sent."""
        return self.sent == self.total

    @property
    def buffers(self) -> list[memoryview]:
        """The whole message."""
        return self._views

    @property
    def is_begun(self) -> bool:
        """Whether a reader may hold a part of it and wait for the rest."""
        return (self.sent > 0 or self.is_offering) and not self.is_sent

    @property
    def is_last_part(self) -> bool:
        """Whether the part that was made last is the last one of the message."""
        return self.total - self.sent <= self._part_bytes

    def begin(self, core: _core.Publication, message_id: int) -> None:
        """Send it from its first byte on, in this session, under an id that was not used yet."""
        self.core, self._id = core, message_id
        self._left_count, self._position = core.left.times, core.position
        self.sent = self._index = self._begin = 0
        self._part_bytes = part_length(core) - _PREFIX.size

    def must_begin_again(self, core: _core.Publication) -> bool:
        """Whether nobody has its first parts: another session, the readers left meanwhile, or the
        next reader began behind them.
        """
        if self.core is not core:
            return True
        left = core.left
        return self.sent > 0 and (left.times != self._left_count or left.joined > self._position)

    def next_part(self) -> list[Buffer]:
        """The buffers of the next part; the same until :meth:`advance`."""
        buffers: list[Buffer] = [_PREFIX.pack(self._id, self.total, self.sent)]
        room = self._part_bytes
        index, begin = self._index, self._begin
        while room and index < len(self._views):
            view = self._views[index][begin : begin + room]
            buffers.append(view)
            room -= view.nbytes
            begin += view.nbytes
            if begin == self._views[index].nbytes:
                index, begin = index + 1, 0
        self._next, self.is_offering = (index, begin), True
        return buffers

    def advance(self) -> int:
        """Count the part of the last :meth:`next_part` as sent; returns its bytes."""
        self._index, self._begin = self._next
        part_bytes = min(self._part_bytes, self.total - self.sent)
        self.sent += part_bytes
        self.is_offering = False
        return part_bytes

    def give_up(self) -> bytes:
        """Let go of the buffers; returns the part that tells readers to drop what they have."""
        self._views = []
        return _PREFIX.pack(self._id, self.total, _NONE_FOLLOWS)
