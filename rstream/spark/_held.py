"""What a task sent with eager delivery and no reader is known to have consumed.

Delivery is at least once, so it goes out again when it may be lost:

* the driver ended, and its log with it: what was written after the last look of a reader is lost,
  however well the new session goes on;
* over UDP a reader died, and the one that was opened anew begins behind all that was sent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from rstream.stream import Gap

if TYPE_CHECKING:
    from rstream.stream import Publisher

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any


class HeldMessages:
    """The messages of one publisher, oldest first. The window of its stream bounds them.

    Args:
        publisher: sends them; its events are taken here.
    """

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher = publisher
        # session, position behind it in that session, message
        self._messages: deque[tuple[int, int, RecordBatch]] = deque()
        publisher.events()  # those of earlier tasks

    def __bool__(self) -> bool:
        return bool(self._messages)

    def add(self, position: int, message: RecordBatch) -> None:
        """Note what was sent, with the position behind it, before anything else is done with the
        publisher: the next look may join again by another driver, with another session.
        """
        self._messages.append((self._publisher.session_id, position, message))

    def take_all(self) -> list[RecordBatch]:
        """Remove and return everything."""
        messages = [message for _, _, message in self._messages]
        self._messages.clear()
        return messages

    def take_lost(self) -> list[RecordBatch]:
        """Forget what is consumed; remove and return what may be lost."""
        publisher = self._publisher
        consumed_session_id = publisher.session_id
        consumed = publisher.statistics()["consumed_position"]
        # The position of a reader that was opened anew hides what the last one missed. The look
        # that it takes notes the gap first.
        cut_off = {event.session_id for event in publisher.events() if isinstance(event, Gap)}
        session_id = publisher.session_id
        lost: list[RecordBatch] = []
        kept: deque[tuple[int, int, RecordBatch]] = deque()
        for sent in self._messages:
            if sent[0] != session_id or sent[0] in cut_off:
                lost.append(sent[2])
            elif sent[0] != consumed_session_id or sent[1] > consumed:
                kept.append(sent)
        self._messages = kept
        return lost
