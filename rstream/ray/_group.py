"""One writer, many readers that have handles.

A group sends each item to all members, or shares them as work (``_pool.py``). This file does the
first, and hands the calls of the second on.

Theory of operation. A group has a *lane* for each member: a publisher of its own to that member's
handle, with the window and the reliability of any other. An item is encoded once. What is large
lies once on the host, in a shared block that each member there maps (``stream/_blocks.py``); on the
lanes goes a short message that names it. Members on other hosts get the item itself.

Why lanes, and not one shared publication: members come and go with their handles, of which each has
a stream id of its own, and a member that is slow, dead or restarted has a state that must be known
by name. The network carries as many datagrams as multi-destination sending would.

``_members`` is guarded by ``_lock``, held for moments. ``_send_lock`` is held by the thread that
sends; a member that is removed meanwhile ends its wait.

A signal handler may end any call. The item that is being sent is noted in ``_item`` until each lane
knows whether it has it; the next call asks those that do not (``_lane.py``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, Unpack

from rstream import _core
from rstream._checks import check_seconds, check_timeout
from rstream.codecs._choose import choose_of_handle
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ConcurrentUseError,
    ConfigError,
    MessageTooLarge,
    NotConnected,
    RStreamError,
)
from rstream.ray._handle import WORK_PREFIX, handles_of
from rstream.ray._lane import Item, Lane
from rstream.ray._pool import Pool
from rstream.ray._work import Share, check_share
from rstream.stream._blocks import Block, BlockPool, remove_orphans
from rstream.stream._events import EVENTS_MAX
from rstream.stream._names import KIND_BLOCK, KIND_PLAIN
from rstream.stream._publisher import send_encoded
from rstream.stream._publisher_facts import why_gone
from rstream.stream._sender import length_of
from rstream.work import Unfinished
from rstream.work._protocol import PREFETCH_MAX, check_count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.codecs import Codec, CodecLike, Encoded
    from rstream.ray._handle import StreamHandle
    from rstream.stream import Publisher, SendOptions

log = logging.getLogger("rstream")

FlowControl: TypeAlias = Literal["min", "max", "tagged"]

#: From so many bytes on an item lies in a shared block if two members or more are on this host.
BLOCK_MIN: Final = 128 * 1024
#: Blocks that one member may not have consumed yet; then it has no room.
BLOCKS_AHEAD: Final = 4
#: Pause between two looks at members without room.
PAUSE_S: Final = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLost:
    """A member was dropped from its group: it died, left, or failed.

    Attributes:
        handle: which one.
        number: the first item that it may not have consumed, from 1 on. With ``share="work"``
            others have these by now; 0: it had none.
        reason: why, for people.
    """

    handle: StreamHandle
    number: int
    reason: str

    def __str__(self) -> str:
        first = f"; the first item that it may not have consumed is {self.number}"
        return (
            f"member {self.handle.title} was dropped: {self.reason}{first if self.number else ''}; "
            "add(handle) takes it in again"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Items that a member did not get, because it had no room and nobody waits for it; or may not
    have got, because a driver ended, or over UDP a reader died, before it had consumed them.

    Attributes:
        handle: which one.
        first, last: numbers of the items, from 1 on.
    """

    handle: StreamHandle
    first: int
    last: int

    def __str__(self) -> str:
        return (
            f"member {self.handle.title} missed items {self.first} to {self.last}, or may have: "
            'send them again; flow_control="min" waits for slow members'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberBack:
    """A member that was dropped because it was away is there again.

    Attributes:
        handle: which one.
        number: the first item that it gets, from 1 on; with ``share="work"`` 0.
    """

    handle: StreamHandle
    number: int

    def __str__(self) -> str:
        since = f", from item {self.number} on" if self.number else ""
        return f"member {self.handle.title} is back{since}"


GroupEvent: TypeAlias = MemberLost | MemberBack | Missed | Unfinished


class Group:
    """Sends each item to every member, in order; or, with ``share="work"``, to one of them.

    Members come and go (:meth:`add`, :meth:`remove`). One that dies, leaves or fails is dropped
    when the next item finds it, and :meth:`events` tells it; the others go on. If it was only away
    for too long and comes back, such as an actor that Ray restarts late, it gets what is sent from
    then on (:class:`MemberBack`).

    **Shared work.** An item goes to a member that has less than ``prefetch`` of them, so a slow one
    gets fewer. It is done when its endpoint asks for the next one. What a member had when it died,
    failed or left goes to another one, marked (:attr:`WorkItem.is_redelivered`): at least once.
    After five deliveries, or two members lost with it, an item is set aside and told by
    :meth:`events` (:class:`rstream.work.Unfinished`).

    Thread rules: any thread may call anything; ``send`` of several threads go one after the other.

    Args:
        handles: the first members.
        type, codec: as for :meth:`StreamHandle.publisher`; all members have the same codec.
        share: ``"all"`` (default), or ``"work"``; then the members' readers have it, too.
        prefetch: with ``share="work"``: most items that a member has and is not done with. 1
            (default): none waits at a busy member. Small items want more.
        flow_control: who holds the group. ``"min"`` (default): every member; a slow one slows the
            sender down, and nobody misses anything. ``"max"``: the fastest one; ``"tagged"``: the
            members in ``tagged``. The others miss items for which they have no room; :meth:`events`
            tells which ones (:class:`Missed`).
        tagged: the members that a tagged group waits for.
        driver_dir: as for :meth:`StreamHandle.publisher`.
        options: ``connect_timeout_s`` (how long to wait for a member that is not there, before it
            is dropped), ``linger_s`` (5; 60 with ``share="work"``) and the others, as for
            :meth:`StreamHandle.publisher`.
    Raises:
        ConfigError: an argument cannot be used, or a handle is there twice.
        DriverError: there is no driver, or it refused a channel.

    Example::

        with rstream.ray.Group(handles) as group:
            group.send(weights)
        with rstream.ray.Group(handles, share="work") as pool:  # rstream.ray.reader(share="work")
            for job in jobs:
                pool.send(job)
    """

    def __init__(
        self,
        handles: Iterable[StreamHandle] = (),
        type: Any = None,
        *,
        codec: CodecLike = None,
        share: Share = "all",
        prefetch: int = 1,
        flow_control: FlowControl = "min",
        tagged: Iterable[StreamHandle] = (),
        driver_dir: str | None = None,
        **options: Unpack[SendOptions],
    ) -> None:
        if flow_control not in ("min", "max", "tagged"):
            raise ConfigError(f'flow_control={flow_control!r}: must be "min", "max" or "tagged"')
        self._tagged = set(handles_of(tagged))
        if (flow_control == "tagged") != bool(self._tagged):
            raise ConfigError(
                f"flow_control={flow_control!r} with {len(self._tagged)} handles in tagged: name "
                'the members that are waited for, with flow_control="tagged"'
            )
        self._shares_work = check_share(share)
        check_count("prefetch", prefetch, PREFETCH_MAX)
        if self._shares_work and flow_control != "min":
            raise ConfigError(f'share="work" with flow_control={flow_control!r}: leave one out')
        if not self._shares_work and prefetch != 1:
            raise ConfigError(f'prefetch={prefetch} needs share="work"')
        self._prefetch = prefetch
        self._pool: Pool | None = None  # from the first member on, which tells the codec
        self._flow_control: FlowControl = flow_control
        self._type = type
        self._codec_like = codec
        self._codec: Codec[Any] | None = None
        self._codec_name = ""
        self._driver_dir = driver_dir
        check_seconds("linger_s", options.get("linger_s", 0.0))
        self._options = options
        self._lock = threading.Lock()
        self._send_lock = _core.Turn()
        self._members: dict[StreamHandle, Lane] = {}
        self._away: dict[StreamHandle, Publisher[Any]] = {}  # dropped, and may come back
        self._blocks: list[Block] = []  # that a member has not consumed yet
        self._block_pool = BlockPool()
        self._events: deque[GroupEvent] = deque(maxlen=EVENTS_MAX)
        self._sent = self._shared = 0
        self._item: Item | None = None  # under the send lock
        self._is_closed = self._is_over = False
        try:
            for handle in handles_of(handles):
                self.add(handle)
        except BaseException:
            try:
                self.close(linger_s=0)
            except BaseException:  # a handler has raised again, in there
                self.close(linger_s=0)
                raise
            raise

    def __repr__(self) -> str:
        how = "work" if self._shares_work else self._flow_control
        return f"<rstream.ray.Group of {len(self.members)}, {how}>"

    # ---- members ----

    @property
    def members(self) -> list[StreamHandle]:
        """The members now."""
        if self._pool is not None:
            return self._pool.members.handles
        return [lane.handle for lane in self._lanes()]

    @property
    def settings(self) -> tuple[FlowControl, frozenset[StreamHandle]]:
        """The flow control, and the handles in ``tagged``."""
        return self._flow_control, frozenset(self._tagged)

    def add(self, handle: StreamHandle) -> None:
        """Take a member in; it gets what is sent from now on. One that is there already stays.

        Raises:
            ConfigError: it has another codec than the others. ClosedError: closed here.
            DriverError: as for :meth:`StreamHandle.publisher`.
        """
        self._check_open()
        handles_of([handle])
        self._check_share_of(handle)
        if self._codec is None:
            name = handle.codec.removeprefix(WORK_PREFIX)
            self._codec = choose_of_handle(name, self._type, self._codec_like)
            self._codec_name = handle.codec
        if handle.codec != self._codec_name:
            raise ConfigError(
                f"stream {handle.name!r}: its reader has the codec {handle.codec}, and this group "
                f"writes {self._codec_name}: an item is encoded once for all members"
            )
        if self._shares_work:
            self._pool_of(handle.name, self._codec).members.add(handle)
            return
        lane = self._members.get(handle)
        if lane is not None and not lane.is_gone:
            return
        self._forget(handle)
        self._take_in(handle, self._open_lane(handle))

    def _open_lane(self, handle: StreamHandle) -> Publisher[Any]:
        return handle.publisher(
            self._type, codec=self._codec_like, driver_dir=self._driver_dir, **self._options
        )

    def _take_in(self, handle: StreamHandle, publisher: Publisher[Any]) -> bool:
        """Whether it was not there before."""
        is_here = publisher.channel.startswith("aeron:ipc")
        with self._lock:
            lane = self._members.get(handle)
            is_known = self._is_closed or (lane is not None and not lane.is_gone)
            if not is_known:
                self._members[handle] = Lane(
                    handle, publisher, is_here, self._sent + 1, publisher.session_id
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

    def _take_back(self) -> None:
        """Take in again who was dropped and is there; forget who is dead for good."""
        for handle, publisher in list(self._away.items()):
            if publisher.is_lost or why_gone(publisher):
                self._forget(handle)
            elif publisher.is_connected:
                lane = self._members.get(handle)
                if lane is None or lane.is_gone:
                    back = MemberBack(handle=handle, number=self._sent + 1)
                    if self._take_in(handle, publisher):
                        self._events.append(back)
                with self._lock:  # last: an interrupted call is made again
                    self._away.pop(handle, None)
            elif not publisher.has_session:
                publisher.revive()

    def _check_share_of(self, handle: StreamHandle) -> None:
        if handle.is_work == self._shares_work:
            return
        share = "work" if handle.is_work else "all"
        raise ConfigError(
            f"stream {handle.name!r}: its reader was opened with share={share!r}",
            hint='give both the same: rstream.ray.reader(share="work") and '
            'rstream.ray.Group(handles, share="work")',
        )

    def _pool_of(self, name: str, codec: Codec[Any]) -> Pool:
        tell = self._events.append  # the pool's thread must not hold this group

        def on_lost(handle: StreamHandle, number: int, reason: str) -> None:
            tell(MemberLost(handle=handle, number=number, reason=reason))

        with self._lock:
            if self._pool is None:
                self._pool = Pool(
                    name,
                    codec,
                    prefetch=self._prefetch,
                    driver_dir=self._driver_dir,
                    options=self._options,
                    on_lost=on_lost,
                    on_back=lambda handle: tell(MemberBack(handle=handle, number=0)),
                )
            return self._pool

    def remove(self, handle: StreamHandle) -> None:
        """Let a member go: its stream is complete. Idempotent.

        With ``share="work"`` it does what it has first, and gets nothing more.
        """
        if self._pool is not None:
            self._pool.members.remove(handle)
            return
        self._forget(handle)
        with self._lock:
            lane = self._members.get(handle)
        if lane is not None:
            self._tell(lane)
            lane.publisher.close(linger_s=0)
            with self._lock:  # last: an interrupted call is made again
                self._take_out(lane)

    def _take_out(self, lane: Lane) -> None:
        if self._members.get(lane.handle) is lane:
            del self._members[lane.handle]

    def events(self) -> list[GroupEvent]:
        """What happened to members since the last call, oldest first; the last 1024 at most.

        A member that Ray knows to be dead is told here too, also when nothing is sent.
        """
        if not self._send_lock.is_mine:
            with self._send_lock.within(0.0) as is_free:
                if is_free:
                    self._finish_item()
                    self._drop_dead()
        for lane in self._lanes():
            self._tell(lane, is_all=True)
        events = self._events
        if self._pool is not None:
            events += self._pool.events()
        told = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        return told

    def statistics(self) -> dict[str, int]:
        """Items that were sent, and how many of them lay in shared blocks; members; unconsumed
        items of the slowest member; with ``share="work"`` of all members, and how many items were
        ``redelivered`` and left ``unfinished``.
        """
        if self._pool is not None:
            counts = self._pool.statistics()
            return {
                "sent": counts["sent"],
                "shared": 0,
                "members": len(self.members),
                "unconsumed": counts["unacknowledged"],
                "redelivered": counts["redelivered"],
                "unfinished": counts["unfinished"],
            }
        with self._send_lock:
            self._finish_item()
            lanes = self._lanes()
            for lane in lanes:
                self._settle_lane(lane)
            return {
                "sent": self._sent,
                "shared": self._shared,
                "members": len(lanes),
                "unconsumed": max((len(lane.pending) for lane in lanes), default=0),
            }

    def _lanes(self) -> list[Lane]:
        with self._lock:
            return [lane for lane in self._members.values() if not lane.is_gone]

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError(f"{self!r}: closed")

    # ---- sending ----

    def send(self, item: Any, *, timeout_s: float | None = None) -> int:
        """Send one item; wait for the members that hold the group. With ``share="work"`` wait for
        one that has free demand.

        Args:
            item: what the codec takes.
            timeout_s: most seconds to wait for them; None: as long as they are there.
        Returns:
            The number of the item, from 1 on.
        Raises:
            NotConnected: no member is left. With ``share="work"``: for ``connect_timeout_s``.
            BackPressured: not within ``timeout_s``. The text says how many members have the item:
                it is not taken back from them.
            CodecError, MessageTooLarge: as :meth:`rstream.stream.Publisher.send`.
            ClosedError: closed here.
        """
        if self._pool is not None:
            self._check_open()
            return self._pool.send(item, timeout_s=timeout_s)
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        if self._send_lock.is_mine:
            raise ConcurrentUseError(
                f"{self!r}: this thread is in the middle of another send",
                hint="do not send in a signal handler",
            )
        with self._send_lock:
            self._check_open()
            self._finish_item()
            self._take_back()
            lanes = self._lanes()
            if not lanes or self._codec is None:
                raise NotConnected(f"{self!r}: it has no member", hint="add(handle) takes one in")
            try:
                data = self._codec.encode(item)
            except RStreamError:
                raise
            except Exception as error:
                raise CodecError(f"{item.__class__.__name__} cannot be encoded: {error}") from error
            self._settle(lanes)
            block = self._block_for(lanes, data)
            number = self._sent + 1
            item = self._item = Item(number, data, block, lanes)
            try:
                left = [lane for lane in lanes if not self._try(lane, item, 0.0)]
                self._wait_for(item, left, deadline_s)
            finally:
                self._finish_item()
        if not self.members:
            raise NotConnected(f"{self!r}: the last member is gone", hint="events() says why")
        return number

    def _finish_item(self) -> None:
        """Note who has the item whose send has ended, perhaps by a signal handler. Under the send
        lock.
        """
        item = self._item
        if item is None:
            return
        for lane in item.lanes:
            lane.finish(item)
        self._sent = item.number  # without a call: no handler runs before the next line
        self._item = None

    def _wait_for(self, item: Item, left: list[Lane], deadline_s: float | None) -> None:
        """Give the item to those of ``left`` that hold the group.

        Raises:
            BackPressured: not before the deadline.
        """
        while True:
            if self._flow_control == "max":
                is_waiting = all(lane in left for lane in item.lanes)
                wanted = left if is_waiting else []
            else:
                is_all = self._flow_control == "min"
                wanted = [lane for lane in left if is_all or lane.handle in self._tagged]
            wanted = [lane for lane in wanted if self._members.get(lane.handle) is lane]
            if not wanted:
                return
            left_s = PAUSE_S if deadline_s is None else deadline_s - time.monotonic()
            if left_s <= 0:
                names = ", ".join(lane.handle.name for lane in wanted[:3])
                raise BackPressured(
                    f"{self!r}: item {item.number}: {names} had no room in time; "
                    f"{len(item.lanes) - len(left)} of {len(item.lanes)} members have it",
                    hint="they are slower than this group, or stand still: look with "
                    "`rstream why`, raise timeout_s, or open them with on_slow=",
                )
            for lane in wanted:
                if self._try(lane, item, min(left_s, PAUSE_S)):
                    left.remove(lane)

    def _try(self, lane: Lane, item: Item, wait_s: float) -> bool:
        """Give the item to a member if it has room within ``wait_s``. A member that is gone is
        dropped, and needs nothing: True.
        """
        block, number = item.block, item.number
        has_block = block is not None and lane.is_here
        if has_block and len(lane.blocks) >= BLOCKS_AHEAD:
            time.sleep(wait_s)
            self._settle_lane(lane)
            if len(lane.blocks) >= BLOCKS_AHEAD:
                return not self._is_alive(lane, number)
        try:
            position = send_encoded(
                lane.publisher,
                block.note if block is not None and lane.is_here else item.data,
                wait_s,
                kind=KIND_BLOCK if has_block else KIND_PLAIN,
            )
        except BackPressured:
            return not self._is_alive(lane, number)
        except RStreamError as error:
            return self._note_failed(lane, number, error)
        lane.note_sent(item, position)
        if lane.lost:
            self._tell(lane)
        return True

    def _note_failed(self, lane: Lane, number: int, error: RStreamError) -> bool:
        """Drop a member that is gone for good. False: it may still come."""
        if isinstance(error, CodecError | MessageTooLarge):
            raise error
        if isinstance(error, NotConnected) and self._is_alive(lane, number):
            return False
        self._drop(lane, str(error))
        return True

    def _is_alive(self, lane: Lane, number: int) -> bool:
        """Whether it is there, or may come in time; else it is dropped."""
        limit_s = lane.publisher.connect_timeout_s
        if not lane.publisher.is_connected:
            lane.publisher.revive()
        if lane.publisher.is_connected:
            lane.alone_since_s = 0.0
            return True
        now_s = time.monotonic()
        lane.alone_since_s = lane.alone_since_s or now_s
        if why := why_gone(lane.publisher):
            self._drop(lane, why)
            return False
        if limit_s is None or now_s - lane.alone_since_s < limit_s:
            return True
        self._drop(lane, f"no reader for {limit_s:g} s")
        self._await_back(lane.handle)
        return False

    def _drop_dead(self) -> None:
        """Drop the members whose actors never come back. Under the send lock."""
        for lane in self._lanes():
            if not lane.publisher.is_connected and (why := why_gone(lane.publisher)):
                self._drop(lane, why)

    def _await_back(self, handle: StreamHandle) -> None:
        """Notice it if the reader of a dropped member comes back after all."""
        with suppress(RStreamError):
            publisher = self._open_lane(handle)
            with self._lock:
                before = self._away.get(handle)
                self._away[handle] = publisher
            if before is not None:
                before.close(linger_s=0)

    def _drop(self, lane: Lane, reason: str) -> None:
        if self._members.get(lane.handle) is not lane:
            return
        if not lane.is_gone:
            lane.settle()
            self._tell(lane, is_all=True)
        number = lane.pending[0][1] if lane.pending else self._sent + 1
        event = MemberLost(handle=lane.handle, number=number, reason=reason)
        with self._lock:
            is_told = lane.is_gone
            if not is_told:
                self._events += (event,)  # without a call: no handler runs before the next line
                lane.is_gone = True
        if not is_told:
            log.warning("%r: member %r is dropped: %s", self, lane.handle.name, reason)
        lane.publisher.close(linger_s=0)
        with self._lock:
            self._take_out(lane)

    def _settle_lane(self, lane: Lane) -> None:
        lane.settle()
        self._tell(lane)

    def _tell(self, lane: Lane, *, is_all: bool = False) -> None:
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
            since = lane.missed_from if is_all and lane.missed_from <= self._sent else 0
            if since:
                news.append(Missed(handle=handle, first=since, last=self._sent))
            # Without a call from here on.
            self._events += news
            lost *= 0
            if since:
                lane.missed_from = 0

    # ---- shared blocks ----

    def _block_for(self, lanes: list[Lane], data: Encoded) -> Block | None:
        here = [lane for lane in lanes if lane.is_here]
        if len(here) < 2 or length_of(data) < BLOCK_MIN:
            return None
        directory = here[0].handle.driver_dir
        try:
            if self._shared == 0:
                remove_orphans(directory)
            block = self._block_pool.put(directory, data)
        except OSError as error:  # no room, or a system without O_TMPFILE: the lanes carry it
            log.debug("%r: no shared block: %s", self, error)
            return None
        self._blocks.append(block)
        self._shared += 1
        return block

    def _settle(self, lanes: list[Lane]) -> None:
        """Forget what is consumed, and give back the blocks that all members have."""
        for lane in lanes:
            if lane.blocks or len(lane.pending) > EVENTS_MAX:
                self._settle_lane(lane)
        needed = {id(block) for lane in lanes for _, block in lane.blocks}
        for block in [one for one in self._blocks if id(one) not in needed]:
            self._blocks.remove(block)
            self._block_pool.keep(block)

    # ---- the end ----

    def wait_consumed(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every member has consumed what it was sent, or is dropped. With
        ``share="work"``: until every item is done, or told by :meth:`events`.

        Returns:
            False: not within ``timeout_s``.
        """
        if self._pool is not None:
            return self._pool.wait_acknowledged(timeout_s=timeout_s)
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._send_lock:
                self._finish_item()
                lanes = self._lanes()
                for lane in lanes:
                    self._settle_lane(lane)
                    if lane.pending:
                        self._is_alive(lane, self._sent)
                self._settle(lanes)
                if not any(lane.pending for lane in self._lanes()):
                    return True
            if deadline_s is not None and time.monotonic() >= deadline_s:
                return False
            time.sleep(PAUSE_S)

    def close(self, *, linger_s: float | None = None) -> None:
        """Complete the streams of all members. Idempotent.

        Args:
            linger_s: most seconds to wait until they have consumed; None: as the group was made
                with.
        """
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        if self._pool is not None:
            self._is_closed = True
            self._pool.close(linger_s=linger_s)
            return
        if linger_s is None:
            linger_s = self._options.get("linger_s", 5.0)
        try:
            if not self._is_closed:
                self.wait_consumed(timeout_s=linger_s)
        finally:
            self._is_closed = True
            self._leave()

    def _leave(self) -> None:
        """Close all lanes, and remove the blocks. A call that was interrupted is made again."""
        if self._is_over:
            return
        for handle in list(self._away):
            self._forget(handle)
        with self._lock:
            lanes = list(self._members.values())
        for lane in lanes:
            lane.publisher.close(linger_s=0)
        with self._lock:
            self._members.clear()
        for block in self._blocks:
            block.remove()
        self._blocks.clear()
        self._block_pool.close()
        self._is_over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(linger_s=0 if exc is not None else None)
        if self._pool is not None:
            self._pool.check_finished(exc)
