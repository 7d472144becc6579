"""One writer, many readers that have handles: each item goes to one of them.

A pool is the publisher of :mod:`rstream.work`, whose readers are members with handles
(``_pool_publisher.py``, ``_members.py``). A group sends each item to all (``_group.py``).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack, final

from rstream._checks import check_seconds
from rstream.errors import ClosedError, ConfigError
from rstream.ray._handle import handles_of
from rstream.ray._member_events import MemberBack, MemberLost
from rstream.ray._pool_publisher import PoolPublisher
from rstream.ray._shared_codec import SharedCodec
from rstream.stream._internal import EVENTS_MAX
from rstream.work import Unfinished
from rstream.work._internal import PREFETCH_MAX, check_count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.codecs import CodecLike
    from rstream.ray._handle import StreamHandle
    from rstream.stream import SendOptions

PoolEvent: TypeAlias = MemberLost | MemberBack | Unfinished


@final
class Pool:
    """Gives each item to one member: one that has free demand.

    An item goes to a member that has less than ``prefetch`` of them, so a slow one gets fewer. It
    is done when its endpoint asks for the next one. What a member had when it died, failed or left
    goes to another one, marked (:attr:`WorkItem.is_redelivered`): at least once. After five
    deliveries, or two members lost with it, an item is set aside and told by :meth:`events`
    (:class:`rstream.work.Unfinished`).

    Members come and go (:meth:`add`, :meth:`remove`). One that dies, leaves or fails is dropped,
    and :meth:`events` tells it. If it was only away for too long and comes back, such as an actor
    that Ray restarts late, it gets items again (:class:`MemberBack`).

    Thread rules: any thread may call anything.

    Args:
        handles: the first members; their readers have ``share="work"``.
        type, codec: as for :meth:`StreamHandle.publisher`; all members have the same codec.
        prefetch: most items that a member has and is not done with. 1 (default): none waits at a
            busy member. Small items want more.
        driver_dir: as for :meth:`StreamHandle.publisher`.
        options: ``connect_timeout_s`` (how long to wait for a member that is not there, before it
            is dropped), ``linger_s`` (60) and the others, as for :meth:`StreamHandle.publisher`.
    Raises:
        ConfigError: an argument cannot be used, or a handle is there twice.
        DriverError: there is no driver, or it refused a channel.

    Example::

        with rstream.ray.Pool(handles) as pool:  # of rstream.ray.reader(share="work")
            for job in jobs:
                pool.send(job)
    """

    def __init__(
        self,
        handles: Iterable[StreamHandle] = (),
        type: Any = None,
        *,
        codec: CodecLike = None,
        prefetch: int = 1,
        driver_dir: str | None = None,
        **options: Unpack[SendOptions],
    ) -> None:
        check_count("prefetch", prefetch, PREFETCH_MAX)
        check_seconds("linger_s", options.get("linger_s", 0.0))
        members = handles_of(handles)
        self._is_closed = False
        self._events: deque[PoolEvent] = deque(maxlen=EVENTS_MAX)
        self._codec = SharedCodec("<rstream.ray.Pool>", type, codec)
        tell = self._events.append  # the publisher's thread must not hold this pool

        def on_lost(handle: StreamHandle, number: int, reason: str) -> None:
            tell(MemberLost(handle=handle, number=number, reason=reason))

        self._publisher = PoolPublisher(
            members[0].name if members else "pool",
            self._codec,
            prefetch=prefetch,
            driver_dir=driver_dir,
            options=options,
            on_lost=on_lost,
            on_back=lambda handle: tell(MemberBack(handle=handle, number=0)),
        )
        try:
            for handle in members:
                self.add(handle)
        except BaseException:
            self.close(linger_s=0)
            raise

    def __repr__(self) -> str:
        return f"<rstream.ray.Pool of {len(self.members)}>"

    @property
    def members(self) -> list[StreamHandle]:
        """The members now."""
        return self._publisher.members.handles

    def add(self, handle: StreamHandle) -> None:
        """Take a member in. One that is there already stays.

        Raises:
            ConfigError: it has another codec than the others, or its reader does not share work.
            ClosedError: closed here. DriverError: as for :meth:`StreamHandle.publisher`.
        """
        if self._is_closed:
            raise ClosedError(f"{self!r}: closed")
        handles_of([handle])
        if not handle.is_work:
            raise ConfigError(
                f"stream {handle.name!r}: its reader was opened with share='all'",
                hint='open it with rstream.ray.reader(share="work"); or send each item to all '
                "members, by rstream.ray.Group(handles)",
            )
        self._codec.check(handle)
        self._publisher.members.add(handle)

    def remove(self, handle: StreamHandle) -> None:
        """Let a member go: it does what it has first, and gets nothing more. Idempotent."""
        self._publisher.members.remove(handle)

    def events(self) -> list[PoolEvent]:
        """What happened to members and items since the last call, oldest first; the last 1024 at
        most. A member that Ray knows to be dead is told here too, also when nothing is sent.
        """
        events = self._events
        events += self._publisher.events()
        told = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        return told

    def statistics(self) -> dict[str, int]:
        """Items that were ``sent``; ``members``; ``unconsumed`` items of all members; items that
        were ``redelivered``, and left ``unfinished``.
        """
        counts = self._publisher.statistics()
        return {
            "sent": counts["sent"],
            "members": len(self.members),
            "unconsumed": counts["unacknowledged"],
            "redelivered": counts["redelivered"],
            "unfinished": counts["unfinished"],
        }

    def send(self, item: Any, *, timeout_s: float | None = None) -> int:
        """Give one item to a member that has free demand; wait for one.

        Args:
            item: what the codec takes.
            timeout_s: most seconds to wait for free demand; None: as long as members are there.
        Returns:
            The number of the item, from 1 on.
        Raises:
            NotConnected: no member was there for ``connect_timeout_s``, or none was ever added.
            BackPressured: no member had free demand within ``timeout_s``.
            CodecError, MessageTooLarge: as :meth:`rstream.stream.Publisher.send`.
            ClosedError: closed here.
        """
        return self._publisher.send(item, timeout_s=timeout_s)

    def wait_consumed(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every item is done, or told by :meth:`events`.

        Returns:
            False: not within ``timeout_s``.
        """
        return self._publisher.wait_acknowledged(timeout_s=timeout_s)

    def close(self, *, linger_s: float | None = None) -> None:
        """Complete the streams of all members. Idempotent.

        Args:
            linger_s: most seconds to wait until all items are done; None: as the pool was made
                with.
        """
        if linger_s is not None:
            check_seconds("linger_s", linger_s)
        self._is_closed = True
        self._publisher.close(linger_s=linger_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it. Raises MessagesLost: an item was not done, and :meth:`events` has not told."""
        self.close(linger_s=0 if exc is not None else None)
        self._publisher.check_finished(exc)
