"""One writer, many readers that have handles: each item goes to all of them.

Theory of operation. A group has a *lane* for each member: a publisher of its own to that member's
handle, with the window and the reliability of any other. An item is encoded once. What is large
lies once on the host, in a shared block that each member there maps (``_group_blocks.py``); on the
lanes goes a short message that names it. Members on other hosts get the item itself.

Why lanes, and not one shared publication: members come and go with their handles, of which each has
a stream id of its own, and a member that is slow, dead or restarted has a state that must be known
by name. The network carries as many datagrams as multi-destination sending would.

``_send_lock`` is held by the thread that sends; a member that is removed meanwhile ends its wait
(``_lanes.py``).

A signal handler may end any call. The item that is being sent is noted in ``_item`` until each lane
knows whether it has it; the next call asks those that do not (``_lane.py``).
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, Unpack, final

from rstream import _core
from rstream._checks import check_seconds, check_timeout
from rstream._waits import Deadline
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
from rstream.ray._group_blocks import GroupBlocks
from rstream.ray._handle import handles_of
from rstream.ray._lane import Item, Lane
from rstream.ray._lanes import Lanes
from rstream.ray._shared_codec import SharedCodec
from rstream.stream._internal import EVENTS_MAX, KIND_BLOCK, KIND_PLAIN, send_encoded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.codecs import CodecLike
    from rstream.ray._handle import StreamHandle
    from rstream.ray._lanes import GroupEvent
    from rstream.stream import Publisher, SendOptions

FlowControl: TypeAlias = Literal["min", "max", "tagged"]

#: Blocks that one member may not have consumed yet; then it has no room.
BLOCKS_AHEAD: Final = 4
#: Pause between two looks at members without room.
PAUSE_S: Final = 0.0005
#: Seconds that close() waits until everything is consumed.
LINGER_S: Final = 5.0


@final
class Group:
    """Sends each item to every member, in order.

    Members come and go (:meth:`add`, :meth:`remove`). One that dies, leaves or fails is dropped
    when the next item finds it, and :meth:`events` tells it; the others go on. If it was only away
    for too long and comes back, such as an actor that Ray restarts late, it gets what is sent from
    then on (:class:`MemberBack`). To give each item to one member see :class:`Pool`.

    Thread rules: any thread may call anything; ``send`` of several threads go one after the other.

    Args:
        handles: the first members.
        type, codec: as for :meth:`StreamHandle.publisher`; all members have the same codec.
        flow_control: who holds the group. ``"min"`` (default): every member; a slow one slows the
            sender down, and nobody misses anything. ``"max"``: the fastest one; ``"tagged"``: the
            members in ``tagged``. The others miss items for which they have no room; :meth:`events`
            tells which ones (:class:`Missed`).
        tagged: the members that a tagged group waits for.
        driver_dir: as for :meth:`StreamHandle.publisher`.
        options: ``connect_timeout_s`` (how long to wait for a member that is not there, before it
            is dropped), ``linger_s`` (5) and the others, as for :meth:`StreamHandle.publisher`.
    Raises:
        ConfigError: an argument cannot be used, or a handle is there twice.
        DriverError: there is no driver, or it refused a channel.

    Example::

        with rstream.ray.Group(handles) as group:
            group.send(weights)
    """

    def __init__(
        self,
        handles: Iterable[StreamHandle] = (),
        type: Any = None,
        *,
        codec: CodecLike = None,
        flow_control: FlowControl = "min",
        tagged: Iterable[StreamHandle] = (),
        driver_dir: str | None = None,
        **options: Unpack[SendOptions],
    ) -> None:
        _refuse_options_of_pools(options)
        if flow_control not in ("min", "max", "tagged"):
            raise ConfigError(f'flow_control={flow_control!r}: must be "min", "max" or "tagged"')
        self._tagged = set(handles_of(tagged))
        if (flow_control == "tagged") != bool(self._tagged):
            raise ConfigError(
                f"flow_control={flow_control!r} with {len(self._tagged)} handles in tagged: name "
                'the members that are waited for, with flow_control="tagged"'
            )
        self._flow_control: FlowControl = flow_control
        check_seconds("linger_s", options.get("linger_s", 0.0))
        self._linger_s = options.get("linger_s", LINGER_S)
        title = f"<rstream.ray.Group, {flow_control}>"
        self._codec = SharedCodec(title, type, codec)
        open_lane = functools.partial(
            _open_lane, type=type, codec=codec, driver_dir=driver_dir, **options
        )
        self._lanes = Lanes(title, open_lane)
        self._blocks = GroupBlocks(title)
        self._send_lock = _core.Turn()
        self._item: Item | None = None  # under the send lock
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
        return f"<rstream.ray.Group of {len(self.members)}, {self._flow_control}>"

    # ---- members ----

    @property
    def members(self) -> list[StreamHandle]:
        """The members now."""
        return [lane.handle for lane in self._lanes.now()]

    @property
    def settings(self) -> tuple[FlowControl, frozenset[StreamHandle]]:
        """The flow control, and the handles in ``tagged``."""
        return self._flow_control, frozenset(self._tagged)

    def add(self, handle: StreamHandle) -> None:
        """Take a member in; it gets what is sent from now on. One that is there already stays.

        Raises:
            ConfigError: it has another codec than the others, or its reader shares work.
            ClosedError: closed here. DriverError: as for :meth:`StreamHandle.publisher`.
        """
        self._check_open()
        handles_of([handle])
        if handle.is_work:
            raise ConfigError(
                f"stream {handle.name!r}: its reader was opened with share='work'",
                hint="give each item to one of such readers, by rstream.ray.Pool(handles); or "
                "leave share= out there",
            )
        self._codec.check(handle)
        self._lanes.add(handle)

    def remove(self, handle: StreamHandle) -> None:
        """Let a member go: its stream is complete. Idempotent."""
        self._lanes.remove(handle)

    def events(self) -> list[GroupEvent]:
        """What happened to members since the last call, oldest first; the last 1024 at most.

        A member that Ray knows to be dead is told here too, also when nothing is sent.
        """
        if not self._send_lock.is_mine:
            with self._send_lock.within(0.0) as is_free:
                if is_free:
                    self._finish_item()
                    self._lanes.drop_dead()
        events = self._lanes.untold()
        told = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        return told

    def statistics(self) -> dict[str, int]:
        """Items that were sent, and how many of them lay in shared blocks; members; unconsumed
        items of the slowest member.
        """
        with self._send_lock:
            self._finish_item()
            lanes = self._lanes.now()
            for lane in lanes:
                self._lanes.settle(lane)
            return {
                "sent": self._lanes.sent,
                "shared": self._blocks.shared,
                "members": len(lanes),
                "unconsumed": max((len(lane.pending) for lane in lanes), default=0),
            }

    def _check_open(self) -> None:
        if self._lanes.is_closed:
            raise ClosedError(f"{self!r}: closed")

    # ---- sending ----

    def send(self, item: Any, *, timeout_s: float | None = None) -> int:
        """Send one item; wait for the members that hold the group.

        Args:
            item: what the codec takes.
            timeout_s: most seconds to wait for them; None: as long as they are there.
        Returns:
            The number of the item, from 1 on.
        Raises:
            NotConnected: no member is left.
            BackPressured: not within ``timeout_s``. The text says how many members have the item:
                it is not taken back from them.
            CodecError, MessageTooLarge: as :meth:`rstream.stream.Publisher.send`.
            ClosedError: closed here.
        """
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        if self._send_lock.is_mine:
            raise ConcurrentUseError(
                f"{self!r}: this thread is in the middle of another send",
                hint="do not send in a signal handler",
            )
        with self._send_lock:
            self._check_open()
            self._finish_item()
            self._lanes.take_back()
            lanes = self._lanes.now()
            if not lanes:
                raise NotConnected(f"{self!r}: it has no member", hint="add(handle) takes one in")
            try:
                data = self._codec.encode(item)
            except RStreamError:
                raise
            except Exception as error:
                raise CodecError(f"{item.__class__.__name__} cannot be encoded: {error}") from error
            self._settle(lanes)
            block = self._blocks.put(lanes, data)
            number = self._lanes.sent + 1
            item = self._item = Item(number, data, block, lanes)
            try:
                left = [lane for lane in lanes if not self._try(lane, item, 0.0)]
                self._wait_for(item, left, deadline)
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
        self._lanes.sent = item.number  # without a call: no handler runs before the next line
        self._item = None

    def _wait_for(self, item: Item, left: list[Lane], deadline: Deadline) -> None:
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
            wanted = [lane for lane in wanted if self._lanes.has(lane)]
            if not wanted:
                return
            left_s = deadline.left_s(PAUSE_S)
            if left_s == 0:
                names = ", ".join(lane.handle.name for lane in wanted[:3])
                raise BackPressured(
                    f"{self!r}: item {item.number}: {names} had no room in time; "
                    f"{len(item.lanes) - len(left)} of {len(item.lanes)} members have it",
                    hint="they are slower than this group, or stand still: look with "
                    "`rstream why`, raise timeout_s, or open them with on_slow=",
                )
            for lane in wanted:
                if self._try(lane, item, left_s):
                    left.remove(lane)

    def _try(self, lane: Lane, item: Item, wait_s: float) -> bool:
        """Give the item to a member if it has room within ``wait_s``. A member that is gone is
        dropped, and needs nothing: True.
        """
        block, number = item.block, item.number
        has_block = block is not None and lane.is_here
        if has_block and len(lane.blocks) >= BLOCKS_AHEAD:
            time.sleep(wait_s)
            self._lanes.settle(lane)
            if len(lane.blocks) >= BLOCKS_AHEAD:
                return not self._lanes.is_alive(lane, number)
        try:
            position = send_encoded(
                lane.publisher,
                block.note if block is not None and lane.is_here else item.data,
                wait_s,
                kind=KIND_BLOCK if has_block else KIND_PLAIN,
            )
        except BackPressured:
            return not self._lanes.is_alive(lane, number)
        except RStreamError as error:
            return self._note_failed(lane, number, error)
        lane.note_sent(item, position)
        if lane.lost:
            self._lanes.tell(lane)
        return True

    def _note_failed(self, lane: Lane, number: int, error: RStreamError) -> bool:
        """Drop a member that is gone for good. False: it may still come."""
        if isinstance(error, CodecError | MessageTooLarge):
            raise error
        if isinstance(error, NotConnected) and self._lanes.is_alive(lane, number):
            return False
        self._lanes.drop(lane, str(error))
        return True

    def _settle(self, lanes: list[Lane]) -> None:
        """Forget what is consumed, and give back the blocks that all members have."""
        for lane in lanes:
            if lane.blocks or len(lane.pending) > EVENTS_MAX:
                self._lanes.settle(lane)
        self._blocks.free(lanes)

    # ---- the end ----

    def wait_consumed(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every member has consumed what it was sent, or is dropped.

        Returns:
            False: not within ``timeout_s``.
        """
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        while True:
            with self._send_lock:
                self._finish_item()
                lanes = self._lanes.now()
                for lane in lanes:
                    self._lanes.settle(lane)
                    if lane.pending:
                        self._lanes.is_alive(lane, self._lanes.sent)
                self._settle(lanes)
                if not any(lane.pending for lane in self._lanes.now()):
                    return True
            if deadline.is_over:
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
        try:
            if not self._lanes.is_closed:
                self.wait_consumed(timeout_s=self._linger_s if linger_s is None else linger_s)
        finally:
            self._lanes.is_closed = True
            self._lanes.close()
            self._blocks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(linger_s=0 if exc is not None else None)


def _refuse_options_of_pools(options: SendOptions) -> None:
    for name in ("share", "prefetch"):
        if name in options:
            raise ConfigError(
                f"Group({name}=...): a group sends each item to all members",
                hint="rstream.ray.Pool(handles, prefetch=...) gives each item to one of them",
            )


def _open_lane(
    handle: StreamHandle,
    *,
    type: Any,
    codec: CodecLike,
    driver_dir: str | None,
    **options: Unpack[SendOptions],
) -> Publisher[Any]:
    return handle.publisher(type, codec=codec, driver_dir=driver_dir, **options)
