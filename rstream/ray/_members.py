"""The members of a pool: lanes to their handles, and how far they are.

Theory of operation. A reader of :mod:`rstream.work` reports what it has done. A member is an
ordinary endpoint and reports nothing; but the transport tells up to which position it has consumed,
and an item is consumed when the endpoint asks for the one behind it. So from positions the same
reports are made here, and who gets what is decided by the same desk.

Positions ring no bell, so the thread looks at them while members have items: at first after half a
millisecond, then less and less often.

A member that is gone loses its items to the others at once. If it left with an error, it is
dropped. Else its handle gets a new lane, on which a restarted actor may come back, and after
``connect_timeout_s`` it is dropped.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rstream._condition import Event
from rstream.errors import NotConnected, RStreamError
from rstream.stream import Disconnected, Rejected, SessionChanged
from rstream.stream._internal import sending_of
from rstream.work._internal import VERSION, LaneReport, ReaderReport, ReaderSeat, Seating

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition
    from rstream.ray._handle import StreamHandle
    from rstream.stream import Publisher
    from rstream.work._internal import LanePublisher, WorkDesk

log = logging.getLogger("rstream")

#: First and longest pause between two looks at members that have items.
PAUSE_MIN_S: Final = 0.0005
PAUSE_MAX_S: Final = 0.008
#: Pause between two looks at members that are to come or to leave.
PAUSE_AWAY_S: Final = 0.02
#: Pause between two looks at members that were dropped.
PAUSE_DROPPED_S: Final = 0.25
#: A lane is opened again so late: a reader that leaves with an error is taken off first, and closes
#: then. It would get an item in between, and count as another loss.
REOPEN_AFTER_S: Final = 0.5


class PoolLane:
    """The way to one member: its publisher, and the ends of the items that it has.

    Attributes:
        handle: of the member.
        publisher: a new one after each death.
        seat: where the desk knows it; None: it is not there.
        alone_since_s: since when it is not there; monotonic.
        number: the first item that it had when it was lost; 0: none.
        reason: why it is not there, for people; empty: not known.
        is_leaving: it gets nothing more.
        is_dropped: it was away for too long, and may come back all the same.
    """

    def __init__(self, handle: StreamHandle, publisher: Publisher[bytes], bell: Event) -> None:
        self.handle = handle
        self.publisher = publisher
        self.seat: ReaderSeat[LanePublisher] | None = None
        self.alone_since_s = time.monotonic()
        self.number = 0
        self.reason = ""
        self.is_leaving = False
        self.is_dropped = False
        self._bell = bell
        self._ends: deque[int] = deque()  # positions behind its items
        self._end = publisher.sent_position  # behind the last one
        self._done = 0

    @property
    def is_connected(self) -> bool:
        """Whether the member is there."""
        return self.publisher.is_connected

    def offer(self, obj: bytes, /) -> int:
        """Send at once; not above 0: not taken. Under the desk's lock."""
        self._note_end()  # of an item whose sender was interrupted
        position = self.publisher.offer(obj)
        if position > 0:
            self._note_end()
            self._bell.set()
        return position

    @property
    def sent_position(self) -> int:
        """Position behind the last item that its publisher took."""
        return self.publisher.sent_position

    def _note_end(self) -> None:
        position = self.publisher.sent_position
        if position > self._end:
            self._ends += (position,)  # no call: no signal handler runs before the next line
            self._end = position

    def fail(self, error: str, /, *, linger_s: float | None = None) -> None:
        """End the publisher of now, not as a complete one."""
        self.publisher.fail(error, linger_s=linger_s)

    def close(self) -> None:
        """Complete it."""
        self.publisher.close(linger_s=0)

    def renew(self, publisher: Publisher[bytes]) -> None:
        """Go on with another publisher, to a member that has nothing yet."""
        self.publisher = publisher
        self._ends.clear()
        self._end = publisher.sent_position
        self._done = 0

    def done_upto(self, consumed: int) -> int:
        """How many of its items lie before a position, since the lane was opened."""
        self._note_end()
        while self._ends and self._ends[0] <= consumed:
            self._ends.popleft()
            self._done += 1
        return self._done


class Members(Seating):
    """Seats for members by their handles.

    Args:
        desk, changed, title: as for :class:`Seating`.
        prefetch: most items that a member has.
        open_publisher: opens the publisher of a lane.
        connect_timeout_s: how long a member may be away; None: for ever.
        on_lost: is told of a member that is dropped: handle, first item that it had, reason.
        on_back: is told of one that was dropped because it was away, and is there again.
    """

    more_hint = "add members, or give the pool a larger prefetch"

    def __init__(
        self,
        desk: WorkDesk[LanePublisher],
        changed: Condition,
        title: str,
        *,
        prefetch: int,
        open_publisher: Callable[[StreamHandle], Publisher[bytes]],
        connect_timeout_s: float | None,
        on_lost: Callable[[StreamHandle, int, str], None],
        on_back: Callable[[StreamHandle], None],
    ) -> None:
        super().__init__(desk, changed, title)
        self._prefetch = prefetch
        self._open_publisher = open_publisher
        self._connect_timeout_s = connect_timeout_s
        self._on_lost = on_lost
        self._on_back = on_back
        self._bell = Event()
        self._pause_s = PAUSE_MIN_S
        self._lanes: dict[StreamHandle, PoolLane] = {}  # under the lock

    # ---- any thread ----

    @property
    def handles(self) -> list[StreamHandle]:
        """The members now."""
        with self._changed:
            return [
                lane.handle
                for lane in self._lanes.values()
                if not (lane.is_leaving or lane.is_dropped)
            ]

    def add(self, handle: StreamHandle) -> None:
        """Take a member in. One that is there already stays.

        Raises:
            RStreamError: its publisher cannot be opened.
        """
        with self._changed:
            lane = self._lanes.get(handle)
            if lane is not None:
                lane.is_leaving = lane.is_dropped = False
                lane.alone_since_s = time.monotonic()
                self._bell.set()
                return
        publisher = self._open_publisher(handle)
        with self._changed:
            if handle not in self._lanes:
                self._lanes[handle] = PoolLane(handle, publisher, self._bell)
                publisher = None
        if publisher is not None:  # another thread was first
            publisher.close(linger_s=0)
        self._bell.set()

    def remove(self, handle: StreamHandle) -> None:
        """Let a member go when it has done what it has. Idempotent."""
        with self._changed:
            lane = self._lanes.get(handle)
            if lane is not None:
                lane.is_leaving = True
                if lane.seat is not None:
                    lane.seat.prefetch = 0
        self._bell.set()

    def wake(self) -> None:
        """End a wait; any thread."""
        self._bell.set()

    # ---- the thread ----

    def wait(self, timeout_s: float) -> None:
        """Wait until it is time to look again."""
        with self._changed:
            lanes = list(self._lanes.values())
            is_busy = any(lane.seat is not None and lane.seat.given for lane in lanes)
        if is_busy:
            timeout_s = min(timeout_s, self._pause_s)
            self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
        elif any(lane.is_leaving or not (lane.seat or lane.is_dropped) for lane in lanes):
            timeout_s = min(timeout_s, PAUSE_AWAY_S)
        elif any(lane.is_dropped for lane in lanes):
            timeout_s = min(timeout_s, PAUSE_DROPPED_S)
        if self._bell.wait(timeout_s):
            self._bell.clear()
            self._pause_s = PAUSE_MIN_S

    def update(self) -> bool:
        """Look at all members. False: nothing is new."""
        with self._changed:
            lanes = list(self._lanes.values())
        has_news = False
        for lane in lanes:
            has_news |= self._await(lane) if lane.seat is None else self._look_at(lane)
        if has_news:
            self._pause_s = PAUSE_MIN_S
        return has_news

    def close(self) -> None:
        """Complete all lanes."""
        with self._changed:
            lanes = list(self._lanes.values())
            self._lanes.clear()
            self._desk.seats.clear()
        for lane in lanes:
            with suppress(RStreamError):
                lane.close()

    def alone_error(self, waited_s: float, why: str) -> NotConnected:
        return NotConnected(
            f"{self._title}: none of {len(self.handles)} members was there for {waited_s:g} s{why}",
            hint="add(handle) takes a member in; events() says what became of the others",
        )

    def _await(self, lane: PoolLane) -> bool:
        """Give a member that has come its seat, or drop one that does not come."""
        if lane.is_leaving:
            return self._let_go(lane)
        is_closed = lane.publisher.is_closed
        if is_closed and time.monotonic() - lane.alone_since_s >= REOPEN_AFTER_S:
            self._open_again(lane)
            return True
        if not lane.is_connected:
            return self._look_away(lane)
        if lane.is_dropped:
            self._on_back(lane.handle)
            lane.is_dropped = False
        lane.publisher.events()  # from here on they tell of this reader
        lane.number, lane.reason = 0, ""
        seat: ReaderSeat[LanePublisher] = ReaderSeat(
            secrets.randbits(64), lane, self._report_of(lane, 0, 0)
        )
        seat.title = f"member {lane.handle.name!r}"
        with self._changed:
            lane.seat = seat
            self._desk.add(seat)
        return True

    def _look_away(self, lane: PoolLane) -> bool:
        """Drop a member that does not come in time, and let it go if it never will."""
        limit_s, reason = self._connect_timeout_s, sending_of(lane.publisher).settings.why_gone()
        if lane.is_dropped:
            return self._let_go(lane) if reason else False
        is_gone = bool(reason)
        if not reason:
            if limit_s is None or time.monotonic() - lane.alone_since_s < limit_s:
                return False
            reason = f"no reader for {limit_s:g} s"
        reason = f"{reason}; {lane.reason}" if lane.reason else reason
        if is_gone:
            self._give_up(lane, reason)
        else:
            # Who sees that the member is no longer listed finds the event that says why.
            self._tell_lost(lane, reason)
            lane.is_dropped = True
        return True

    def _look_at(self, lane: PoolLane) -> bool:
        """Note what a member has done, and whether it is gone."""
        seat = lane.seat
        assert seat is not None
        # In this order: a reader that comes after the death of another one hides its position.
        consumed = int(lane.publisher.statistics()["consumed_position"])
        events = lane.publisher.events()
        is_gone = not lane.is_connected
        is_innocent = is_failed = False
        for event in events:
            if isinstance(event, Rejected):
                is_failed, lane.reason = True, event.reason
            elif isinstance(event, Disconnected) and not is_innocent:
                is_gone, consumed = True, event.consumed_position
            elif isinstance(event, SessionChanged):
                is_gone = is_innocent = True
                consumed = -1  # of another log
        with self._changed:
            before = len(seat.given)
            upto = lane.done_upto(consumed)
            self._desk.report(seat, self._report_of(lane, seat.last, upto, lane_id=seat.lane))
            has_news = len(seat.given) != before
            if is_gone and seat.given:
                lane.number = min(message.number for message in seat.given.values())
        if is_gone:
            self._drop(seat, is_innocent=is_innocent)
            lane.seat = None
            lane.alone_since_s = time.monotonic()
            if is_failed:
                self._give_up(lane, lane.reason)
            return True
        return self._let_go(lane) if lane.is_leaving and not seat.given else has_news

    def _report_of(self, lane: PoolLane, last: int, upto: int, lane_id: int = 0) -> ReaderReport:
        """What the member would report."""
        return ReaderReport(
            version=VERSION,
            reader=secrets.randbits(64) if lane.seat is None else lane.seat.reader,
            session=0,
            stream_id=lane.handle.stream_id,
            endpoint="",
            prefetch=0 if lane.is_leaving else self._prefetch,
            codec_id=0,
            is_leaving=False,
            lanes=[LaneReport(lane=lane_id, last=last, upto=upto)] if last else [],
        )

    def _open_again(self, lane: PoolLane) -> None:
        """A new lane to the handle of a member that is gone: Ray may restart it."""
        try:
            publisher = self._open_publisher(lane.handle)
        except RStreamError as error:
            self._give_up(lane, str(error))
            return
        with self._changed:
            lane.renew(publisher)

    def _let_go(self, lane: PoolLane) -> bool:
        with self._changed:
            self._lanes.pop(lane.handle, None)
            if lane.seat is not None:
                self._desk.drop(lane.seat)
        with suppress(RStreamError):
            lane.close()
        return True

    def _give_up(self, lane: PoolLane, reason: str) -> None:
        self._tell_lost(lane, reason)
        self._let_go(lane)

    def _tell_lost(self, lane: PoolLane, reason: str) -> None:
        log.warning("%s: member %r is dropped: %s", self._title, lane.handle.name, reason)
        self._on_lost(lane.handle, lane.number, reason)
