"""The sending side of a pool: a publisher of :mod:`rstream.work`, whose readers
are members with handles.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Unpack

from rstream import stream
from rstream.codecs import raw
from rstream.ray._deaths import ActorWatch
from rstream.ray._members import Members
from rstream.stream._internal import inner_publisher, sending_of
from rstream.work import Publisher
from rstream.work._internal import Giving, GivingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition
    from rstream.codecs import Codec
    from rstream.ray._handle import StreamHandle
    from rstream.stream import SendOptions
    from rstream.work._internal import LanePublisher, WorkDesk

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
        chosen = GivingSettings(
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
            _: GivingSettings,
            codec_id: int,
            desk: WorkDesk[LanePublisher],
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

        title = "<rstream.ray.Pool>"
        giving: Giving[Any] = Giving(chosen, codec, open_seating=open_members, title=title)
        super().__init__(giving)
        assert isinstance(giving.seating, Members)
        self.members = giving.seating

    def check_finished(self, exc: BaseException | None) -> None:
        """As :meth:`rstream.work._giving.Giving.check_finished`."""
        self._giving.check_finished(exc)


def _open_lane(
    handle: StreamHandle, *, driver_dir: str | None, **options: Unpack[SendOptions]
) -> stream.Publisher[bytes]:
    """A publisher to one member.

    Raises:
        ConfigError: as :meth:`StreamHandle.place`. DriverError: as for a publisher.
    """
    made = stream.publisher(**handle.place(driver_dir), codec=raw(), **options)
    sending_of(made).settings.why_gone = ActorWatch(handle.actor_id).why_gone
    return inner_publisher(made, f"a pool, to member {handle.name!r}")
