"""The members of a group: a lane to each, those that were dropped and may come back, and what is
told of them.

``_by_handle`` and ``_away`` are guarded by ``_lock``, held for moments. A signal handler may end
any call, and another thread may remove a member while one sends; the next call finishes what was
begun.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from rstream.errors import RStreamError
from rstream.ray._lane import Lane
from rstream.ray._member_events import MemberBack, MemberLost, Missed
from rstream.stream._internal import EVENTS_MAX, sending_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.ray._handle import StreamHandle
    from rstream.stream import Publisher

log = logging.getLogger("rstream")

GroupEvent: TypeAlias = MemberLost | MemberBack | Missed


class Lanes:
    """The lanes of a group.

    Args:
        title: of the group, for people.
        open_lane: opens the publisher towards a member.

    Attributes:
        sent: number of the last item; written by the thread that sends.
        is_closed: who is added from now on is not taken in.
    """

    def __init__(self, title: str, open_lane: Callable[[StreamHandle], Publisher[Any]]) -> None:
        self.sent = 0
        self.is_closed = False
        self._title = title
        self._open_lane = open_lane
        self._lock = threading.Lock()
        self._by_handle: dict[StreamHandle, Lane] = {}
        self._away: dict[StreamHandle, Publisher[Any]] = {}  # dropped, and may come back
        self._events: deque[GroupEvent] = deque(maxlen=EVENTS_MAX)

    def now(self) -> list[Lane]:
        """The lanes to the members of now."""
        with self._lock:
            return [lane for lane in self._by_handle.values() if not lane.is_gone]

    def has(self, lane: Lane) -> bool:
        """Whether it still is the lane of its member."""
        return self._by_handle.get(lane.handle) is lane

    # ---- coming ----

    def add(self, handle: StreamHandle) -> None:
        """Open the lane to a member. One that is there already stays."""
        lane = self._by_handle.get(handle)
        if lane is not None and not lane.is_gone:
            return
        self._forget(handle)
        self._take_in(handle, self._open_lane(handle))

    def _take_in(self, handle: StreamHandle, publisher: Publisher[Any]) -> bool:
        """Whether it was not there before."""
        is_here = publisher.channel.startswith("aeron:ipc")
        with self._lock:
            lane = self._by_handle.get(handle)
            is_known = self.is_closed or (lane is not None and not lane.is_gone)
            if not is_known:
                self._by_handle[handle] = Lane(
                    handle, publisher, is_here, self.sent + 1, publisher.session_id
                )
        if is_known:
            publisher.close(linger_s=0)
        return not is_known

    def _forget(self, handle: StreamHandle) -> None:
        """Do not wait any more for a member that was dropped."""
        publisher = self._away.get(handle)
        if publisher is not None:
            publisher.close(linger_s=0)
            with self._lock:  # last: an interrupted call is made again
                if self._away.get(handle) is publisher:
                    del self._away[handle]

    def take_back(self) -> None:
        """Take in again who was dropped and is there; forget who is dead for good."""
        for handle, publisher in list(self._away.items()):
            if publisher.is_lost or sending_of(publisher).settings.why_gone():
                self._forget(handle)
            elif publisher.is_connected:
                lane = self._by_handle.get(handle)
                if lane is None or lane.is_gone:
                    back = MemberBack(handle=handle, number=self.sent + 1)
                    if self._take_in(handle, publisher):
                        self._events.append(back)
                with self._lock:  # last: an interrupted call is made again
                    self._away.pop(handle, None)
            elif not publisher.has_session:
                publisher.revive()

    # ---- leaving ----

    def remove(self, handle: StreamHandle) -> None:
        """Complete the stream of a member. Idempotent."""
        self._forget(handle)
        with self._lock:
            lane = self._by_handle.get(handle)
        if lane is not None:
            self.tell(lane)
            lane.publisher.close(linger_s=0)
            self._take_out(lane)  # last: an interrupted call is made again

    def _take_out(self, lane: Lane) -> None:
        with self._lock:
            if self.has(lane):
                del self._by_handle[lane.handle]

    def is_alive(self, lane: Lane, number: int) -> bool:
        """Whether the member is there, or may come in time; else it is dropped."""
        limit_s = lane.publisher.connect_timeout_s
        if not lane.publisher.is_connected:
            lane.publisher.revive()
        if lane.publisher.is_connected:
            lane.alone_since_s = 0.0
            return True
        now_s = time.monotonic()
        lane.alone_since_s = lane.alone_since_s or now_s
        if why := sending_of(lane.publisher).settings.why_gone():
            self.drop(lane, why)
            return False
        if limit_s is None or now_s - lane.alone_since_s < limit_s:
            return True
        self.drop(lane, f"no reader for {limit_s:g} s")
        self._await_back(lane.handle)
        return False

    def drop_dead(self) -> None:
        """Drop the members whose actors never come back."""
        for lane in self.now():
            why_gone = sending_of(lane.publisher).settings.why_gone
            if not lane.publisher.is_connected and (why := why_gone()):
                self.drop(lane, why)

    def _await_back(self, handle: StreamHandle) -> None:
        """Notice it if the reader of a dropped member comes back after all."""
        with suppress(RStreamError):
            publisher = self._open_lane(handle)
            with self._lock:
                before = self._away.get(handle)
                self._away[handle] = publisher
            if before is not None:
                before.close(linger_s=0)

    def drop(self, lane: Lane, reason: str) -> None:
        """Drop a member that is gone, and tell it."""
        if not self.has(lane):
            return
        if not lane.is_gone:
            lane.settle()
            self.tell(lane, is_all=True)
        number = lane.pending[0][1] if lane.pending else self.sent + 1
        event = MemberLost(handle=lane.handle, number=number, reason=reason)
        with self._lock:
            is_told = lane.is_gone
            if not is_told:
                self._events += (event,)  # without a call: no handler runs before the next line
                lane.is_gone = True
        if not is_told:
            log.warning("%s: member %r is dropped: %s", self._title, lane.handle.name, reason)
        lane.publisher.close(linger_s=0)
        self._take_out(lane)

    # ---- what is told ----

    def untold(self) -> deque[GroupEvent]:
        """What was not told yet, with all that members have missed; the caller empties it."""
        for lane in self.now():
            self.tell(lane, is_all=True)
        return self._events

    def settle(self, lane: Lane) -> None:
        """Forget what its member has consumed, and tell what it may not have got."""
        lane.settle()
        self.tell(lane)

    def tell(self, lane: Lane, *, is_all: bool = False) -> None:
        """Tell what the member may not have got.

        Args:
            lane: whose.
            is_all: also what it has missed since it got an item; else that is told with the next.
        """
        with self._lock:
            handle, lost = lane.handle, lane.lost
            news: list[GroupEvent] = [
                Missed(handle=handle, first=first, last=last) for first, last in lost
            ]
            since = lane.missed_from if is_all and lane.missed_from <= self.sent else 0
            if since:
                news.append(Missed(handle=handle, first=since, last=self.sent))
            # Without a call from here on.
            self._events += news
            lost *= 0
            if since:
                lane.missed_from = 0

    def close(self) -> None:
        """Complete all streams. A call that was interrupted is made again."""
        for handle in list(self._away):
            self._forget(handle)
        with self._lock:
            lanes = list(self._by_handle.values())
        for lane in lanes:
            lane.publisher.close(linger_s=0)
        with self._lock:
            self._by_handle.clear()
