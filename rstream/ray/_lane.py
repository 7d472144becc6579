"""The way of a group to one member, and what that member has.

A signal handler may end any call: what belongs together is set side by side without a call between,
where no handler runs, and what a call did not finish is finished by the next.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rstream.stream._internal import Gap, StreamEvent

if TYPE_CHECKING:
    from rstream.codecs import Encoded
    from rstream.ray._handle import StreamHandle
    from rstream.stream import Publisher
    from rstream.stream._internal import SharedBlock


@dataclass(slots=True, eq=False)
class Item:
    """An item on its way to the members.

    Attributes:
        number: from 1 on.
        data: encoded.
        block: where it lies for members on this host; None: the lanes carry it.
        lanes: of the members when its send began.
    """

    number: int
    data: Encoded
    block: SharedBlock | None
    lanes: list[Lane]


@dataclass(slots=True, eq=False)
class Lane:
    """The way to one member. One thread at a time, but for ``is_gone``.

    Attributes:
        first: number of the first item that it gets.
        session_id: of the positions below; another one when the driver was lost.
        pending: position and number of items that may be unconsumed.
        blocks: position and block of items that may be unconsumed.
        last: number of the last item that was noted here, sent or missed.
        sent: how many messages of its publisher were noted.
        missed_from: first item since the last one that was sent; 0: none was missed.
        lost: first and last number of items that may not have arrived, and were not told yet.
        news: events of its publisher that were not looked at.
        is_gone: it was told that the member is dropped.
    """

    handle: StreamHandle
    publisher: Publisher[Any]
    is_here: bool
    first: int
    session_id: int
    pending: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    blocks: deque[tuple[int, SharedBlock]] = field(default_factory=deque["tuple[int, SharedBlock]"])
    last: int = 0
    sent: int = 0
    missed_from: int = 0
    lost: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    news: list[StreamEvent] = field(default_factory=list[StreamEvent])
    alone_since_s: float = 0.0
    is_gone: bool = False

    def note_sent(self, item: Item, position: int) -> None:
        """Note that its publisher has sent the item."""
        if self.publisher.session_id != self.session_id:
            self.settle()
        pending = (position, item.number)
        block = None if item.block is None or not self.is_here else (position, item.block)
        lost = (self.missed_from, item.number - 1)
        # Without a call from here on.
        if self.missed_from:
            self.lost += (lost,)
            self.missed_from = 0
        if block is not None:
            self.blocks += (block,)
        self.pending += (pending,)
        self.sent += 1
        self.last = item.number

    def finish(self, item: Item) -> None:
        """Note what became of an item whose send has ended, perhaps by a signal handler."""
        if self.last >= item.number:
            return
        publisher = self.publisher
        if int(publisher.statistics()["messages"]) > self.sent:
            self.note_sent(item, publisher.sent_position)
            return
        self.missed_from = self.missed_from or item.number
        self.last = item.number

    def settle(self) -> None:
        """Forget what the member has consumed, and note what may not have arrived."""
        publisher = self.publisher
        consumed = int(publisher.statistics()["consumed_position"])
        self.news += publisher.events()
        while self.news:
            numbers = self._lost_in(self.news[0])
            self.lost += numbers  # without a call: no handler runs before the next line
            del self.news[0]
        session_id = publisher.session_id
        if session_id != self.session_id:  # the gap has told what was not consumed
            pending, blocks = deque[tuple[int, int]](), deque["tuple[int, SharedBlock]"]()
            self.pending, self.blocks, self.session_id = pending, blocks, session_id
        while self.pending and self.pending[0][0] <= consumed:
            self.pending.popleft()
        while self.blocks and self.blocks[0][0] <= consumed:
            self.blocks.popleft()

    def _lost_in(self, event: StreamEvent) -> list[tuple[int, int]]:
        if not isinstance(event, Gap):
            return []
        begin, end = event.from_position, event.to_position
        numbers = [
            number
            for position, number in self.pending
            if position > begin and (end is None or position <= end)
        ]
        return [(numbers[0], numbers[-1])] if numbers else []
