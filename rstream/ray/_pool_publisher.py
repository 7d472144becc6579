"""The sending side of a pool: a publisher of :mod:`rstream.work`, whose readers
are members with handles.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Unpack

from rstream import stream
from rstream.codecs import raw
from rstream.errors import BackPressured, NotConnected
from rstream.ray._deaths import ActorWatch
from rstream.ray._members import Members
from rstream.stream._inner import inner_publisher
from rstream.stream._publisher_facts import tell_why_gone
from rstream.work._publisher import Publisher
from rstream.work._readers import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition
    from rstream.codecs import Codec
    from rstream.errors import RStreamError
    from rstream.ray._handle import StreamHandle
    from rstream.stream import SendOptions
    from rstream.work._desk import Desk
    from rstream.work._seating import LanePublisher

#: Seconds that close() waits until everything is done; as for :func:`rstream.work.publisher`.
LINGER_S = 60.0
CONNECT_TIMEOUT_S = 10.0
#: As :func:`rstream.work.publisher` has them.
DELIVERIES_MAX, LOSSES_MAX, UNACKNOWLEDGED_MAX = 5, 2, 65_536


class PoolPublisher(Publisher[Any]):
    """Gives each item to one member that has free demand.

    Args:
        name: of its thread.
        codec: of the items.
        prefetch: most items that a member has and is not done with.
        driver_dir: as for :meth:`StreamHandle.publisher`.
        options: of the pool.
        on_lost, on_back: as for :class:`Members`.
    """

    members: Members

    def __init__(
        self,
        name: str,
        codec: Codec[Any],
        *,
        prefetch: int,
        driver_dir: str | None,
        options: SendOptions,
        on_lost: Callable[[StreamHandle, int, str], None],
        on_back: Callable[[StreamHandle], None],
    ) -> None:
        connect_timeout_s = options.get("connect_timeout_s", CONNECT_TIMEOUT_S)
        chosen = Settings(
            name=name,
            uri="handles",
            redeliver=True,
            deliveries_max=DELIVERIES_MAX,
            reader_losses_max=LOSSES_MAX,
            unacknowledged_max=UNACKNOWLEDGED_MAX,
            connect_timeout_s=connect_timeout_s,
            linger_s=options.get("linger_s", LINGER_S),
            dir=driver_dir,
        )
        of_lane: SendOptions = {**options, "linger_s": 0.0}
        open_publisher = functools.partial(_open_lane, driver_dir=driver_dir, **of_lane)

        def open_members(
            _: Settings,
            codec_id: int,
            desk: Desk[LanePublisher],
            changed: Condition,
            title: str,
        ) -> Members:
            del codec_id  # SharedCodec compares names
            return Members(
                desk,
                changed,
                title,
                prefetch=prefetch,
                open_publisher=open_publisher,
                connect_timeout_s=connect_timeout_s,
                on_lost=on_lost,
                on_back=on_back,
            )

        super().__init__(chosen, codec, open_members)
        assert isinstance(self._readers, Members)
        self.members = self._readers

    def __repr__(self) -> str:
        return "<rstream.ray.Pool>"

    def _alone_error(self, waited_s: float) -> NotConnected:
        return NotConnected(
            f"{self!r}: none of {len(self.members.handles)} members was there for "
            f"{waited_s:g} s{self._why_alone()}",
            hint="add(handle) takes a member in; events() says what became of the others",
        )

    def _late_error(self, timeout_s: float) -> RStreamError:
        error = super()._late_error(timeout_s)
        if isinstance(error, BackPressured):
            error.hint = "add members, or give the pool a larger prefetch"
        return error


def _open_lane(
    handle: StreamHandle, *, driver_dir: str | None, **options: Unpack[SendOptions]
) -> stream.Publisher[bytes]:
    """A publisher to one member.

    Raises:
        ConfigError: as :meth:`StreamHandle.place`. DriverError: as for a publisher.
    """
    made = stream.publisher(**handle.place(driver_dir), codec=raw(), **options)
    tell_why_gone(made, ActorWatch(handle.actor_id).why_gone)
    return inner_publisher(made, f"a pool, to member {handle.name!r}")
